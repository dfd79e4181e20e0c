"""The style guide of a repository: what its settings say, else what its files show, else `mixed`. Never a guess."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NotRequired

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.errors import Forbidden, InvalidInput, NotFound, Unavailable
from lithos.graph.code import Code, FileSurvey, OpenRoot, Surveys, language_of, shown_language, within
from lithos.habits.style.configs import NAMES, Setting, settings_for
from lithos.habits.style.naming import named_values
from lithos.habits.style.values import StyleValue
from lithos.storage import Row, Tx

MOST_FILES = 160  # of a language whose syntax is counted; naming is counted over all
LEAST_SHARE, LEAST_CASES = 0.7, 20
MOST_OF_FILE = 60  # cases of one convention that one file contributes
MOST_FOLDERS = 12
DEEPEST = 40  # folders that are looked for above a path
MOST_LANGUAGES = 3  # in an answer about all
MIXED = "mixed"
SURVEYED = {"python", "javascript", "typescript", "tsx", "go", "rust", "java", "c_sharp", "php", "ruby"}
PATTERNS = ("error_handling", "async_style", "component_style", "export_style", "import_order")
_SIMPLE_STRING = {"single": re.compile(r"'[^'\"\n\\]{1,80}'"), "double": re.compile(r'"[^\'"\n\\]{1,80}"')}


class LanguageStyle(TypedDict):
    language: str
    naming: dict[str, StyleValue]
    formatting: dict[str, StyleValue]
    patterns: dict[str, StyleValue]
    files: int
    files_read: int
    folders: NotRequired[dict[str, dict[str, Any]]]


class StyleGuide(TypedDict):
    root: NotRequired[str]
    styles: list[LanguageStyle]
    in_short: NotRequired[dict[str, dict[str, str]]]  # by language: values alone, "(config)" where a setting says it
    degraded: bool
    degraded_reason: NotRequired[str]


Counted = dict[str, dict[str, list[Any]]]  # convention → value → [count, examples]


class StyleGuides:
    def __init__(self, code: Code, surveys: Surveys) -> None:
        self._code = code
        self._surveys = surveys
        self._cached: dict[tuple[str, str, str], tuple[int, LanguageStyle]] = {}

    def guide(self, call: Call, language: str, path: str, root_name: str | None = None) -> StyleGuide:
        """Of one language, or in short of all; for a path, what holds there."""
        roots = self._code.visible(call, root_name)
        if not roots:
            raise NotFound("there is no code root", hint="The operator adds one: lithos code add PATH.")
        root, folder = _placed(roots, path)
        known = self.languages(root)
        behind = root.behind()
        answer: StyleGuide = {"root": root.spec.name, "styles": [], "degraded": bool(behind)}
        if behind:
            answer["degraded_reason"] = behind
        asked = language.strip().casefold()
        if asked in ("", "all"):
            answer["in_short"] = {each: short(self.style(root, each, folder)) for each in [*known][:MOST_LANGUAGES]}
            return answer
        if asked not in known:
            named = ", ".join(known) or "none"
            raise NotFound(f"{root.spec.name} has no {asked[:40]!r} that is read", hint=f"It has: {named}.")
        answer["styles"] = [self.style(root, asked, folder)]
        return answer

    def languages(self, root: OpenRoot) -> dict[str, int]:
        """Languages whose style is read, by their files, the most used first."""
        counts: dict[str, int] = defaultdict(int)
        for row in root.store.read(lambda tx: tx.all(_COUNTS)):
            if row["language"] in SURVEYED:
                counts[shown_language(row["language"])] += row["files"]
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def style(self, root: OpenRoot, language: str, folder: str = "") -> LanguageStyle:
        key = (root.spec.name, language, folder)
        held = self._cached.get(key)
        if held is not None and held[0] == root.store.changes:
            return held[1]
        changes = root.store.changes
        made = self._made(root, language, folder)
        if len(self._cached) > 256:
            self._cached.clear()
        self._cached[key] = (changes, made)
        return made

    def _made(self, root: OpenRoot, language: str, folder: str) -> LanguageStyle:
        inferred = self.inferred(root, language, folder)
        settings = self.settings(root, language, folder)
        for name, setting in settings.items():
            inferred["formatting"][name] = _from_config(setting, inferred["formatting"].get(name))
        if _said(inferred["formatting"], "indent_style") == "tabs":
            inferred["formatting"].pop("indent_size", None)
        return inferred

    def settings(self, root: OpenRoot, language: str, folder: str = "") -> dict[str, Setting]:
        """Settings that the project itself writes down."""

        def read(path: str) -> bytes | None:
            if path.rpartition("/")[2] not in NAMES or root.index.tree.stamp(path) is None:
                return None
            try:
                return root.index.tree.read(path)[0]
            except (NotFound, Forbidden, InvalidInput, Unavailable):
                return None

        return settings_for(folder, language, read, self.literal)

    def literal(self, path: str, data: bytes) -> Any:
        grammar = "typescript" if path.endswith(".ts") else "javascript"
        facts = self._code.facts(path, f"literals:{grammar}", data)
        return None if facts is None else facts.extra.get("exports")

    def inferred(self, root: OpenRoot, language: str, folder: str = "") -> LanguageStyle:
        """From syntax trees and names alone; no setting of the project is read."""
        files, _ = self._surveys.get(root, "style", _sample)
        within = f"{folder}/" if folder else ""
        mine = {
            p: each for p, each in files.items() if shown_language(language_of(p)) == language and p.startswith(within)
        }
        counted = _counted(mine)
        names, paths = root.store.read(lambda tx: _names(tx, language, within))
        style: LanguageStyle = {
            "language": language,
            "naming": named_values(language, names, paths, _value),
            "formatting": _formatting(counted, language),
            "patterns": _patterns(counted),
            "files": len(paths),
            "files_read": len(mine),
        }
        if not folder:
            different = _folders(mine, style["formatting"], language)
            if different:
                style["folders"] = different
        return style

    def check(self, call: Call, root: OpenRoot, path: str, text: str) -> list[str]:
        """How a text would break the settled style of its file's language."""
        language = shown_language(language_of(path))
        if language not in {shown_language(each) for each in SURVEYED}:
            return []
        form = self.style(root, language, "")["formatting"]
        broken: list[str] = []
        indent = _said(form, "indent_style")
        leads = [line[: len(line) - len(line.lstrip())] for line in text.split("\n") if line.strip()]
        if indent == "spaces" and any("\t" in lead for lead in leads):
            broken.append("style: indented with tabs; this repository uses spaces")
        if indent == "tabs" and any(lead.startswith("  ") for lead in leads):
            broken.append("style: indented with spaces; this repository uses tabs")
        quotes = _said(form, "quote_style")
        other = {"single": "double", "double": "single"}.get(quotes) if isinstance(quotes, str) else None
        quoted = other is not None and language in ("python", "javascript", "typescript") and "<" not in text
        if (
            quoted
            and other is not None
            and _SIMPLE_STRING[other].search(text)
            and not _SIMPLE_STRING[quotes].search(text)
        ):
            broken.append(f"style: {other} quotes; this repository uses {quotes}")
        return broken


