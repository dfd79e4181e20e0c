"""A query as typed: Tantivy's syntax where it is valid and meant, plain words everywhere else.

tantivy parses (`parse_query` of the module gives a tree); the tree becomes queries here, because the words of a literal
need our own analysis and because what cannot be meant (`error: refused` as a field, `<b>` as a range) must fall back to
the words it consists of.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lithos.core.clock import parse_time
from lithos.errors import InvalidInput
from lithos.search.text.analysis import (
    compounds,
    function_words,
    ideographs,
    is_unspaced,
    phrase_terms,
    query_terms,
    whole_words,
)
from lithos.search.text.snippets import edits
from lithos.search.text.text_index import TEXT_FIELDS, TextIndex, guarded, starting_with

if TYPE_CHECKING:
    import tantivy

LONGEST_SYNTAX = 2000  # characters; what is longer is a text and not a query
DEEPEST = 32  # tantivy's parser recurses, and has no bound
MOST_TERMS = 64
SHORTEST_MISSPELT = 3  # letters
_BRACKET = re.compile(r"[()\[\]{}]")
_FUZZY = re.compile(r"(\w{3,40})~([0-9]{0,3})")
_PREFIX = re.compile(r"(\w(?:[\w.@/-]{0,60}\w)?)\*")
_CAPITAL = re.compile(r"\\.|[A-Z]")
_FIELD_OR_NOT = re.compile(r":\s+(?!IN\b)")
_PATTERN = re.compile(r"(?:^|[\s(])/.*/")
_INSIDE_WORD = re.compile(r"\w['’]\w")
FIELDS = {"text": "text", "content": "text", "body": "text", "title": "title", "tag": "tag", "tags": "tag"}
FIELDS |= {"author": "author", "path": "path"}

Node = dict[str, Any]
Unindexed = Callable[[], Collection[str]]  # words of what waits to be indexed


@dataclass(frozen=True, slots=True)
class LooseMatch:
    """A part of a query that compares whole words letter by letter, and whether it matches one."""

    query: tantivy.Query
    matches: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Reading:
    terms: list[str]  # the words, for scores of passages, snippets and a plain search
    query: tantivy.Query | None = None  # None: plain, any of the words
    compounds: Sequence[Sequence[str]] = ()  # terms that count more where they stand together
    ideographs: Sequence[str] = ()  # single characters, which count less than their pairs among the terms
    literal: str = ""  # why it was not taken as syntax
    loose: tuple[LooseMatch, ...] = ()
    doubtful: bool = False  # may be plain language that only looks like syntax


class NotSyntax(Exception):
    """The tree is valid, but hardly what the caller meant; the message says why."""


def read(
    text: str, index: TextIndex, keywords: frozenset[str], *, plain: bool = False, unindexed: Unindexed = frozenset
) -> Reading:
    """`plain` never looks for operators: a question to an agent's memory is language."""
    words = _words_of(text) if len(text) <= LONGEST_SYNTAX else _split(text)
    plainly = replace(words, terms=_bounded(list(words.terms), index, unindexed))
    if plain:
        return plainly
    try:
        tree = _tree(text)
        if _is_plain(tree):
            return plainly
        if _is_sentence(text):
            raise NotSyntax("it reads like a sentence")
        builder = _Builder(index, keywords)
        query = builder.build(tree)
    except NotSyntax as reason:
        return replace(plainly, literal=str(reason))
    if query is None:
        return replace(plainly, literal="it has no words as a query")
    terms, loose = _shown_terms(tree) or plainly.terms, tuple(builder.loose)
    return replace(plainly, terms=terms, query=query, doubtful=_is_doubtful(text), loose=loose)


def _split(text: str) -> Reading:
    return Reading(query_terms(text), compounds=compounds(text), ideographs=ideographs(text))


_words_of = lru_cache(maxsize=16)(_split)  # a question to the memory is read by each of its collections


