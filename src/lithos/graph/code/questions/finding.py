"""Finding symbols by words and meaning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lithos.core.call import Call
from lithos.errors import InvalidInput
from lithos.graph.code.code import Code, OpenRoot
from lithos.graph.code.questions.lookup import rendered
from lithos.graph.code.questions.questions import SYMBOL_TYPES, among, degraded, entries_by_id
from lithos.graph.code.roots import globs
from lithos.graph.code.values import NODE_NAMES
from lithos.search import Query, SearchResult, Where
from lithos.storage import Tx

LONGEST_QUERY = 2_000
_NAME = re.compile(r"[^\W\d][\w$]*(?:[.:]+[^\W\d][\w$]*)*\Z")


def search(
    code: Code, call: Call, query: str, limit: int, symbol_type: str, file_pattern: str | None, root: str | None
) -> dict[str, Any]:
    """Symbols, best first; `status: "no_matches"` where nothing is likely to answer."""
    text = query.strip()
    if not text or len(text) > LONGEST_QUERY:
        raise InvalidInput(f"a query has 1 to {LONGEST_QUERY} characters", hint="Describe the code, or give a name.")
    roots = code.visible(call, root)
    where = scope(code, roots, symbol_type, file_pattern)
    named = _named(roots, text, symbol_type, file_pattern)
    found = _asked(code, Query(text, by="both", limit=limit, where=where)) if roots and where else None
    results = _results(roots, named, found, limit)
    answer: dict[str, Any] = degraded(roots)
    if found is not None and found.degraded:
        answer = {
            "degraded": True,
            "degraded_reason": "; ".join(filter(None, [answer.get("degraded_reason"), found.degraded])),
        }
    if not results or not (named or (found is not None and found.relevant)):
        return {"status": "no_matches", "results": [], "hint": _hint(roots, file_pattern), **answer}
    return {"status": "ok", "results": results, **answer}


def ranked(code: Code, call: Call, query: str, limit: int) -> list[tuple[dict[str, Any], float]]:
    """Symbols with how similar they are, 0 to 1: named 1, by meaning the cosine, by words the share that is found."""
    roots = code.visible(call)
    where = scope(code, roots, "any", None)
    text = query.strip()[:LONGEST_QUERY]
    if not roots or where is None:
        return []
    found = [(entry, 1.0) for entry in _named(roots, text, "any", None)]
    result = _asked(code, Query(text, by="both", limit=limit, where=where))
    known = {entry["id"] for entry, _ in found}
    words = set(re.findall(r"[a-z0-9]{3,}", text.lower()))
    hits = [hit for hit in result.hits if result.relevant and hit.id not in known]
    entries = entries_by_id(roots, [hit.id for hit in hits])
    for hit in hits:
        entry = entries.get(hit.id)
        if entry is not None:
            shared = len(words & set(re.findall(r"[a-z0-9]{3,}", hit.passage.lower()))) / max(1, len(words))
            found.append((entry, max(hit.similarity or 0.0, shared)))
    return found[:limit]


def _asked(code: Code, query: Query) -> SearchResult:
    """By words and meaning; where that says "not relevant", by words alone: bodies have no vector to agree."""
    found = code.projector.query(query)
    if found.relevant:
        return found
    by_words = code.projector.query(replace(query, by="words"))
    return by_words if by_words.relevant else found


def scope(code: Code, roots: Sequence[OpenRoot], symbol_type: str, file_pattern: str | None) -> Where | None:
    """The filter inside the engines; None: no file matches the pattern."""
    any_of = among(code, roots)
    kinds = SYMBOL_TYPES[symbol_type]
    if kinds:
        any_of["type"] = tuple(NODE_NAMES[kind] for kind in kinds)
    if file_pattern:
        matcher = globs.compiled(file_pattern)
        sql = "SELECT path FROM files WHERE reason = ''"
        paths = {row["path"] for root in roots for row in root.store.read(lambda tx: tx.all(sql))}
        any_of["file"] = tuple(sorted(path for path in paths if matcher.fullmatch(path)))
        if not any_of["file"]:
            return None
    return Where(any_of=any_of)


def _named(roots: Sequence[OpenRoot], text: str, symbol_type: str, file_pattern: str | None) -> list[dict[str, Any]]:
    """Symbols that bear exactly this name: what asks for a name gets it first."""
    if not _NAME.match(text):
        return []
    last = re.split(r"[.:]+", text)[-1]
    kinds = SYMBOL_TYPES[symbol_type]
    chosen = (
        f"AND n.type IN ({', '.join(str(int(kind)) for kind in kinds)})" if kinds else "AND n.type NOT IN (0, 1, 8)"
    )
    sql = (
        "SELECT n.*, f.path, f.version, f.language FROM nodes n JOIN files f ON f.number = n.file "
        f"WHERE n.name = ? {chosen} ORDER BY n.type, f.path LIMIT 200"
    )
    matcher = globs.compiled(file_pattern) if file_pattern else None

    def work(tx: Tx) -> list[Any]:
        return tx.all(sql, last)

    suffix = text.replace("::", ".")
    found = []
    for root in roots:
        for row in root.store.read(work):
            qualified = f"{row['path'].rsplit('.', 1)[0].replace('/', '.')}.{row['local']}"
            if (matcher is None or matcher.fullmatch(row["path"])) and f".{qualified}".endswith(f".{suffix}"):
                found.append({**rendered(root.spec.name, row), "score": 1.0})
    return found[:5]


def _results(
    roots: Sequence[OpenRoot], named: list[dict[str, Any]], found: SearchResult | None, limit: int
) -> list[dict[str, Any]]:
    results = {each["id"]: each for each in named}
    hits = found.hits if found is not None and found.relevant else ()
    entries = entries_by_id(roots, [hit.id for hit in hits])
    for hit in hits:
        if hit.id in entries and hit.id not in results:
            results[hit.id] = {**entries[hit.id], "score": round(hit.score, 4)}
    return list(results.values())[:limit]


def _hint(roots: Sequence[OpenRoot], file_pattern: str | None) -> str:
    if not roots:
        return "There is no code root; the operator adds one with lithos code add PATH."
    if file_pattern:
        return "No code matches this query in these files. Try another file_pattern, or none."
    return "No code matches this query. Try other words, or ask lithos_recall for notes."