def short(style: LanguageStyle) -> dict[str, str]:
    """Settled values without evidence: for an answer about several languages."""
    every = {**style["naming"], **style["formatting"], **style["patterns"]}
    return {name: _in_words(each) for name, each in every.items() if each["value"] != MIXED}


def _in_words(value: StyleValue) -> str:
    said = value["value"]
    text = " > ".join(said) if isinstance(said, list) else str(said).lower() if isinstance(said, bool) else str(said)
    return f"{text} (config)" if value["source"] == "config" else text


def _placed(roots: Sequence[OpenRoot], path: str) -> tuple[OpenRoot, str]:
    """The root, and the folder that `path` names or is in."""
    plain = within(roots, path).strip().removeprefix("./")
    if ".." in re.split(r"[/\\:]", plain):
        raise InvalidInput(f"path {plain[:80]!r} leaves the root", hint="Paths are relative to the root, without '..'.")
    for root in roots:
        if plain.startswith(f"{root.spec.name}:"):
            return root, _folder_of(root, plain[len(root.spec.name) + 1 :])
    head, colon, _ = plain.partition(":")
    if colon and "/" not in head:
        there = ", ".join(root.spec.name for root in roots)
        raise NotFound(f"there is no root {head[:40]!r}", hint=f"There are: {there}.")
    placed = [(root, _folder_of(root, plain)) for root in roots]
    return max(placed, key=lambda pair: len(pair[1]))  # the first of equals


