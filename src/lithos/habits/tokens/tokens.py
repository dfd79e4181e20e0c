"""The design tokens of a repository: by category and theme, by value, and raw values where a token exists."""

from __future__ import annotations

import re
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.errors import Forbidden, InvalidInput, NotFound, Unavailable
from lithos.graph.code import Code, OpenRoot
from lithos.habits.brevity import is_short
from lithos.habits.tokens.reading import (
    DEFAULT,
    RuleUse,
    Token,
    category_of,
    read_css,
    read_json_tokens,
    read_tailwind,
    read_theme,
    read_variables,
)
from lithos.habits.tokens.values import Colour, colour_distance, colour_of, length_of, same_colour

TokenCategory = Literal[
    "colors", "spacing", "typography", "shadows", "radii", "all", "color", "shadow", "border", "radius"
]
CATEGORIES = ("colors", "spacing", "typography", "shadows", "radii")
_ALIASES = {"color": "colors", "shadow": "shadows", "border": "radii", "radius": "radii"}
MOST_THEMES = 12
MOST_NAMED = 24  # with a name that narrows it
MOST_SHOWN = 12  # of one category: about 300 tokens
MOST_ALL = 2  # of a category, in an answer about all
MOST_PATTERNS, MOST_SOURCES = 2, 3
NEAR_COLOUR = 0.15  # a token further away is called far
DEEPEST = 16
_VAR = re.compile(r"var\(\s*--([\w-]+)\s*(?:,\s*([^()]*(?:\([^()]*\))?[^()]*))?\)")
_SCSS_VAR = re.compile(r"[$@]([\w-]+)")
_W3C_REF = re.compile(r"\{([\w.-]+)\}")
_WRAPPED = re.compile(
    r"(?:hsl|rgb|oklch|hsla|rgba)\(\s*(.+?)\s*(?:/\s*(?:<alpha-value>|[\d.%]+)\s*)?\)\Z", re.IGNORECASE
)
_SOURCE = re.compile(
    r"\.(css|scss|less|pcss)\Z|(^|/)tailwind\.config\.[cm]?[jt]s\Z|(^|/)[\w.-]*tokens?\.json\Z|\.tokens\.json\Z"
    r"|(^|/)(theme|tokens|palette|colors|design-tokens)\.[cm]?[jt]sx?\Z",
    re.IGNORECASE,
)


class TokenShown(TypedDict):
    name: str
    value: str
    category: str
    resolved: NotRequired[str]
    theme: NotRequired[str]
    where: NotRequired[str]
    distance: NotRequired[float]
    parts: NotRequired[dict[str, str]]


class DesignTokens(TypedDict):
    root: str
    tokens: dict[str, dict[str, str]]
    typography: NotRequired[dict[str, dict[str, str]]]
    themes: list[str]
    more_themes: NotRequired[int]
    counts: dict[str, int]
    component_patterns: NotRequired[list[dict[str, Any]]]
    sources: list[str]
    problems: NotRequired[list[str]]


class TokenFound(TypedDict):
    found: bool
    matches: NotRequired[list[TokenShown]]
    nearest: NotRequired[list[TokenShown]]
    suggestion: NotRequired[str]


@dataclass(slots=True)
class System:
    """All tokens of a root, resolved."""

    changes: int
    tokens: list[Token] = field(default_factory=list)
    rules: list[RuleUse] = field(default_factory=list)
    resolved: dict[tuple[str, str], str] = field(default_factory=dict)  # name, theme → final value
    problems: list[str] = field(default_factory=list)
    parsed: list[tuple[Token, str, Colour | None, float | None]] = field(default_factory=list)
    follow: Callable[[str, str, tuple[str, ...]], str] = field(default=lambda text, theme, seen: text)

    def value(self, token: Token) -> str:
        return self.resolved.get((token.name, token.theme), token.value)

    def value_in(self, token: Token, theme: str | None) -> str:
        """The final value while a theme is on: `--color-card: var(--card)` follows the theme's `--card`."""
        if theme is None or theme == token.theme:
            return self.value(token)
        return _unwrapped(self.follow(token.value, theme, _seen(token)))

    def parts(self, token: Token) -> dict[str, str]:
        return {name: self.follow(text, token.theme, (token.name,)) for name, text in (token.parts or {}).items()}

    def compared(self) -> list[tuple[Token, str, Colour | None, float | None]]:
        """Each token with its final value as a colour and as pixels, computed once; the same definition once."""
        if not self.parsed:
            once = {(each.name, each.theme, self.value(each)): each for each in reversed(self.tokens)}
            for (_, _, known), token in once.items():
                self.parsed.append((token, known, colour_of(known), length_of(known)))
        return self.parsed


