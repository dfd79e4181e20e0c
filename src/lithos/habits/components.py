"""Components: what a repository has already, before an agent writes it a second time."""

from __future__ import annotations

import math
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.lazy import lazy
from lithos.errors import Forbidden, InvalidInput, NotFound, Unavailable
from lithos.graph.code import Code, FileSurvey, OpenRoot, Surveys
from lithos.habits.brevity import is_short
from lithos.habits.matching import Matcher, key_words, split_words

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy("numpy")

ComponentType = Literal["ui", "hook", "utility", "pattern", "any", "component", "all"]
_ALIASES = {"component": "ui", "all": "any"}
LONGEST_NEED = 500
CANDIDATES, NEAREST, SHOWN = 40, 12, 3
MOST_COMMON = 500  # parts compared by meaning: each costs one embedding, once
# A need of a few words must be met nearly whole: a password field is no password cracking.
FEW_WORDS, FEW_MEANING, FEW_SAID, FEW_NEAR = 3, 0.27, 0.55, 0.57
MEANING, NEAR, SAID, SAID_WORDS = 0.36, 0.46, 0.35, 2  # of a longer need
NAMED_WITHOUT_MODEL = 0.75
MOST_WEIGHT = 4.5  # of a word that no part has, too
LEAST_USES = 2  # files that use a utility
EXAMPLE_SHARE, EXAMPLE_NEARER = 0.65, 0.1  # of the score, for a part of an example or of the documentation
LEAST_PROPS = 4  # and values of a variant, which a long answer keeps
MOST_SITES, LONGEST_SITE = 5, 160  # callers that are read for an example
# Of a single-file component. Each is looked for once from its start: a hostile file has thousands of them, none closed.
_SCRIPT, _SCRIPT_END = re.compile(r"<script\b[^>]{0,500}>", re.IGNORECASE), re.compile(r"</script>", re.IGNORECASE)
_EXAMPLE = re.compile(r"(^|/)(examples?|demos?|docs?|www|website|playground|showcase|sandbox)/", re.IGNORECASE)
_TEST = re.compile(r"(^|/)(tests?|__tests__|stories|e2e|fixtures?|__mocks__)/|\.(test|spec|stories)\.", re.IGNORECASE)
_VUE_PROPS, _VUE_PROPS_END = re.compile(r"defineProps\s*<\s*\{"), re.compile(r"\}\s{0,80}>")
_VUE_OBJECT, _VUE_OBJECT_END = re.compile(r"(?:defineProps\s*\(\s*|props\s*:\s*)\{"), re.compile(r"\n[ \t]{0,80}\}")
_VUE_MEMBER = re.compile(r"(\w{1,80})\s{0,80}:\s{0,80}(?:\{([^}]{0,400})\}?|\w{1,80})")
MOST_MEMBERS, LONGEST_RUNES = 60, 4_000
_SVELTE = re.compile(r"^\s*export\s+let\s+(\w+)\s*(?::\s*([^=;\n]+))?(?:=\s*([^;\n]+))?;?", re.MULTILINE)
_RUNES = re.compile(r"let\s*\{([^}]*)\}\s*(?::\s*\w+)?\s*=\s*\$props\(")
SHORT_PREFIX, _SHORT_WORDS = 2, frozenset({"qr", "id", "no", "go"})
_PIECES = frozenset(
    {"root", "content", "item", "trigger", "header", "footer", "title", "description", "group", "indicator", "portal"}
    | {"overlay", "close", "action", "cancel", "provider", "viewport", "value", "icon", "list", "panel", "body", "impl"}
    | {"arrow", "anchor", "thumb", "track", "range", "link", "text", "demo", "example", "modal", "non", "cell", "head"}
)
PATTERNS: Mapping[str, tuple[str, ...]] = {
    "form with validation": ("form", "validation"),
    "list with loading state": ("list", "loading"),
    "fetching with loading and error state": ("fetching", "loading", "error state"),
    "table with pagination": ("table", "pagination"),
    "form in a dialog": ("dialog", "form"),
    "list with empty state": ("list", "empty state"),
}


@cache
def ui_kinds() -> Mapping[str, str]:
    """Kinds of components, and usual names of hooks and utilities, with other words for them. Shipped."""
    text = files("lithos.habits").joinpath("data/ui_kinds.txt").read_text(encoding="utf-8")
    rows = (row.partition(": ") for row in text.splitlines() if row and not row.startswith("#"))
    return {name: words for name, _, words in rows}


def _kind_of(name: str) -> str:
    kinds = ui_kinds()
    return kinds.get(name) or kinds.get(name.removesuffix("s") if name.endswith("s") else f"{name}s", "")