def _is_sentence(text: str) -> bool:
    """`why is it NOT drained` means no operator; brackets, quotes, signs and fields are meant."""
    return function_words(text) >= 2 and not re.search(r"""["'()\[\]{}:^~*/]|(?:^|\s)[-+]\S""", text)


def _is_doubtful(text: str) -> bool:
    """`status: failed` may be a field or a line of a log, `/usr/lib/` a pattern or a path."""
    return function_words(text) >= 2 or bool(_FIELD_OR_NOT.search(text) or _PATTERN.search(text))


def _bounded(terms: list[str], index: TextIndex, unindexed: Unindexed) -> list[str]:
    """A page of text as a question: the rarest of its words, among those that anything here has."""
    different = set(terms)
    if len(different) <= MOST_TERMS:
        return terms
    words = unindexed()
    found = ((index.frequency(term) + (term in words), term) for term in different)
    kept = {term for _, term in heapq.nsmallest(MOST_TERMS, (each for each in found if each[0]))}
    return [term for term in terms if term in kept] or terms[:MOST_TERMS]


def _tree(text: str) -> Node:
    import tantivy

    if len(text) > LONGEST_SYNTAX:
        raise NotSyntax(f"a query of more than {LONGEST_SYNTAX} characters is taken as plain text")
    if _depth(text) > DEEPEST:
        raise NotSyntax("its brackets are nested too deeply for a query")
    if _INSIDE_WORD.search(text):
        raise NotSyntax("an apostrophe inside a word is not query syntax")
    tree = guarded(lambda: tantivy.parse_query(text))
    if tree is None:
        raise NotSyntax("it is not valid query syntax")
    return tree


def _depth(text: str) -> int:
    deepest = depth = 0
    for bracket in _BRACKET.findall(text):
        depth += 1 if bracket in "([{" else -1
        deepest = max(deepest, depth)
    return max(deepest, len(re.findall(r"(?:\bNOT\s+|[-+]){8,}", text)) * DEEPEST * 2)


def _is_plain(tree: Node) -> bool:
    """Words beside each other, no operator anywhere."""
    if tree["type"] == "bool":
        return all(occur is None and each["type"] != "bool" and _is_plain(each) for occur, each in tree["clauses"])
    if tree["type"] != "literal" or tree["field_name"] or tree["delimiter"] != "none":
        return False
    return not (_FUZZY.fullmatch(tree["phrase"]) or _PREFIX.fullmatch(tree["phrase"]))


def _shown_terms(tree: Node) -> list[str]:
    """Words that a hit should have, for its passage and snippet: those of literals, without excluded ones."""
    return [term for phrase in _phrases(tree) for term in query_terms(phrase)]


def _phrases(tree: Node) -> Iterator[str]:
    if tree["type"] == "bool":
        for occur, each in tree["clauses"]:
            yield from () if occur == "must_not" else _phrases(each)
    elif tree["type"] == "boost":
        yield from _phrases(tree["underlying"])
    elif tree["type"] == "literal" and FIELDS.get(tree["field_name"] or "text") in ("text", "title"):
        fuzzy = _FUZZY.fullmatch(tree["phrase"])
        yield fuzzy[1] if fuzzy else tree["phrase"]