class DesignSystems:
    def __init__(self, code: Code) -> None:
        self._code = code
        self._lock = threading.Lock()
        self._held: dict[str, System] = {}

    def get(
        self,
        call: Call,
        category: str = "all",
        theme: str | None = None,
        name: str | None = None,
        root: str | None = None,
    ) -> DesignTokens:
        """Values to use instead of raw ones."""
        place = self._code.one(call, root)
        system = self.system(place)
        wanted = _ALIASES.get(category, category)
        themes = sorted({token.theme for token in system.tokens}, key=lambda each: (each != DEFAULT, each))
        if theme is not None and theme not in themes:
            raise NotFound(f"there is no theme {theme[:40]!r}", hint=f"There are: {', '.join(themes) or 'none'}.")
        chosen = [each for each in system.tokens if theme is None or each.theme in (theme, DEFAULT)]
        chosen = [each for each in chosen if wanted in ("all", each.category) and each.category != "other"]
        if name is not None:
            word = name.strip().lstrip("-$@")
            chosen = [each for each in chosen if word in each.name]
        most = MOST_NAMED if name is not None else MOST_ALL if wanted == "all" else MOST_SHOWN
        answer: DesignTokens = {
            "root": place.spec.name,
            "tokens": {},
            "themes": themes[:MOST_THEMES],
            "counts": dict(Counter(each.category for each in chosen)),
            "sources": [path for path, _ in Counter(each.path for each in chosen).most_common(MOST_SOURCES)],
        }
        if len(themes) > MOST_THEMES:
            answer["more_themes"] = len(themes) - MOST_THEMES
        if wanted == "all" and name is None and system.rules:
            answer["component_patterns"] = _component_patterns(system)
        if system.problems:
            answer["problems"] = system.problems[:3]
        for count in range(most, 0, -1):
            answer["tokens"] = _by_category(system, chosen, theme, count)
            if composite := _composite(system, chosen, count):
                answer["typography"] = composite
            if name is not None or is_short(answer):
                break
        return answer

    def find(self, call: Call, value: str, root: str | None = None) -> TokenFound:
        """The token of a raw value; the nearest, with its distance, when none is equal."""
        wanted = value.strip()
        if not wanted:
            raise InvalidInput("value is empty", hint='For example "#3B82F6" or "16px".')
        system = self.system(self._code.one(call, root))
        equal, near = matching(system, wanted)
        if equal:
            return {"found": True, "matches": [_shown(system, each) for each in equal[:5]]}
        if near:
            shown: list[TokenShown] = [{**_shown(system, each), "distance": round(far, 4)} for far, each in near[:3]]
            limit = NEAR_COLOUR if colour_of(wanted) is not None else max(4.0, abs(length_of(wanted) or 0) / 4)
            far = " It is far: add a token, or use another value." if near[0][0] >= limit else ""
            said = f"No token is equal; {shown[0]['name']} is nearest.{far}"
            return {"found": False, "nearest": shown, "suggestion": said}
        return {"found": False, "suggestion": "No token has this value. Add one, or use another value."}

    # -- steps

    def system(self, root: OpenRoot) -> System:
        with self._lock:
            held = self._held.get(root.spec.name)
            if held is not None and held.changes == root.store.changes:
                return held
            made = self._held[root.spec.name] = self._read(root)
            return made

    def _read(self, root: OpenRoot) -> System:
        system = System(root.store.changes)
        rows = root.store.read(lambda tx: tx.all("SELECT path FROM files WHERE reason = '' ORDER BY path"))
        for path in (row["path"] for row in rows if _SOURCE.search(row["path"])):
            try:
                data = root.index.tree.read(path)[0]
            except (NotFound, Forbidden, InvalidInput, Unavailable):
                continue
            self._read_file(system, path, data)
        _resolve(system)
        return system

    def _read_file(self, system: System, path: str, data: bytes) -> None:
        if path.endswith((".css", ".pcss")):
            tokens, rules = read_css(path, data)
            system.tokens += tokens
            system.rules += rules
        elif path.endswith((".scss", ".less")):
            system.tokens += read_variables(path, data)
            tokens, rules = read_css(path, data)
            system.tokens += tokens
        elif path.endswith(".json"):
            system.tokens += read_json_tokens(path, data)
        else:
            grammar = "tsx" if path.endswith("x") else "typescript" if path.endswith("ts") else "javascript"
            facts = self._code.facts(path, f"literals:{grammar}", data)
            values = facts.extra if facts is not None else {}
            exported, names = values.get("exports"), dict(values.get("names") or {})
            if "tailwind" in path:
                system.tokens += read_tailwind(path, exported, names)
            else:
                system.tokens += read_theme(
                    path, names | ({"theme": [exported, 1]} if isinstance(exported, dict) else {})
                )


