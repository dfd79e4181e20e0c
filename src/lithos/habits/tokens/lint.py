"""Raw values in style sheets and components for which the repository has a design token."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NotRequired

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.errors import Forbidden, InvalidInput, NotFound, Unavailable
from lithos.graph.code import Code, OpenRoot, file_bytes, located
from lithos.habits.tokens.reading import Token
from lithos.habits.tokens.tokens import DesignSystems, System, matching
from lithos.habits.tokens.values import colour_of, length_of

MOST_FINDINGS = 50
MOST_FILES = 1_000  # of a folder
_COMMENT = re.compile(r"\s*(//|\*|/\*|#\s)")
_STYLED = re.compile(r"\.(css|pcss|scss|less|vue|svelte|html|[cm]?[jt]sx?)\Z", re.IGNORECASE)
_RAW = re.compile(
    r"#[0-9a-fA-F]{3,8}\b|(?:rgba?|hsla?|oklch|oklab)\([^()]*\)|(?<![\w.#-])\d*\.?\d+(?:px|rem)\b", re.IGNORECASE
)


class RawValue(TypedDict):
    path: NotRequired[str]  # where a folder was asked for
    line: int
    value: str
    token: str
    text: str


class TokenLint(TypedDict):
    path: str
    findings: list[RawValue]
    count: int
    files: NotRequired[int]


def lint_tokens(code: Code, systems: DesignSystems, call: Call, path: str) -> TokenLint:
    """Of one file, or of every style sheet and component of a folder. Lines that define tokens are not findings."""
    root, inside = located(code.visible(call), path)
    beneath = _files_beneath(root, inside.rstrip("/"))
    if not beneath:
        root, inside, data, _ = file_bytes(code, call, path)
        found = [*_raw_values(systems.system(root), inside, data)]
        return {"path": inside, "findings": found[:MOST_FINDINGS], "count": len(found)}
    if len(beneath) > MOST_FILES:
        raise InvalidInput(f"{inside[:200]!r} has {len(beneath):,} such files", hint="Name a folder inside it.")
    findings: list[RawValue] = []
    for each in beneath:
        try:
            data = file_bytes(code, call, f"{root.spec.name}:{each}")[2]
        except (NotFound, Forbidden, InvalidInput, Unavailable):  # gone or left out since it was listed
            continue
        findings += ({**raw, "path": each} for raw in _raw_values(systems.system(root), each, data))
    answer: TokenLint = {"path": inside, "findings": findings[:MOST_FINDINGS], "count": len(findings)}
    return {**answer, "files": len(beneath)}


def _files_beneath(root: OpenRoot, folder: str) -> list[str]:
    """Empty: it is no folder of the root."""
    start, end = ("", "\U0010ffff") if folder in ("", ".") else (f"{folder}/", f"{folder}0")
    sql = "SELECT path FROM files WHERE path > ? AND path < ? AND reason = '' ORDER BY path"
    return [row["path"] for row in root.store.read(lambda tx: tx.all(sql, start, end)) if _STYLED.search(row["path"])]


def _raw_values(system: System, path: str, data: bytes) -> Iterator[RawValue]:
    own = {token.line for token in system.tokens if token.path == path}
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        if number in own or _COMMENT.match(line):
            continue
        for raw in _RAW.finditer(line):
            token = _fitting(system, raw[0], line)
            if token is not None:
                yield {"line": number, "value": raw[0], "token": token.name, "text": line.strip()[:120]}


def _fitting(system: System, raw: str, line: str) -> Token | None:
    """A token for a raw value in a line: colours anywhere, lengths where spacing, radius or font size is set."""
    if colour_of(raw) is not None:
        equal, _ = matching(system, raw)
        return next((each for each in equal if each.category == "colors"), None)
    wanted = _length_category(line)
    if wanted is None or length_of(raw) in (None, 0, 1):
        return None
    equal, _ = matching(system, raw)
    return next((each for each in equal if each.category == wanted), None)


def _length_category(line: str) -> str | None:
    word = line.lower()
    if re.search(r"radius|rounded", word):
        return "radii"
    if re.search(r"font-?size|text-\[|line-?height|leading", word):
        return "typography"
    return "spacing" if re.search(r"padding|margin|gap|inset|\b[pm][xytrbl]?-\[|space-[xy]", word) else None
