"""Search over code by held-out comments: words, meaning and both, on three languages.

LITHOS_BENCH_REPOS names a folder with the checkouts. Of each repository 1,500 functions with a comment are indexed
without their comments; the first sentences of 250 of them are the questions, without the function's own name.
LITHOS_BENCH_FUNCTIONS sets another number of functions.
"""

from __future__ import annotations

import ast
import os
import random
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.report import line
from lithos.graph import code as graph
from lithos.graph.code.cards import documents
from lithos.graph.code.languages import language_of
from lithos.graph.code.parser import Parser, Source
from lithos.graph.code.values import Facts, NodeType
from lithos.search import Collection, Document, Embedding, Query, open_collection, open_embedder

REPOSITORIES = {"django": ("django", ".py"), "consul": ("", ".go"), "tokio": ("", ".rs")}
FUNCTIONS = int(os.environ.get("LITHOS_BENCH_FUNCTIONS", "1500"))
QUESTIONS = 250
LEAST_WORDS = 4
_SENTENCE = re.compile(r"(?<=[.!?])\s")


def main() -> None:
    folder = os.environ.get("LITHOS_BENCH_REPOS", "")
    embedding = Embedding(open_embedder("all-MiniLM-L6-v2"))
    try:
        for name, (beneath, suffix) in REPOSITORIES.items():
            where = Path(folder) / name
            if not folder or not where.is_dir():
                print(f"{name}: not available (LITHOS_BENCH_REPOS names no folder that has it)")
                continue
            _measure(name, where, beneath, suffix, embedding)
    finally:
        embedding.close()


def _measure(name: str, where: Path, beneath: str, suffix: str, embedding: Embedding) -> None:
    chosen = _functions(where, beneath, suffix)
    questions = [(document.id, asked) for document, asked in chosen][: 2 * QUESTIONS : 2]
    data = Path(tempfile.mkdtemp(prefix="lithos-bench-"))
    collection = open_collection(data, "code", embedding=embedding, keywords=graph.KEYWORDS, uncut=True, wait=600)
    try:
        collection.apply(document for document, _ in chosen)
        collection.settle(600)
        scores = {by: _mrr(collection, questions, by) for by in ("words", "meaning", "both")}
    finally:
        collection.close()
        shutil.rmtree(data)
    print(
        f"  {name}: {len(chosen)} functions, {len(questions)} questions; MRR@10 by words {scores['words']:.3f}, ",
        end="",
    )
    print(f"by meaning {scores['meaning']:.3f}")
    line(f"  {name}: hybrid", scores["both"], max(scores["words"], scores["meaning"]), "MRR", more_is_better=True)


def _mrr(collection: Collection, questions: list[tuple[str, str]], by: str) -> float:
    total = 0.0
    for id, asked in questions:
        hits = collection.query(Query(asked, by=by, limit=10)).hits  # type: ignore[arg-type]
        total += next((1 / rank for rank, hit in enumerate(hits, 1) if hit.id == id), 0.0)
    return total / len(questions)


def _functions(where: Path, beneath: str, suffix: str) -> list[tuple[Document, str]]:
    """Documents of functions without their comments, and the comment of each; the same ones at every run."""
    files = sorted(path for path in (where / beneath).rglob(f"*{suffix}") if ".git" not in path.parts)
    random.Random(19).shuffle(files)
    parser = Parser()
    found: list[tuple[Document, str]] = []
    try:
        for path in files:
            local = path.relative_to(where).as_posix()
            found += _of_file(parser, where.name, local, path.read_bytes())
            if len(found) >= FUNCTIONS:
                break
    finally:
        parser.close()
    random.Random(20).shuffle(found)
    return found[:FUNCTIONS]


def _of_file(parser: Parser, root: str, path: str, data: bytes) -> Iterator[tuple[Document, str]]:
    language = language_of(path)
    commented = _facts(parser, path, language, data)
    bare = _without_docstrings(data) if language == "python" else data
    facts = _facts(parser, path, language, bare)
    if commented is None or facts is None:
        return
    comments = {symbol.local: symbol.doc for symbol in commented.symbols}
    for symbol in facts.symbols:
        symbol.doc = ""
    made = {document.id.partition("#")[2]: document for document in documents(root, path, language, bare, facts)}
    for symbol in facts.symbols:
        asked = _question(comments.get(symbol.local, ""), symbol.name)
        if symbol.type in (NodeType.FUNCTION, NodeType.METHOD) and asked:
            yield made[symbol.local], asked


def _facts(parser: Parser, path: str, language: str, data: bytes) -> Facts | None:
    return next((facts for _, facts in parser.parse([Source(path, language, data)])), None)


def _question(comment: str, name: str) -> str:
    sentence = _SENTENCE.split(comment, 1)[0] if comment else ""
    plain = re.sub(rf"\b{re.escape(name)}\b", "", sentence).strip()
    return plain if len(plain.split()) >= LEAST_WORDS else ""


def _without_docstrings(data: bytes) -> bytes:
    """Blank lines in their place, so that every other byte keeps its line."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return b""
    lines = data.split(b"\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                indent = b" " * first.col_offset
                lines[first.lineno - 1 : first.end_lineno] = [
                    indent + b"pass",
                    *[b""] * ((first.end_lineno or 0) - first.lineno),
                ]
    return b"\n".join(lines)


if __name__ == "__main__":
    main()
