"""Builds judged collections from checkouts that lie on this machine, for `benchmarks.retrieval`. Nothing is committed.

    python -m benchmarks.retrieval_sets OUT code=CHECKOUT aliases=VAULT chinese=DOCS japanese=DOCS turns=DIALOGUES

- code: functions without their docstring; the docstring's first sentence asks for its function.
- aliases: notes of a real vault; an alias from the frontmatter that occurs nowhere else in the note asks for it.
- chinese, japanese: pages without their title and description; each of the two asks for its page.
- codequestions: questions of people to a search engine and the function that answers (CoSQA: a folder with
  `code_idx_map.txt` and `cosqa-retrieval-dev-500.json`). `python` is in every question and in few answers.
- technical: abstracts of aeronautics (Cranfield: a folder with `cran.all.1400`, `cran.qry`, `cranqrel`).
- turns: each line of a dialogue is a separate document; a question counts as answered by any turn of its session.
"""

from __future__ import annotations

import ast
import json
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import ryaml

SEED = 18
DOCUMENTS, QUERIES = 1500, 250
SENTENCE = re.compile(r"(?<=[.!?。])\s")
COMMENT = re.compile(r"<!--.*?-->", re.S)
TURN = re.compile(r"^- \*\*(.+?):\*\* (.+)$", re.M)

Row = dict[str, Any]


def main(arguments: Sequence[str]) -> int:
    if len(arguments) < 2:
        print(__doc__)
        return 2
    out = Path(arguments[0])
    for argument in arguments[1:]:
        kind, _, folder = argument.partition("=")
        documents, queries = SETS[kind](Path(folder))
        _write(out / kind / "docs.jsonl", documents)
        _write(out / kind / "queries.jsonl", queries)
        print(f"{kind}: {len(documents)} documents, {len(queries)} queries")
    return 0


def code(folder: Path) -> tuple[list[Row], list[Row]]:
    found = [
        row for path in sorted(folder.rglob("*.py")) if "tests" not in path.parts for row in _functions(path, folder)
    ]
    return _sampled(found)


def _functions(path: Path, folder: Path) -> Iterator[tuple[Row, str]]:
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (SyntaxError, UnicodeDecodeError):
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        doc = ast.get_docstring(node)
        question = SENTENCE.split(" ".join((doc or "").split()))[0]
        if len(node.body) < 2 or len(question.split()) < 5:
            continue
        lines = text.splitlines()
        first = node.body[0]
        body = [*lines[node.lineno - 1 : first.lineno - 1], *lines[first.end_lineno or 0 : node.end_lineno]]
        name = f"{path.relative_to(folder)}:{node.lineno}"
        yield {"id": name, "title": node.name, "text": "```python\n" + "\n".join(body) + "\n```"}, question


def aliases(folder: Path) -> tuple[list[Row], list[Row]]:
    found = []
    for path in sorted(folder.rglob("*.md")):
        front, body = _parts(path.read_text(encoding="utf-8", errors="replace"))
        names = [
            name for name in _strings(front.get("aliases")) if name.casefold() not in f"{path.stem}\n{body}".casefold()
        ]
        row = {
            "id": str(path.relative_to(folder)),
            "title": path.stem,
            "text": body,
            "aliases": _strings(front.get("aliases")),
        }
        found.append((row, names[0] if names else ""))
    return _sampled(found)


def pages(folder: Path) -> tuple[list[Row], list[Row]]:
    found = []
    for path in sorted(folder.rglob("*.md")):
        front, body = _parts(path.read_text(encoding="utf-8", errors="replace"))
        body = COMMENT.sub("", body).strip()
        title, description = str(front.get("title") or ""), str(front.get("description") or "")
        question = description or title
        if len(body) > 200 and not question.isascii():
            found.append(({"id": str(path.relative_to(folder)), "title": "", "text": body}, question))
    return _sampled(found)


