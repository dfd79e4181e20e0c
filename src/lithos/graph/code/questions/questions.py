"""Questions about symbols: one symbol, what it needs, what needs it, what is like it, what a file holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from lithos.core.call import Call
from lithos.errors import Forbidden, InvalidInput, NotFound
from lithos.graph.code.code import Code, OpenRoot
from lithos.graph.code.questions.lookup import Symbol, find, is_test, no_file, no_root, nodes, rendered, within
from lithos.graph.code.questions.walk import DEEPEST, Step, walk
from lithos.graph.code.roots.rule import is_secret
from lithos.graph.code.schema import number
from lithos.graph.code.store import HOW_NAMES
from lithos.graph.code.values import BACKWARDS, NODE_NAMES, EdgeType, NodeType
from lithos.search import Where
from lithos.storage import Tx

PAGE = 200
_DEPENDENCIES = (
    *(EdgeType.CALLS, EdgeType.IMPORTS, EdgeType.IMPLEMENTS, EdgeType.EMBEDS, EdgeType.RETURNS, EdgeType.RECEIVES),
    *(EdgeType.EXTENDS, EdgeType.REFERENCES),
)
EDGE_TYPES: dict[str, tuple[EdgeType, ...]] = {
    "imports": (EdgeType.IMPORTS,),
    "calls": (EdgeType.CALLS,),
    "references": (EdgeType.REFERENCES, EdgeType.RETURNS, EdgeType.RECEIVES),
    "extends": (EdgeType.EXTENDS, EdgeType.EMBEDS),
    "implements": (EdgeType.IMPLEMENTS,),
    "all": _DEPENDENCIES,
}
# The specification names the kinds of symbols in two ways.
SYMBOL_TYPES: dict[str, tuple[NodeType, ...]] = {
    "function": (NodeType.FUNCTION, NodeType.METHOD),
    "method": (NodeType.METHOD,),
    "class": (NodeType.CLASS,),
    "struct": (NodeType.CLASS,),
    "interface": (NodeType.INTERFACE,),
    "variable": (NodeType.VARIABLE,),
    "var": (NodeType.VARIABLE,),
    "constant": (NodeType.CONSTANT,),
    "const": (NodeType.CONSTANT,),
    "type": (NodeType.CLASS, NodeType.INTERFACE, NodeType.TYPE_ALIAS, NodeType.ENUM),
    "any": (),
    "all": (),
}


def degraded(roots: Sequence[OpenRoot]) -> dict[str, Any]:
    """`degraded`, with its reason where answers may be incomplete."""
    reasons = [reason for root in roots if (reason := root.behind())]
    return {"degraded": True, "degraded_reason": "; ".join(reasons)} if reasons else {"degraded": False}


def symbol(code: Code, call: Call, symbol_id: str, include_source: bool) -> dict[str, Any]:
    roots = code.visible(call)
    found = find(roots, symbol_id)
    if include_source:
        found, source = with_source(roots, found)
    answer = rendered(found.root.spec.name, found.row)
    if found.row["doc"]:
        answer["doc"] = found.row["doc"]
    members = found.root.store.read(lambda tx: _members(tx, found))
    if members:
        answer["members"] = members
    if include_source:
        answer["source"] = source
    return {**answer, **degraded([found.root])}


def _members(tx: Tx, found: Symbol) -> list[str]:
    kinds = f"{int(EdgeType.HAS_FIELD)}, {int(EdgeType.HAS_METHOD)}, {int(EdgeType.DEFINES)}"
    sql = (
        "SELECT n.name FROM edges e JOIN nodes n ON n.number = e.target "
        f"WHERE e.source = ? AND e.type IN ({kinds}) ORDER BY n.file, n.place LIMIT 100"
    )
    return [row["name"] for row in tx.all(sql, found.number)] if found.row["type"] != NodeType.FILE else []


def with_source(roots: Sequence[OpenRoot], found: Symbol) -> tuple[Symbol, str]:
    """The text of a symbol, of the same version as its lines: a file that changed since is looked at first."""
    if found.row["type"] == NodeType.PACKAGE and not found.row["path"]:
        raise InvalidInput(f"{found.id} is a package", hint="lithos_get_structure shows what is in it.")
    for _ in range(3):
        data, version, _ = found.root.index.tree.read(found.path)
        if version == found.row["version"]:
            part = data[found.row["start_byte"] : found.row["end_byte"]]
            return found, part.decode("utf-8", "replace")
        found.root.index.refresh(found.path)
        found = find(roots, found.id)
    raise found.root.not_settled(found.path)


def dependencies(
    code: Code,
    call: Call,
    *,
    symbol_id: str | None,
    path: str | None,
    edge_type: str,
    depth: int,
    uncertain: bool,
    backwards: bool,
) -> dict[str, Any]:
    """Everything within `depth` edges, nearest first."""
    roots = code.visible(call)
    if bool(symbol_id) == bool(path):
        raise InvalidInput("name a symbol_id or a path", hint="One of both; path takes a file or a folder of a root.")
    start, root, shown = _start(roots, symbol_id, path)
    depth = min(depth, DEEPEST)

    def work(tx: Tx) -> dict[str, Any]:
        steps, truncated = walk(tx, start, EDGE_TYPES[edge_type], backwards=backwards, depth=depth, uncertain=uncertain)
        known = nodes(tx, [step.node for step in steps])
        vias = nodes(tx, list({step.via for step in steps if step.depth > 1}))
        name = root.spec.name
        rows = [_step(name, step, known, vias, backwards) for step in steps if step.node in known]
        answer = {"of": shown, "results": rows, "count": len(rows), "truncated": truncated}
        if not rows and not uncertain:
            guesses, _ = walk(tx, start, EDGE_TYPES[edge_type], backwards=backwards, depth=1, uncertain=True)
            if guesses:
                answer["hint"] = f"{len(guesses)} by unique name alone: include_uncertain=true shows them."
        return answer

    return {**root.store.read(work), **degraded([root])}


def _start(roots: Sequence[OpenRoot], symbol_id: str | None, path: str | None) -> tuple[list[int], OpenRoot, str]:
    """Where a walk begins: a symbol, or a file with all that it defines, or all files of a folder."""
    found = (
        find(roots, symbol_id or (path or "").rstrip("/") or "/") if symbol_id else _file_or_folder(roots, path or "")
    )
    if isinstance(found, Symbol) and found.row["type"] not in (NodeType.FILE, NodeType.PACKAGE):
        return [found.number], found.root, found.id
    root = found.root
    inside = found.path.rstrip("/")
    sql = (
        "SELECT n.number FROM nodes n JOIN files f ON f.number = n.file WHERE n.type <> 8 "
        "AND (f.path = ? OR (f.path > ? || '/' AND f.path < ? || '0')) LIMIT 5000"
    )
    numbers = root.store.read(lambda tx: [row["number"] for row in tx.all(sql, inside, inside, inside)])
    return [*dict.fromkeys([found.number, *numbers])], root, found.id


def _file_or_folder(roots: Sequence[OpenRoot], path: str) -> Symbol:
    plain = within(roots, path).rstrip("/")
    for root in roots:
        inside = plain.removeprefix(f"{root.spec.name}:")
        numbers = [number(inside), number(f"{inside}/")]
        rows = root.store.read(partial(nodes, numbers=numbers))
        for each in numbers:
            if each in rows:
                return Symbol(root, rows[each])
    if is_secret(plain):
        raise Forbidden(f"{plain[:200]!r} looks like a credential file", hint="Such files are never served.")
    try:
        found = find(roots, plain, offers=False)
    except NotFound:
        raise (no_file(roots, plain) if roots else no_root()) from None
    if found.row["type"] not in (NodeType.FILE, NodeType.PACKAGE):
        raise no_file(roots, plain)
    return found


def _step(root: str, step: Step, known: dict[int, Any], vias: dict[int, Any], backwards: bool) -> dict[str, Any]:
    kind = EdgeType(step.type)
    word = BACKWARDS[kind] if backwards else kind.name.lower()
    entry = rendered(root, known[step.node])
    entry.pop("signature", None)
    entry |= {"edge": word, "depth": step.depth, "confidence": step.confidence, "how": HOW_NAMES[step.how]}
    if step.line:
        entry["line"] = step.line  # of the use
    if step.via in vias:
        entry["via"] = rendered(root, vias[step.via])["id"]
    return entry


def file_symbols(
    code: Code, call: Call, file_path: str, symbol_type: str, limit: int, cursor: str | None
) -> dict[str, Any]:
    """All symbols of a file in their order, in pages."""
    roots = code.visible(call)
    found = _file_or_folder(roots, file_path)
    if found.row["type"] != NodeType.FILE:
        raise InvalidInput(f"{file_path!r} is not a file", hint="lithos_list_files shows the files of a folder.")
    if cursor is not None and not (cursor.isascii() and cursor.isdigit()):
        raise InvalidInput(f"cursor {cursor[:40]!r} is not one that we returned", hint="Pass `cursor` unchanged.")
    after = int(cursor[:18]) if cursor else -1
    kinds = SYMBOL_TYPES[symbol_type]
    chosen = f"AND type IN ({', '.join(str(int(kind)) for kind in kinds)})" if kinds else "AND type <> 8"
    sql = f"SELECT * FROM nodes WHERE file = ? AND place > ? {chosen} AND place >= 0 ORDER BY place LIMIT ?"
    limit = min(limit, 1_000)

    def work(tx: Tx) -> dict[str, Any]:
        file = tx.one("SELECT * FROM files WHERE number = ?", found.number)
        if file is None:
            raise NotFound(f"there is no file {file_path!r} any more")
        rows = tx.all(sql, found.number, after, limit + 1)
        entry = [
            {
                **rendered(
                    found.root.spec.name, {**row, **{key: file[key] for key in ("path", "version", "language")}}
                ),
                "qualified": row["local"],
            }
            for row in rows[:limit]
        ]
        for each in entry:
            for key in ("path", "root", "version", "language"):
                each.pop(key, None)
        answer = {
            "path": file["path"],
            "root": found.root.spec.name,
            "version": file["version"],
            "lines": file["lines"],
            "parse_errors": file["parse_errors"],
            "symbols": entry,
        }
        if file["parsed"] == 2:
            answer["unparsed"] = True
        if len(rows) > limit:
            answer["cursor"] = str(rows[limit - 1]["place"])
        return answer

    return {**found.root.store.read(work), **degraded([found.root])}


def similar(code: Code, call: Call, symbol_id: str, limit: int, same_type_only: bool) -> dict[str, Any]:
    """Symbols whose cards mean nearly the same, of all roots that the caller sees."""
    roots = code.visible(call)
    found = find(roots, symbol_id)
    any_of = among(code, roots)
    if same_type_only:
        any_of["type"] = (NODE_NAMES[NodeType(found.row["type"])],)
    near = code.collection.neighbours(found.id, limit=limit, least=0.3, where=Where(any_of=any_of))
    entries = entries_by_id(roots, [each.id for each in near])
    results = [{**entries[each.id], "similarity": round(each.similarity, 4)} for each in near if each.id in entries]
    answer: dict[str, Any] = {"of": found.id, "results": results, **degraded(roots)}
    if not results and not answer["degraded"]:
        answer["hint"] = "Its meaning may not be indexed yet; lithos_search_code finds by words."
    return answer


def among(code: Code, roots: Sequence[OpenRoot]) -> dict[str, tuple[str, ...]]:
    """The filter of search for these roots. Where they are all that there are it is empty: a filter costs each
    question, and the first one reads the filter fields of every symbol."""
    return {} if len(roots) == len(code.roots()) else {"root": tuple(root.spec.name for root in roots)}


def entry_by_id(roots: Sequence[OpenRoot], id: str) -> dict[str, Any] | None:
    """A symbol that search found, as the graph has it now; None: it is gone."""
    return entries_by_id(roots, [id]).get(id)


def entries_by_id(roots: Sequence[OpenRoot], ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """As `entry_by_id`, of many at once; what is gone, or in no root of these, is left out."""
    wanted: dict[str, dict[int, str]] = {}
    for id in ids:
        name, _, rest = id.partition(":")
        wanted.setdefault(name, {})[number(rest)] = id
    return {
        numbers[place]: rendered(root.spec.name, row)
        for root in roots
        if (numbers := wanted.get(root.spec.name))
        for place, row in root.store.read(partial(nodes, numbers=list(numbers))).items()
    }


def context(code: Code, call: Call, symbol_id: str) -> dict[str, Any]:
    """A symbol with its card, who calls it, what it calls, its tests and its comment."""
    roots = code.visible(call)
    found = find(roots, symbol_id)
    try:
        found, source = with_source(roots, found) if found.row["type"] not in (NodeType.PACKAGE,) else (found, "")
    except (Forbidden, NotFound):
        source = ""
    root = found.root
    uses = (EdgeType.CALLS, EdgeType.REFERENCES, EdgeType.EXTENDS, EdgeType.IMPLEMENTS)
    start = [found.number]

    def work(tx: Tx) -> dict[str, Any]:
        by, _ = walk(tx, start, uses, backwards=True, depth=1, uncertain=False, most=200)
        into, _ = walk(tx, start, uses, backwards=False, depth=1, uncertain=False, most=60)
        further, _ = walk(tx, start, (EdgeType.CALLS,), backwards=True, depth=2, uncertain=True, most=400)
        known = nodes(tx, [step.node for step in (*by, *into, *further)])
        name = root.spec.name
        callers = [_step(name, step, known, {}, True) for step in by if step.node in known]
        callees = [_step(name, step, known, {}, False) for step in into if step.node in known]
        tests = [
            _step(name, step, known, {}, True)
            for step in (*by, *further)
            if step.node in known and is_test(known[step.node]["path"] or "")
        ]
        return {
            "callers": [each for each in callers if not is_test(each["path"])][:20],
            "callees": callees[:20],
            "tests": list({each["id"]: each for each in tests}.values())[:10],
        }

    passages = code.collection.passages(found.id)
    answer = rendered(root.spec.name, found.row)
    answer |= {"doc": found.row["doc"], "card": passages[0].text if passages else "", "source": source[:6_000]}
    if len(source) > 6_000:
        answer["source_truncated"] = True
    return {**answer, **root.store.read(work), **degraded([root])}