def _resolve(system: System) -> None:
    """Follow var(), $name, @name and {a.b}; a circle is named and left as it is."""
    by_name: dict[str, dict[str, str]] = defaultdict(dict)
    for token in system.tokens:
        if not _renames_itself(token):
            by_name[token.name].setdefault(token.theme, token.value)

    def value_of(name: str, theme: str) -> str | None:
        themed = by_name.get(name)
        return None if themed is None else themed.get(theme, themed.get(DEFAULT, next(iter(themed.values()))))

    def follow(text: str, theme: str, seen: tuple[str, ...]) -> str:
        def inner(found: re.Match[str]) -> str:
            name = found[1]
            if name in seen:
                circle = seen[seen.index(name) :]
                first = circle.index(min(circle))  # one circle is one problem, from wherever it is entered
                problem = f"circular: {' → '.join((*circle[first:], *circle[:first], circle[first]))}"
                if problem not in system.problems:
                    system.problems.append(problem)
                return found[0]
            known = value_of(name, theme)
            if known is None or len(seen) > DEEPEST:
                return found[2].strip() if found.re is _VAR and found[2] else found[0]
            return follow(known, theme, (*seen, name))

        for pattern in (_VAR, _W3C_REF, _SCSS_VAR):
            if pattern is not _SCSS_VAR or "$" in text or text.startswith("@"):
                text = pattern.sub(inner, text)
        return text

    system.follow = follow
    for token in system.tokens:
        key = (token.name, token.theme)
        if key not in system.resolved:
            system.resolved[key] = _unwrapped(follow(token.value, token.theme, _seen(token)))
    # An alias has the category of what it names: `--cta: var(--primary)` is a colour.
    system.tokens = [
        replace(each, category=category_of(each.name, system.value(each))) if each.category == "other" else each
        for each in system.tokens
    ]


def _renames_itself(token: Token) -> bool:
    """`@theme inline { --font-sans: var(--font-sans) }` passes on a property that a script sets: no circle."""
    found = _VAR.fullmatch(token.value) if token.kind == "@theme" else None
    return found is not None and found[1] == token.name


def _seen(token: Token) -> tuple[str, ...]:
    return () if _renames_itself(token) else (token.name,)


def _unwrapped(value: str) -> str:
    """`hsl(222 84% 5%)` of a triple is the triple's colour; a colour in a colour function is itself."""
    found = _WRAPPED.match(value)
    if found is not None and colour_of(value) is None and colour_of(found[1]) is not None:
        return found[1]
    return value


