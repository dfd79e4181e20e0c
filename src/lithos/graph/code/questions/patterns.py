"""Patterns: shapes that recur in the code (error handling, logging, dependency injection, test set-up), counted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import re2

from lithos.core.call import Call
from lithos.core.relative import relative
from lithos.errors import Forbidden, InvalidInput, NotFound, Unavailable
from lithos.graph.code.code import Code, OpenRoot
from lithos.graph.code.languages import shown
from lithos.graph.code.questions.lookup import within
from lithos.graph.code.questions.questions import degraded
from lithos.graph.code.roots import globs

MOST_FILES = 3_000  # read for one question: about a second
_EXAMPLES = 3
_TOP = 12


@dataclass(frozen=True, slots=True)
class Shape:
    """A regular expression whose first group, where there is one, names the variant. It reads strangers' files, so it
    runs in linear time (re2)."""

    name: str
    languages: tuple[str, ...]
    pattern: Any


def _shape(name: str, languages: str, pattern: str) -> Shape:
    return Shape(name, tuple(languages.split()), re2.compile(f"(?m){pattern}"))


_JS = "typescript javascript"
FAMILIES: dict[str, tuple[tuple[str, ...], tuple[Shape, ...]]] = {
    "error handling": (
        ("error", "exception", "fail", "catch", "raise", "throw", "handling", "recover", "panic"),
        (
            _shape("except", "python", r"^\s*except\s+\(?([\w.]+)"),
            _shape("raise", "python", r"^\s*raise\s+([\w.]+)"),
            _shape("try/catch", f"{_JS} java csharp cpp kotlin php swift", r"\bcatch\s*(?:\(|\{)"),
            _shape("throw", f"{_JS} java csharp cpp kotlin php", r"\bthrow\s+(?:new\s+)?([\w.]+)"),
            _shape("if err != nil", "go", r"\bif\s+(?:[^\n;]*;\s*)?err\s*!=\s*nil\b"),
            _shape("wrapped error", "go", r"\b(fmt\.Errorf|errors\.(?:New|Wrap|Wrapf|Is|As|Join))\("),
            _shape("? operator", "rust", r"\?;\s*$"),
            _shape("unwrap or expect", "rust", r"\.(unwrap|expect)\("),
            _shape("rescue", "ruby", r"^\s*rescue\s*([\w:]*)"),
            _shape("set -e or trap", "bash", r"^\s*(set -[a-z]*e|trap)\b"),
        ),
    ),
    "logging": (
        ("log", "logging", "trace", "print", "debug"),
        (
            _shape(
                "logger call",
                "python",
                r"\b(?:logger|logging|log|_log)\.(debug|info|warning|error|exception|critical)\(",
            ),
            _shape("console", _JS, r"\bconsole\.(log|warn|error|info|debug)\("),
            _shape(
                "logger call",
                "go",
                r"\b[\w.]*(?:[lL]ogger|[lL]og)\.(Debug|Info|Warn|Error|Trace|Printf|Println|Fatal|Fatalf)\(",
            ),
            _shape("log macro", "rust", r"\b(trace|debug|info|warn|error)!\("),
            _shape("logger call", "java kotlin csharp php ruby swift", r"\b(?:_?[lL]ogger|log|LOG)(?:\.|->)(\w+)\("),
            _shape("print", "python bash c cpp go", r"^\s*(print|echo|printf|fmt\.Print\w*)\b"),
        ),
    ),
    "dependency injection": (
        ("injection", "inject", "dependency", "dependencies", "constructor", "di", "provider"),
        (
            _shape("typed __init__ parameter", "python", r"def __init__\(\s*self,[^)]*?\w+:\s*([A-Z]\w+)"),
            _shape("Depends", "python", r"\bDepends\(([\w.]*)"),
            _shape(
                "constructor parameter",
                "typescript",
                r"constructor\([^)]*?(?:private|public|readonly)\s[^:)]*:\s*([\w.]+)",
            ),
            _shape("New… constructor", "go", r"^func (New\w*)\("),
            _shape(
                "injected annotation", "java kotlin csharp typescript", r"@(Inject|Autowired|Injectable|Provides)\b"
            ),
            _shape("fn new", "rust", r"\bfn (new|with_\w+|builder)\("),
            _shape("context provider", _JS, r"<(\w+(?:\.Provider|Provider))\b"),
        ),
    ),
    "test set-up": (
        ("test", "tests", "fixture", "setup", "set-up", "mock", "teardown"),
        (
            _shape("setUp", "python", r"def (setUp|setUpClass|setUpTestData|tearDown|setup_method)\("),
            _shape("fixture", "python", r"@(pytest\.fixture|pytest\.mark\.\w+|mock\.patch[\w.]*|override_settings)\b"),
            _shape("hook", _JS, r"\b(beforeEach|afterEach|beforeAll|afterAll|describe|it|test)\("),
            _shape("subtest or helper", "go", r"\bt\.(Run|Helper|Cleanup|Parallel|TempDir)\("),
            _shape("test attribute", "rust", r"#\[((?:\w+::)?test|cfg\(test\)|rstest)\b"),
            _shape("annotation", "java kotlin csharp", r"@?\[?(BeforeEach|BeforeAll|Test|SetUp|Fact|Before)\b"),
        ),
    ),
}


@dataclass(slots=True)
class _Count:
    count: int = 0
    files: set[str] = field(default_factory=set)
    examples: list[dict[str, Any]] = field(default_factory=list)


def detect(code: Code, call: Call, query: str, path: str | None, root: str | None) -> dict[str, Any]:
    """The families that `query` names, else calls whose names hold its words; variants with counts and examples."""
    words = [word.lower() for word in re.findall(r"\w+", query)]
    if not words or len(query) > 500:
        raise InvalidInput("say which pattern", hint=f"For example: {', '.join(FAMILIES)}.")
    roots = code.visible(call, root)
    path = None if path is None else relative(within(roots, path))
    families = {name: shapes for name, (keys, shapes) in FAMILIES.items() if any(word in keys for word in words)}
    families = families or {f"calls like {query.strip()!r}": (_like(words),)}
    counts: dict[tuple[str, str, str], _Count] = {}
    read = truncated = 0
    away: list[str] = []  # roots that cannot be read now: the others still answer
    for each in roots:
        for name, language, text in _texts(each, path, away):
            if read == MOST_FILES:
                truncated = 1
                break
            read += 1
            for family, shapes in families.items():
                _count(counts, family, shapes, each.spec.name, name, language, text)
    ranked = sorted(counts.items(), key=lambda item: (item[0][0], -item[1].count, item[0]))
    entry = [
        {
            "family": family,
            "shape": shape,
            "variant": variant,
            "count": found.count,
            "files": len(found.files),
            "examples": found.examples,
        }
        for (family, shape, variant), found in ranked
    ]
    shown_rows = [row for family in families for row in [each for each in entry if each["family"] == family][:_TOP]]
    answer: dict[str, Any] = {"patterns": shown_rows, "files_read": read, "truncated": bool(truncated)}
    if not read and path:
        answer["hint"] = f"No code is beneath {path[:200]!r}; lithos_list_files shows what there is."
    elif not shown_rows:
        answer["hint"] = f"Nothing recurs here. Known families: {', '.join(FAMILIES)}."
    if away:
        return {**answer, "degraded": True, "degraded_reason": "; ".join(away)}
    return {**answer, **degraded(roots)}


def _like(words: list[str]) -> Shape:
    joined = "|".join(re2.escape(word) for word in words if len(word) > 2) or re2.escape(words[0])
    return Shape("call", (), re2.compile(rf"(?i)\b((?:\w+\.)?\w*(?:{joined})\w*)\("))


def _texts(root: OpenRoot, path: str | None, away: list[str]) -> Iterator[tuple[str, str, str]]:
    matcher = None
    if path and (plain := path.removeprefix(f"{root.spec.name}:").strip("/")):
        matcher = globs.compiled(plain if any(char in plain for char in "*?[{") else f"/{plain}{{,/**}}")
    sql = "SELECT path, language FROM files WHERE reason = '' AND language <> '' ORDER BY path"
    for row in root.store.read(lambda tx: tx.all(sql)):
        if matcher is not None and matcher.fullmatch(row["path"]) is None:
            continue
        try:
            data, _, _ = root.index.tree.read(row["path"])
        except (NotFound, Forbidden):
            continue
        except Unavailable as error:
            away.append(error.message)
            return
        yield row["path"], shown(row["language"]), data.decode("utf-8", "replace")


def _count(
    counts: dict[tuple[str, str, str], _Count],
    family: str,
    shapes: tuple[Shape, ...],
    root: str,
    path: str,
    language: str,
    text: str,
) -> None:
    for shape in shapes:
        if shape.languages and language not in shape.languages:
            continue
        line, counted = 1, 0  # the line of the last example, and where it was: a file may have thousands of variants
        for match in shape.pattern.finditer(text):
            variant = (match.group(1) or "") if shape.pattern.groups else ""
            found = counts.setdefault((family, shape.name, variant[:80]), _Count())
            found.count += 1
            if path not in found.files and len(found.examples) < _EXAMPLES:
                at = match.start(match.lastindex or 0)
                line, counted = line + text.count("\n", counted, at), at
                start = text.rfind("\n", 0, at) + 1
                shown_line = text[start : start + 400].partition("\n")[0].strip()[:160]
                found.examples.append({"path": path, "root": root, "line": line, "text": shown_line})
            found.files.add(path)