def turns(folder: Path) -> tuple[list[Row], list[Row]]:
    documents = []
    sessions: dict[str, list[str]] = {}
    for session in _lines(folder / "docs.jsonl"):
        for number, (speaker, said) in enumerate(TURN.findall(session["text"])):
            name = f"{session['id']}-{number:03}"
            place = [session["id"], number]
            documents.append({"id": name, "title": "", "text": f"{speaker}: {said}", "sequence": place})
            sessions.setdefault(session["id"], []).append(name)
    queries = [
        {"id": row["id"], "query": row["query"], "rel": {turn: 1 for id in row["rel"] for turn in sessions.get(id, ())}}
        for row in _lines(folder / "queries.jsonl")
    ]
    return documents, queries


def code_questions(folder: Path) -> tuple[list[Row], list[Row]]:
    codes: dict[str, int] = json.loads((folder / "code_idx_map.txt").read_text(encoding="utf-8"))
    documents = []
    for code, number in codes.items():
        name = re.search(r"def\s+(\w+)", code)
        documents.append({"id": f"c{number}", "title": name[1] if name else "", "text": f"```python\n{code}\n```"})
    asked = json.loads((folder / "cosqa-retrieval-dev-500.json").read_text(encoding="utf-8"))
    queries = [{"id": row["idx"], "query": row["doc"], "rel": {f"c{row['retrieval_idx']}": 1}} for row in asked]
    return documents, queries


def technical(folder: Path) -> tuple[list[Row], list[Row]]:
    documents = [
        {"id": number, "title": parts.get("T", ""), "text": parts.get("W", "")}
        for number, parts in _cranfield(folder / "cran.all.1400")
    ]
    rel: dict[int, dict[str, int]] = {}
    for line in (folder / "cranqrel").read_text(encoding="utf-8").splitlines():
        query, document, grade = line.split()[:3]
        if int(grade) > 0:
            rel.setdefault(int(query), {})[document] = 1
    asked = enumerate((parts["W"] for _, parts in _cranfield(folder / "cran.qry")), 1)
    return documents, [{"id": f"q{at}", "query": text, "rel": rel[at]} for at, text in asked if at in rel]


def _cranfield(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    for entry in re.split(r"^\.I ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
        number, *parts = re.split(r"^\.([TABW])[ ]*$", entry, flags=re.M)
        yield number.strip(), {name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)}


SETS: dict[str, Callable[[Path], tuple[list[Row], list[Row]]]] = {
    "code": code,
    "aliases": aliases,
    "chinese": pages,
    "japanese": pages,
    "codequestions": code_questions,
    "technical": technical,
    "turns": turns,
}


def _sampled(found: list[tuple[Row, str]]) -> tuple[list[Row], list[Row]]:
    random.Random(SEED).shuffle(found)
    asked = [pair for pair in found if pair[1]][:QUERIES]
    others = [pair for pair in found if pair not in asked] if len(found) <= DOCUMENTS else found
    kept = {row["id"]: row for row, _ in asked}
    for row, _ in others:
        if len(kept) >= DOCUMENTS:
            break
        kept.setdefault(row["id"], row)
    queries = [{"id": f"q{number}", "query": text, "rel": {row["id"]: 1}} for number, (row, text) in enumerate(asked)]
    return list(kept.values()), queries


def _parts(text: str) -> tuple[dict[str, Any], str]:
    if not text.startswith("---\n") or "\n---" not in text[4:]:
        return {}, text
    front, _, body = text[4:].partition("\n---")
    try:
        fields = ryaml.loads(front)
    except ryaml.InvalidYamlError:
        return {}, body
    return (fields if isinstance(fields, dict) else {}), body


def _strings(value: object) -> list[str]:
    return (
        [value] if isinstance(value, str) else [str(each) for each in value if each] if isinstance(value, list) else []
    )


def _lines(path: Path) -> Iterator[Row]:
    with open(path, encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def _write(path: Path, rows: Iterable[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