def matching(system: System, value: str) -> tuple[list[Token], list[tuple[float, Token]]]:
    """Tokens equal to a value, and the nearest ones with their distance."""
    colour, length = colour_of(value), length_of(value)
    equal: list[Token] = []
    near: list[tuple[float, Token]] = []
    for token, known, own, size in system.compared():
        if colour is not None:
            far = None if own is None else 0.0 if same_colour(value, known) else colour_distance(colour, own)
            least = 0.0
        elif length is not None:
            far = None if size is None or token.category == "colors" else abs(size - length)
            least = 0.01
        else:
            far, least = (0.0 if _plain(known) == _plain(value) else None), 0.0
        if far is not None and far <= least:
            equal.append(token)
        elif far is not None:
            near.append((far, token))
    equal.sort(key=lambda token: _rank(system, token))
    near.sort(key=lambda pair: (pair[0], *_rank(system, pair[1])))
    return _once(equal), [pair for pair in near if pair[1].name not in {token.name for token in equal}]


def _rank(system: System, token: Token) -> tuple[bool, bool, int, str]:
    """The default theme first, a token before its aliases, short names first."""
    return token.theme != DEFAULT, system.value(token) != token.value, len(token.name), token.name


def _once(tokens: Iterable[Token]) -> list[Token]:
    return list({(token.name, token.theme): token for token in reversed([*tokens])}.values())[::-1]


def _plain(value: str) -> str:
    return re.sub(r"[\s'\"]+", "", value.lower())


def _shown(system: System, token: Token) -> TokenShown:
    resolved = system.value(token)
    shown: TokenShown = {"name": token.name, "value": token.value, "category": token.category}
    if resolved != token.value:
        shown["resolved"] = resolved
    if token.theme != DEFAULT:
        shown["theme"] = token.theme
    if token.parts:
        shown["parts"] = system.parts(token)
    return {**shown, "where": f"{token.path}:{token.line}"}


def _by_category(system: System, tokens: Sequence[Token], theme: str | None, most: int) -> dict[str, dict[str, str]]:
    """Name → value; a theme's own value before the default. Without a theme, other themes are marked by their name."""
    found: dict[str, dict[str, str]] = {}
    uses = Counter(name for rule in system.rules for name in rule.tokens)
    ordered = sorted(tokens, key=lambda each: (each.kind == "theme", -uses[each.name], each.theme != DEFAULT))
    for token in ordered:
        names = found.setdefault(token.category, {})
        name = token.name if token.theme == DEFAULT or theme is not None else f"{token.name} ({token.theme})"
        if len(names) < most and (name not in names or (theme is not None and token.theme == theme)):
            names[name] = system.value_in(token, theme)
    return found


def _composite(system: System, tokens: Sequence[Token], most: int) -> dict[str, dict[str, str]]:
    """Typography tokens of several parts: W3C and Tailwind objects, and CSS names such as --text-sm--line-height."""
    found: dict[str, dict[str, str]] = {}
    by_name = {token.name: token for token in tokens if token.category == "typography"}
    for name, token in by_name.items():
        if token.parts:
            found[name] = system.parts(token)
            continue
        base, _, part = name.partition("--")
        if part and base in by_name:
            entry = found.setdefault(base, {"font_size": system.value(by_name[base])})
            entry[part.replace("-", "_")] = system.value(token)
    return dict([*found.items()][:most])


def _component_patterns(system: System) -> list[dict[str, Any]]:
    """Rules that use the most tokens: how components of this system are built."""
    best = sorted(system.rules, key=lambda rule: (-len(rule.tokens), rule.path, rule.line))
    rows: Iterator[RuleUse] = iter({rule.selector: rule for rule in reversed(best)}.values())
    chosen = sorted(rows, key=lambda rule: (-len(rule.tokens), rule.selector))[:MOST_PATTERNS]
    shown: list[dict[str, Any]] = [
        {"name": rule.selector, "tokens": list(rule.tokens[:4]), "where": f"{rule.path}:{rule.line}"} for rule in chosen
    ]
    return [{**shown[0], "example": chosen[0].text[:50]}, *shown[1:]] if shown else []