def _matching(pattern: str) -> Callable[[str], bool]:
    """For the snippet only: a pattern that this engine cannot read still matches, and is shown without a mark."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error:
        return lambda word: False
    return lambda word: compiled.fullmatch(word) is not None


def _all_of(queries: Iterable[tantivy.Query]) -> tantivy.Query | None:
    import tantivy

    clauses = [(tantivy.Occur.Must, query) for query in queries]
    return tantivy.Query.boolean_query(clauses) if clauses else None


class _Builder:
    def __init__(self, index: TextIndex, keywords: frozenset[str]) -> None:
        self._index = index
        self._keywords = keywords
        self.loose: list[LooseMatch] = []

    def build(self, tree: Node) -> tantivy.Query | None:
        """None where a part has nothing to search for, such as a lone sign."""
        builders: dict[str, Callable[[Node], tantivy.Query | None]] = {
            "bool": self._bool,
            "literal": self._literal,
            "boost": self._boost,
            "range": self._range,
            "set": self._set,
            "exists": self._exists,
            "regex": self._regex,
            "all": self._all,
        }
        build = builders.get(tree["type"])
        if build is None:
            raise NotSyntax(f"{tree['type']} is not supported in a query")
        return build(tree)

    def _bool(self, tree: Node) -> tantivy.Query | None:
        import tantivy

        occurs = {"must": tantivy.Occur.Must, "must_not": tantivy.Occur.MustNot}
        built = [(occurs.get(occur, tantivy.Occur.Should), self.build(each)) for occur, each in tree["clauses"]]
        clauses = [(occur, query) for occur, query in built if query is not None]
        if not clauses:
            return None
        if all(occur == tantivy.Occur.MustNot for occur, _ in clauses):
            clauses.append((tantivy.Occur.Must, tantivy.Query.all_query()))
        return tantivy.Query.boolean_query(clauses)

    def _boost(self, tree: Node) -> tantivy.Query | None:
        import tantivy

        query, factor = self.build(tree["underlying"]), float(tree["boost"])
        if not 0 <= factor <= 1e6:
            raise NotSyntax(f"{factor} is no weight for a word")
        return None if query is None else tantivy.Query.boost_query(query, factor)

    def _literal(self, tree: Node) -> tantivy.Query | None:
        name, phrase = tree["field_name"], tree["phrase"]
        field = self._field(name)
        if field == "keyword":
            return self._index.keyword(name, (phrase,))
        if field == "path":
            return starting_with(self._index.schema, "path", phrase.rstrip("*"))
        if field in ("tag", "author"):
            return self._index.exactly(field, phrase)
        if field.startswith("number_"):
            value = self._number(phrase)
            return self._index.between(name, value, value)
        return self._anywhere(field, lambda each: self._text(each, tree))

    def _anywhere(self, field: str, build: Callable[[str], tantivy.Query | None]) -> tantivy.Query | None:
        """A query on the text is one on titles and other names too."""
        import tantivy

        built = [build(each) for each in (TEXT_FIELDS if field == "text" else (field,))]
        found = [query for query in built if query is not None]
        if len(found) <= 1:
            return found[0] if found else None
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in found])

    def _text(self, field: str, tree: Node) -> tantivy.Query | None:
        phrase = tree["phrase"]
        if tree["delimiter"] == "none":
            return self._unquoted(field, phrase)
        terms = phrase_terms(phrase)
        if tree["prefix"] and len(terms) <= 1:
            return self._continued(field, phrase)
        return self._phrase(field, terms, int(tree["slop"]), open_end=tree["prefix"])

    def _phrase(self, field: str, terms: list[str], slop: int = 0, *, open_end: bool = False) -> tantivy.Query | None:
        import tantivy

        if len(terms) <= 1:
            return _all_of(self._index.exactly(field, term) for term in terms)
        words: list[str | tuple[int, str]] = [*terms]
        if open_end:
            return tantivy.Query.phrase_prefix_query(self._index.schema, field, words)
        return tantivy.Query.phrase_query(self._index.schema, field, words, slop=min(slop, 100))

    def _unquoted(self, field: str, phrase: str) -> tantivy.Query | None:
        """One word; `word~1` allows for typos, `word*` continues; `e-mail` is both of its parts."""
        if fuzzy := _FUZZY.fullmatch(phrase):
            distance = min(int(fuzzy[2] or 1), 2)
            return _all_of(self._misspelt(field, word, distance) for word in whole_words(fuzzy[1]))
        if prefix := _PREFIX.fullmatch(phrase):
            return self._continued(field, prefix[1])
        return _all_of(self._index.exactly(field, term) for term in dict.fromkeys(query_terms(phrase)))

    def _misspelt(self, field: str, word: str, distance: int) -> tantivy.Query:
        import tantivy

        if len(word) < SHORTEST_MISSPELT:
            return self._index.exactly(f"{field}_whole", word)
        query = tantivy.Query.fuzzy_term_query(self._index.schema, f"{field}_whole", word, distance=distance)
        return self._or_stem(field, word, self._loosely(query, lambda other: edits(word, other) <= distance))

    def _continued(self, field: str, beginning: str) -> tantivy.Query | None:
        if is_unspaced(beginning):  # its words have no ends that could be open
            return self._phrase(field, phrase_terms(beginning))
        *before, last = whole_words(beginning) or [""]
        if not last:
            return None
        query = starting_with(self._index.schema, f"{field}_whole", last)
        continued = self._or_stem(field, last, self._loosely(query, lambda word: word.startswith(last)))
        return _all_of([*(self._index.exactly(f"{field}_whole", word) for word in before), continued])

    def _or_stem(self, field: str, word: str, query: tantivy.Query) -> tantivy.Query:
        """`policy*` finds at least what `policy` finds."""
        import tantivy

        stems = [self._index.exactly(field, stem) for stem in query_terms(word)]
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, each) for each in (query, *stems)])

    def _field(self, name: str | None) -> str:
        if name is None:
            return "text"
        if name in FIELDS:
            return FIELDS[name]
        if name in self._index.numbers:
            return f"number_{name}"
        if name in self._keywords:
            return "keyword"
        raise NotSyntax(f"there is no field {name[:40]!r}")

    def _range(self, tree: Node) -> tantivy.Query:
        name = tree["field"]
        if name is None or name not in self._index.numbers:
            raise NotSyntax("a range needs a field with numbers or times")
        low, low_open = self._bound(tree["lower"])
        high, high_open = self._bound(tree["upper"])
        return self._index.between(name, low, high, include_low=not low_open, include_high=not high_open)

    def _bound(self, bound: Node) -> tuple[float | None, bool]:
        if bound["type"] == "unbounded" or bound["value"] == "*":
            return None, False
        return self._number(bound["value"]), bound["type"] == "exclusive"

    def _number(self, text: str) -> float:
        try:
            return float(text)
        except ValueError:
            pass
        try:
            return parse_time(text).timestamp()
        except InvalidInput:
            raise NotSyntax(f"{text[:40]!r} is neither a number nor a time") from None

    def _set(self, tree: Node) -> tantivy.Query:
        import tantivy

        field = self._field(tree["field"])
        if field == "keyword":
            return self._index.keyword(tree["field"], tree["elements"])
        if field not in ("tag", "author", "path"):
            raise NotSyntax("IN needs tags, author or path")
        return tantivy.Query.term_set_query(self._index.schema, field, tree["elements"])

    def _exists(self, tree: Node) -> tantivy.Query:
        import tantivy

        field = self._field(tree["field"])
        if field in ("text", "keyword"):
            return tantivy.Query.all_query()
        if field.startswith("number_"):
            return self._index.between(tree["field"], None, None)
        return tantivy.Query.regex_query(self._index.schema, field, "(?s:.)+")

    def _regex(self, tree: Node) -> tantivy.Query | None:
        return self._anywhere(self._field(tree["field"]), lambda field: self._pattern(field, tree["pattern"]))

    def _pattern(self, field: str, pattern: str) -> tantivy.Query:
        import tantivy

        if field in TEXT_FIELDS:
            field, pattern = f"{field}_whole", _CAPITAL.sub(lambda found: found[0].lower(), pattern)
        query = guarded(lambda: tantivy.Query.regex_query(self._index.schema, field, pattern))
        if query is None:
            raise NotSyntax("its pattern is not a regular expression, or too large a one")
        return self._loosely(query, _matching(pattern)) if field.endswith("_whole") else query

    def _loosely(self, query: tantivy.Query, matches: Callable[[str], bool]) -> tantivy.Query:
        self.loose.append(LooseMatch(query, matches))
        return query

    def _all(self, tree: Node) -> tantivy.Query:
        import tantivy

        return tantivy.Query.all_query()
