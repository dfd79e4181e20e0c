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

SHOWN_FINDINGS, MOST_FINDINGS = 8, 200
MOST_FILES = 1_000  # of a folder
_OWN_KINDS = ("tailwind", "theme")  # their tokens have the line of the whole object
_DEFINED = re.compile(r"(?:--|[$@])[\w-]{1,200}\s{0,9}:[^;{}]*\Z")  # the text before the value of a variable
_COMMENT = re.compile(r"\s*(//|\*|/\*|#\s)")
_STYLED = re.compile(r"\.(css|pcss|scss|less|vue|svelte|html|[cm]?[jt]sx?)\Z", re.IGNORECASE)
_LAST = re.compile(r"[;{]|\s(?=[\w:-]+-\[)")  # declarations of a line, and classes such as `p-[4px]`
SHOWN_TEXT = 60
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


def lint_tokens(code: Code, systems: DesignSystems, call: Call, path: str, limit: int = SHOWN_FINDINGS) -> TokenLint:
    """Of one file, or of every style sheet and component of a folder. The value of a variable is none of them."""
    root, inside = located(code.visible(call), path)
    beneath = _files_beneath(root, inside.rstrip("/"))
    if beneath is None:
        root, inside, data, _ = file_bytes(code, call, path)
        found = [*_raw_values(systems.system(root), inside, data)]
        return {"path": inside, "findings": found[:limit], "count": len(found)}
    if len(beneath) > MOST_FILES:
        raise InvalidInput(f"{inside[:200]!r} has {len(beneath):,} such files", hint="Name a folder inside it.")
    findings: list[RawValue] = []
    for each in beneath:
        try:
            data = file_bytes(code, call, f"{root.spec.name}:{each}")[2]
        except (NotFound, Forbidden, InvalidInput, Unavailable):  # gone or left out since it was listed
            continue
        findings += ({**raw, "path": each} for raw in _raw_values(systems.system(root), each, data))
    answer: TokenLint = {"path": inside, "findings": findings[:limit], "count": len(findings)}
    return {**answer, "files": len(beneath)}


def _files_beneath(root: OpenRoot, folder: str) -> list[str] | None:
    """Style sheets and components of a folder. None: it is no folder of the root."""
    start, end = ("", "\U0010ffff") if folder in ("", ".") else (f"{folder}/", f"{folder}0")
    sql = "SELECT path FROM files WHERE path > ? AND path < ? AND reason = '' ORDER BY path"
    paths = [row["path"] for row in root.store.read(lambda tx: tx.all(sql, start, end))]
    return [path for path in paths if _STYLED.search(path)] if paths or not folder else None


def _raw_values(system: System, path: str, data: bytes) -> Iterator[RawValue]:
    own = {token.line for token in system.tokens if token.path == path and not path.endswith((".css", ".pcss"))}
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        if number in own or _COMMENT.match(line):
            continue
        for raw in _RAW.finditer(line):
            if _DEFINED.search(line, 0, raw.start()):
                continue
            token = _fitting(system, raw[0], line[: raw.start()], path)
            if token is not None:
                yield {"line": number, "value": raw[0], "token": token.name, "text": _around(line, raw.start())}


def _around(line: str, place: int) -> str:
    return line[max(0, place - SHOWN_TEXT // 2) : place + SHOWN_TEXT // 2].strip()


def _fitting(system: System, raw: str, before: str, path: str) -> Token | None:
    """A token for a raw value: colours anywhere, lengths where spacing, radius or font size is set. Values of an object
    that defines tokens are none of its raw ones."""
    wanted = "colors" if colour_of(raw) is not None else _length_category(before)
    if wanted is None or (wanted != "colors" and length_of(raw) in (None, 0, 1)):
        return None
    equal, _ = matching(system, raw)
    if any(each.path == path and each.kind in _OWN_KINDS for each in equal):
        return None
    return next((each for each in equal if each.category == wanted), None)


def _length_category(before: str) -> str | None:
    """By the property or class that the text before a value ends with."""
    word = _LAST.split(before.lower())[-1]
    if re.search(r"radius|rounded", word):
        return "radii"
    if re.search(r"font-?size|text-\[|line-?height|leading", word):
        return "typography"
    return "spacing" if re.search(r"padding|margin|gap|inset|\b[pm][xytrbl]?-\[|space-[xy]", word) else None