class Prop(TypedDict):
    name: str
    type: str
    required: bool
    default: NotRequired[str]


class ComponentShown(TypedDict):
    name: str
    type: str
    path: str
    description: NotRequired[str]
    props: NotRequired[list[Prop]]
    variants: NotRequired[dict[str, list[str]]]
    signature: NotRequired[str]
    usage_example: NotRequired[str]
    uses: int
    also_in: NotRequired[list[str]]
    similarity: float


class ComponentsFound(TypedDict):
    found: bool
    matches: NotRequired[list[ComponentShown]]
    suggestion: NotRequired[str]
    degraded: bool
    degraded_reason: NotRequired[str]


@dataclass(slots=True)
class Part:
    name: str
    kind: str
    path: str
    line: int
    facts: Mapping[str, Any]
    uses: int = 0
    example: str = ""
    also: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        return " ".join(split_words(self.name))

    @property
    def family(self) -> str:
        """Its words without those that name a piece of a component: `DialogContent` belongs to `dialog`."""
        words = split_words(self.name)
        while len(words) > 1 and len(words[0]) <= SHORT_PREFIX and words[0] not in _SHORT_WORDS:  # VAlert, ElAlert
            words = words[1:]
        while len(words) > 1 and words[-1] in _PIECES:
            words.pop()
        return " ".join(words)

    @property
    def is_example(self) -> bool:
        return _EXAMPLE.search(self.path) is not None

    @property
    def texts(self) -> tuple[str, ...]:
        """Its name and purpose, each as one short sentence: its comment, and what people say of such a component."""
        doc = str(self.facts.get("doc", ""))
        own = self.family if self.kind == "ui" else self.words
        said = _kind_of(own if self.kind == "ui" else f"{self.kind} {own}")
        texts = (f"{self.words}: {doc}" if doc else "", f"{own}: {said}" if said else "")
        return tuple(filter(None, texts)) or (own,)


@dataclass(slots=True)
class _Registry:
    changes: int
    parts: list[Part]
    words: list[tuple[frozenset[str], frozenset[str]]]  # of each part: of its name, of all its texts
    texts: list[tuple[str, ...]]
    by_word: dict[str, list[int]]
    weights: dict[str, float]
    common: list[int]  # places of the parts that are compared by meaning, too
    vectors: tuple[list[int], Any] | None = None  # of their texts: the place of each row, and the rows

    def weigh(self, words: Iterable[str]) -> float:
        """Rare words weigh more, and those that no part has the most."""
        rarest = math.log(1 + max(1, len(self.parts)))
        return sum(min(self.weights.get(word, rarest), MOST_WEIGHT) for word in words)