def _folder_of(root: OpenRoot, path: str) -> str:
    """The folder itself, or the nearest above a file that is not there yet."""
    plain = path.strip("/")
    if not plain or plain == ".":
        return ""
    if root.index.tree.stamp(plain) is not None:
        return plain.rpartition("/")[0]
    for _ in range(DEEPEST):
        asked = (f"{plain}/", f"{plain}0")
        if not plain or root.store.read(lambda tx, asked=asked: tx.one(_BENEATH, *asked)) is not None:  # type: ignore[misc]
            return plain
        plain = plain.rpartition("/")[0]
    return ""


def _sample(rows: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """Some files of each language, spread over the folders; the same ones as long as they are there."""
    groups: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path, language in rows:
        if language in SURVEYED:
            groups[language]["/".join(path.split("/")[:-1][:2])].append(path)
    for language, folders in groups.items():
        total = sum(map(len, folders.values()))
        least = 4 if 4 * len(folders) <= MOST_FILES else 1
        for paths in folders.values():
            share = max(least, round(MOST_FILES * len(paths) / total))
            ordered = sorted(
                paths, key=lambda path: hashlib.blake2b(path.encode("utf-8", "replace"), digest_size=8).digest()
            )
            for path in ordered[: share if total > MOST_FILES else len(ordered)]:
                yield path, f"style:{language}"


def _counted(files: Mapping[str, FileSurvey]) -> Counted:
    counted: Counted = {}
    for path, each in files.items():
        for name, values in each.values.get("style", {}).items():
            total = sum(count for count, _ in values.values())
            scale = min(1.0, MOST_OF_FILE / total) if total else 1.0
            for value, (count, line) in values.items():
                entry = counted.setdefault(name, {}).setdefault(value, [0.0, []])
                entry[0] += count * scale
                if len(entry[1]) < 2:
                    entry[1].append(f"{path}:{line}")
    return counted


def _value(values: Mapping[str, list[Any]]) -> StyleValue | None:
    """The settled value of one convention; `mixed` under 70% or 20 cases. None: there is no case at all."""
    total = sum(each[0] for each in values.values())
    if not total:
        return None
    best = max(values, key=lambda value: (values[value][0], value))
    count, examples = values[best]
    share = count / total
    settled = share >= LEAST_SHARE and total >= LEAST_CASES
    found: StyleValue = {
        "value": best if settled else MIXED,
        "source": "inferred",
        "share": round(share, 3),
        "count": round(total),
        "examples": list(examples[:2]),
    }
    return found


def _said(values: Mapping[str, StyleValue], name: str) -> Any:
    found = values.get(name)
    return None if found is None else found["value"]


def _formatting(counted: Counted, language: str) -> dict[str, StyleValue]:
    found: dict[str, StyleValue] = {}
    for name in ("indent_style", "indent_size", "quote_style", "semicolons"):
        value = _value(counted.get(name, {}))
        if value is not None:
            found[name] = value
    if _said(found, "indent_style") == "tabs":
        found.pop("indent_size", None)
    elif "indent_size" in found and found["indent_size"]["value"] != MIXED:
        found["indent_size"]["value"] = int(found["indent_size"]["value"])
    if "semicolons" in found and found["semicolons"]["value"] != MIXED:
        found["semicolons"]["value"] = found["semicolons"]["value"] == "yes"
    comma = _comma(counted, language)
    return {**found, "trailing_comma": comma} if comma is not None else found


def _comma(counted: Counted, language: str) -> StyleValue | None:
    """`all`, `es5` or `none`: only the kind of the list tells `all` from `es5`."""
    lists, calls = _value(counted.get("trailing_comma", {})), _value(counted.get("trailing_comma_call", {}))
    if lists is None:
        return None
    said = lists["value"]
    if said == "no":
        return {**lists, "value": "none"}
    if said != "yes" or language not in ("javascript", "typescript"):
        return {**lists, "value": "all" if said == "yes" else MIXED}
    calls_say = calls["value"] if calls is not None else MIXED
    return {**lists, "value": {"yes": "all", "no": "es5"}.get(calls_say, MIXED)}


def _patterns(counted: Counted) -> dict[str, StyleValue]:
    found: dict[str, StyleValue] = {}
    for name in ("error_handling", "async_style", "component_style", "export_style"):
        value = _value(counted.get(name, {}))
        if value is not None:
            found[name] = value
    order = _import_order(counted.get("import_order", {}))
    return {**found, "import_order": order} if order is not None else found


def _import_order(values: Mapping[str, list[Any]]) -> StyleValue | None:
    """The kinds of imports in the order that most files keep."""
    total = sum(each[0] for each in values.values())
    if not total:
        return None
    wins: dict[str, float] = defaultdict(float)
    for value, (count, _) in values.items():
        kinds = value.split(",")
        for place, kind in enumerate(kinds if value != "unordered" else ()):
            wins[kind] += count * (len(kinds) - 1 - 2 * place)
    order = sorted(wins, key=lambda kind: (-wins[kind], kind))
    kept = [
        (count, examples)
        for value, (count, examples) in values.items()
        if value != "unordered" and _follows(value, order)
    ]
    share = sum(count for count, _ in kept) / total
    settled = share >= LEAST_SHARE and total >= LEAST_CASES
    examples = [each for _, some in kept for each in some][:2]
    return {
        "value": order if settled else MIXED,
        "source": "inferred",
        "share": round(share, 3),
        "count": round(total),
        "examples": examples,
    }


def _follows(value: str, order: Sequence[str]) -> bool:
    places = [order.index(kind) for kind in value.split(",")]
    return places == sorted(places)


def _folders(
    files: Mapping[str, FileSurvey], whole: Mapping[str, StyleValue], language: str
) -> dict[str, dict[str, Any]]:
    """Folders whose settled formatting differs from the repository's."""
    parts: dict[str, dict[str, FileSurvey]] = defaultdict(dict)
    for path, each in files.items():
        folders = path.split("/")[:-1]
        for depth in (1, 2):
            if len(folders) >= depth:
                parts["/".join(folders[:depth])][path] = each
    found: dict[str, dict[str, Any]] = {}
    for folder, some in sorted(parts.items()):
        form = _formatting(_counted(some), language)
        other = {
            name: each["value"]
            for name, each in form.items()
            if each["value"] != MIXED and name in whole and each["value"] != whole[name]["value"]
        }
        parent = found.get(folder.rpartition("/")[0])
        if other and other != parent:
            found[folder] = other
    return dict([*found.items()][:MOST_FOLDERS])


def _from_config(setting: Setting, shown: StyleValue | None) -> StyleValue:
    value: StyleValue = {"value": setting.value, "source": "config", "where": setting.where}
    if shown is None or shown["value"] == MIXED:
        return value
    if shown["value"] == setting.value:
        return {**value, "share": shown["share"], "count": shown["count"], "examples": shown["examples"]}
    where = ", ".join(shown["examples"])
    return {**value, "disagrees": f"the files show {shown['value']} ({shown['share']:.0%}): {where}"}


def _names(tx: Tx, language: str, within: str) -> tuple[list[Row], dict[int, str]]:
    """Named things of a language, and the paths of their files by number. Joined here: a join of rows costs twice."""
    inner = ("typescript", "tsx") if language == "typescript" else ("c_sharp",) if language == "csharp" else (language,)
    files = tx.all(_FILES.format(marks=", ".join("?" * len(inner))), *inner)
    paths = {row["number"]: row["path"] for row in files if row["path"].startswith(within)}
    names = [row for row in tx.all(_NAMES) if row["file"] in paths]
    named = {row["file"] for row in names}
    return names, {number: path for number, path in paths.items() if number in named}


_COUNTS = "SELECT language, count(*) AS files FROM files WHERE reason = '' GROUP BY language"
_BENEATH = "SELECT 1 AS yes FROM files WHERE path > ? AND path < ? LIMIT 1"
_FILES = "SELECT number, path FROM files WHERE reason = '' AND language IN ({marks}) ORDER BY path"
_NAMES = "SELECT file, name, type, line FROM nodes WHERE type IN (2, 3, 4, 5, 6, 7, 9, 10) ORDER BY file, line"