class Components:
    def __init__(self, code: Code, surveys: Surveys, matcher: Matcher) -> None:
        self._code = code
        self._surveys = surveys
        self._matcher = matcher
        self._lock = threading.Lock()
        self._held: dict[str, _Registry] = {}

    def find(self, call: Call, need: str, kind: str = "any", root_name: str | None = None) -> ComponentsFound:
        wanted = " ".join(need.split())[:LONGEST_NEED]
        if not wanted:
            raise InvalidInput("need is empty", hint='For example "modal dialog".')
        kind = _ALIASES.get(kind, kind)
        roots = self._code.visible(call, root_name)
        if not roots:
            raise NotFound("there is no code root", hint="The operator adds one: lithos code add PATH.")
        scored: list[tuple[float, Part]] = []
        for root in roots:
            scored += self._scored(root, wanted, kind)
        scored.sort(key=lambda pair: (-pair[0], -pair[1].uses, pair[1].name))
        behind = next((reason for root in roots if (reason := root.behind())), "")
        answer: ComponentsFound = {"found": bool(scored), "degraded": bool(behind)}
        if behind:
            answer["degraded_reason"] = behind
        if not scored:
            return {
                **answer,
                "suggestion": "Nothing here fits. lithos_check_dependency asks the packages.",
            }
        best: dict[str, tuple[float, Part]] = {}
        for score, part in scored:
            best.setdefault(f"{part.kind} {part.family}", (score, part))
        shown = [*best.values()][:SHOWN]
        first = shown[0][1]
        if first.kind == "utility" and not first.example:
            first.example = next((site for root in roots if (site := _call_site(root, first))), "")
        return _cut({**answer, "matches": _listed(shown)})

    def _near(self, registry: _Registry, need: str, kind: str) -> list[int]:
        """Parts nearest in meaning, among those that are used the most."""
        wanted = self._matcher.centred(need)
        if wanted is None:
            return []
        if registry.vectors is None:
            rows = [(place, text) for place in registry.common for text in registry.texts[place]]
            made = [(place, vector) for place, text in rows if (vector := self._matcher.centred(text)) is not None]
            registry.vectors = [place for place, _ in made], np.array([vector for _, vector in made])
        places, vectors = registry.vectors
        if not places:
            return []
        order = np.argsort(-(vectors @ wanted))
        allowed = (places[row] for row in order if kind in ("any", registry.parts[places[row]].kind))
        return [*dict.fromkeys(islice(allowed, 2 * NEAREST))][:NEAREST]

    def registry(self, root: OpenRoot) -> _Registry:
        with self._lock:
            held = self._held.get(root.spec.name)
            if held is not None and held.changes == root.store.changes:
                return held
        surveyed, changes = self._surveys.get(root, "components", _chosen, _prepared)
        made = _registered(changes, [*_parts(surveyed, _used_in(root))])
        with self._lock:
            self._held[root.spec.name] = made
        return made

    def _scored(self, root: OpenRoot, need: str, kind: str) -> Iterator[tuple[float, Part]]:
        registry = self.registry(root)
        asked = key_words(need)
        places = dict.fromkeys([*_candidates(registry, asked, kind), *self._near(registry, need, kind)])
        weigh = registry.weigh
        asked_total = weigh(asked) or 1.0
        for place in places:
            part, (name, text) = registry.parts[place], registry.words[place]
            named, shared = weigh(asked & name), asked & text
            covered, named, said = named / (weigh(name) or 1.0), named / asked_total, weigh(shared) / asked_total
            meanings = [self._matcher.apart(need, each) for each in registry.texts[place]]
            near = max((each for each in meanings if each is not None), default=None)
            if near is None:
                relevant, near = covered >= NAMED_WITHOUT_MODEL, 0.0
            else:
                relevant = _fits(near - EXAMPLE_NEARER * part.is_example, said, len(shared), len(asked))
            if relevant:
                # A name of one word says little about a long need.
                score = 0.5 * near + 0.25 * covered * math.sqrt(named) + 0.25 * said + 0.01 * math.log1p(part.uses)
                yield round(min(1.0, score * (EXAMPLE_SHARE if part.is_example else 1.0)), 4), part


def _fits(near: float, said: float, shared: int, asked: int) -> bool:
    """Whether a part meets a need: by its nearness, and by the share and number of key words in common."""
    if asked <= FEW_WORDS:
        return (near >= FEW_MEANING and said >= FEW_SAID) or (near >= FEW_NEAR and shared > 0)
    if near >= MEANING and (shared > 0 or near >= NEAR):
        return True
    return near >= FEW_MEANING and said >= SAID and shared >= SAID_WORDS


def _candidates(registry: _Registry, asked: Iterable[str], kind: str) -> list[int]:
    """Parts that share a word with the need, the rarest words first; all of a small repository."""
    allowed = [place for place, part in enumerate(registry.parts) if kind in ("any", part.kind)]
    if len(allowed) <= CANDIDATES:
        return allowed
    counts: Counter[int] = Counter()
    for word in asked:
        for place in registry.by_word.get(word, ()):
            part = registry.parts[place]
            if kind in ("any", part.kind):
                counts[place] += round(
                    1000 * registry.weights.get(word, 1.0) / (1 + 0.3 * len(registry.words[place][0]))
                )
    return [place for place, _ in counts.most_common(CANDIDATES)]


def _chosen(rows: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for path, language in rows:
        if language in ("tsx", "javascript", "typescript"):
            yield path, f"components:{language}"
        elif path.endswith((".vue", ".svelte")):
            yield path, "components:tsx"


def _prepared(path: str, data: bytes) -> bytes:
    """Vue and Svelte: their script blocks as one TypeScript text, its props as a type that the survey reads."""
    if not path.endswith((".vue", ".svelte")):
        return data
    text = data.decode("utf-8", "replace")
    scripts, template = _split(text)
    pieces = re.split(r"[\W_]+", path.rpartition("/")[2].partition(".")[0])
    name = "".join(each[:1].upper() + each[1:] for each in pieces) or "Component"
    uses = " ".join(f"<{tag} />" for tag in dict.fromkeys(re.findall(r"<([A-Z]\w+)", template)))
    members = "; ".join(_members(scripts))
    made = f"export function {name}(props: {{ {members} }}) {{ return <div>{uses}</div> }}"
    return f"{scripts}\n{made}\n".encode()


def _split(text: str) -> tuple[str, str]:
    """The script blocks of a single-file component, and what is around them."""
    scripts, around, place = [], [], 0
    while (opened := _SCRIPT.search(text, place)) and (closed := _SCRIPT_END.search(text, opened.end())):
        scripts.append(text[opened.end() : closed.start()])
        around.append(text[place : opened.start()])
        place = closed.end()
    return "\n".join(scripts), "".join((*around, text[place:]))


def _between(text: str, start: re.Pattern[str], end: re.Pattern[str]) -> str:
    opened = start.search(text)
    closed = end.search(text, opened.end()) if opened else None
    return text[opened.end() : closed.start()] if opened and closed else ""


def _members(script: str) -> Iterator[str]:
    if typed := _between(script, _VUE_PROPS, _VUE_PROPS_END):
        yield from (each.strip().rstrip(",;") for each in re.split(r"[;\n]", typed) if ":" in each)
        return
    if options := _between(script, _VUE_OBJECT, _VUE_OBJECT_END):
        for member in islice(_VUE_MEMBER.finditer(options), MOST_MEMBERS):
            said = member[2] or ""
            kind = re.search(r"\btype:\s{0,80}(\w{1,80})", said)
            needed = re.search(r"\brequired:\s{0,80}true", said)
            yield f"{member[1]}{'' if needed else '?'}: {kind[1].lower() if kind else 'unknown'}"
        return
    for name, kind, default in _SVELTE.findall(script):
        yield f"{name}{'?' if default else ''}: {kind.strip() or 'unknown'}"
    called = script.find("$props(")
    if found := _RUNES.search(script[max(0, called - LONGEST_RUNES) : called + len("$props(")] if called >= 0 else ""):
        for each in found[1].split(","):
            name, _, default = each.partition("=")
            if re.fullmatch(r"\s*\w+\s*", name):
                yield f"{name.strip()}{'?' if default else ''}: unknown"


def _used_in(root: OpenRoot) -> dict[tuple[str, str], int]:
    """(path, symbol) → files that use it, for functions of every language."""
    rows = root.store.read(lambda tx: tx.all(_USED))
    return {(row["path"], row["local"]): row["used"] for row in rows}


def _call_site(root: OpenRoot, part: Part) -> str:
    """A line of another file that calls a utility."""
    rows = root.store.read(lambda tx: tx.all(_CALLERS, part.path, part.name))
    called = re.compile(rf"\b{re.escape(part.name)}\s*\(")
    for row in sorted(rows, key=lambda row: (_TEST.search(row["path"]) is not None, row["path"]))[:MOST_SITES]:
        try:
            text = root.index.tree.read(row["path"])[0].decode("utf-8", "replace")
        except (NotFound, Forbidden, InvalidInput, Unavailable):  # gone since it was indexed
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if number >= row["line"] and called.search(line):
                return f"{line.strip()[:LONGEST_SITE]}  // {row['path']}:{number}"
    return ""


def _parts(surveyed: Mapping[str, FileSurvey], used: Mapping[tuple[str, str], int]) -> Iterator[Part]:
    uses: Counter[str] = Counter()
    examples: dict[str, tuple[int, str]] = {}
    for path, each in surveyed.items():
        for name, (count, line, text) in each.values.get("uses", {}).items():
            uses[name] += count
            worth = (0 if _TEST.search(path) else 100) + min(text.count("="), 6) * 10 - len(text) // 20
            if name not in examples or worth > examples[name][0]:
                examples[name] = (worth, f"{text}  // {path}:{line}")
    made: dict[tuple[str, str], Part] = {}
    for path, each in sorted(surveyed.items()):
        if _TEST.search(path):
            continue
        exported = set(each.values.get("exported", ()))
        for facts in each.values.get("made", ()):
            name, kind = facts["name"], facts["kind"]
            count = used.get((path, name), 0) if kind == "utility" else uses[name]
            if name not in exported or (kind == "utility" and count < LEAST_USES):
                continue
            part = Part(name, kind, path, facts["line"], facts, count, examples.get(name, (0, ""))[1])
            known = made.get((name, kind))
            if known is None:
                made[name, kind] = part
            else:
                better, other = (part, known) if _better(part, known) else (known, part)
                better.also = [*known.also, other.path][:20]
                made[name, kind] = better
    yield from made.values()
    known_utilities = {name for name, kind in made if kind != "ui"}
    for (path, local), count in used.items():
        if path not in surveyed and count >= LEAST_USES and not local.startswith("_") and local not in known_utilities:
            yield Part(local.rpartition(".")[2], "utility", path, 1, {"doc": ""}, count)
    yield from _patterns(surveyed)


def _better(one: Part, other: Part) -> bool:
    return _worth(one) > _worth(other)


def _worth(part: Part) -> tuple[int, int, int]:
    return len(part.facts.get("props", ())), part.uses, -len(part.path)


def _patterns(surveyed: Mapping[str, FileSurvey]) -> Iterator[Part]:
    for name, marks in PATTERNS.items():
        where = [
            (len(each.values.get("flags", ())), path)
            for path, each in surveyed.items()
            if set(marks) <= set(each.values.get("flags", ())) and each.values.get("uses") and not _TEST.search(path)
        ]
        if len(where) >= LEAST_USES:
            where.sort()
            path = where[0][1]
            used = [*surveyed[path].values["uses"]][:6]
            facts = {"doc": f"composed of {', '.join(used)}"}
            first = next(iter(surveyed[path].values["uses"].values()))
            yield Part(name, "pattern", path, first[1], facts, len(where), f"{first[2]}  // {path}:{first[1]}")


def _registered(changes: int, parts: list[Part]) -> _Registry:
    by_word: dict[str, list[int]] = defaultdict(list)
    texts = [part.texts for part in parts]
    words = [
        (key_words(part.family), key_words(" ".join((part.words, *said))))
        for part, said in zip(parts, texts, strict=True)
    ]
    for place, (_, text) in enumerate(words):
        for word in text:
            by_word[word].append(place)
    total = max(1, len(parts))
    weights = {word: math.log(1 + total / len(places)) for word, places in by_word.items()}

    def rank(place: int) -> tuple[bool, bool, int, int]:
        return parts[place].kind == "utility", parts[place].is_example, -parts[place].uses, place

    order = sorted(range(len(parts)), key=rank)
    return _Registry(changes, parts, words, texts, dict(by_word), weights, order[:MOST_COMMON])


def _listed(best: list[tuple[float, Part]]) -> list[ComponentShown]:
    """The first with all that is known of it, the others by name: ask for one of them by its name."""
    shown = [_shown(part, score) for score, part in best]
    brief = ("name", "type", "path", "uses", "similarity", "description")
    others = [cast(ComponentShown, {name: each[name] for name in brief if name in each}) for each in shown[1:]]  # type: ignore[literal-required]
    return [*shown[:1], *others]


def _cut(answer: ComponentsFound) -> ComponentsFound:
    """Without the props, variants and other matches that make it long, the last first; `path` has them all."""
    first, *others = answer["matches"]
    if not is_short(answer):
        first.pop("also_in", None)
    lists: list[list[Any]] = [first.get("props", []), *first.get("variants", {}).values()]
    while not is_short(answer) and len(longest := max(lists, key=len)) > LEAST_PROPS:
        longest.pop()
    while others and not is_short(answer):
        others.pop()
        answer["matches"] = [first, *others]
    return answer


def _prop(prop: Prop, variants: Mapping[str, Any]) -> Prop:
    """Values of a variant are listed once."""
    return {**prop, "type": "see variants"} if prop["name"] in variants else prop


def _shown(part: Part, score: float) -> ComponentShown:
    facts = part.facts
    shown: ComponentShown = {
        "name": part.name,
        "type": part.kind,
        "path": f"{part.path}:{part.line}",
        "uses": part.uses,
        "similarity": round(score, 3),
    }
    if facts.get("doc"):
        shown["description"] = facts["doc"]
    if facts.get("props"):
        shown["props"] = [_prop(each, facts.get("variants") or {}) for each in facts["props"][:10]]
    if facts.get("variants"):
        shown["variants"] = {name: [*values] for name, values in facts["variants"].items()}
    if facts.get("signature"):
        shown["signature"] = facts["signature"]
    if part.example:
        shown["usage_example"] = part.example
    if part.also:
        shown["also_in"] = part.also[:3]
    return shown


_USED = """
SELECT f.path, n.local, count(DISTINCT s.file) AS used FROM nodes n JOIN files f ON f.number = n.file
JOIN edges e ON e.target = n.number JOIN nodes s ON s.number = e.source
WHERE n.type = 2 AND s.file <> n.file AND f.reason = '' GROUP BY n.number HAVING count(DISTINCT s.file) >= 2
"""
_CALLERS = """
SELECT c.path, min(s.line) AS line FROM nodes n JOIN files f ON f.number = n.file JOIN edges e ON e.target = n.number
JOIN nodes s ON s.number = e.source JOIN files c ON c.number = s.file
WHERE f.path = ? AND n.local = ? AND s.file <> n.file AND c.reason = '' GROUP BY c.path ORDER BY c.path LIMIT 20
"""
