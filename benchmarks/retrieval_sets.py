"""Builds judged collections from checkouts that lie on this machine, for `benchmarks.retrieval`. Nothing is committed.

    python -m benchmarks.retrieval_sets OUT code=CHECKOUT aliases=VAULT chinese=DOCS thai:answers=FILE.json

A set has the name of its kind, unless one is given: `thai:answers` is the set `thai` of the kind `answers`.

- code: functions without their docstring; the docstring's first sentence asks for its function.
- aliases: notes of a real vault; an alias from the frontmatter that occurs nowhere else in the note asks for it.
- chinese, japanese: pages without their title and description; each of the two asks for its page.
- codequestions: questions of people to a search engine and the function that answers (CoSQA: a folder with
  `code_idx_map.txt` and `cosqa-retrieval-dev-500.json`). `python` is in every question and in few answers.
- go, typescript: functions without their comment; its first sentence asks for its function.
- answers: paragraphs of an encyclopedia and questions that one of them answers (a file as SQuAD writes it).
- technical: abstracts of aeronautics (Cranfield: a folder with `cran.all.1400`, `cran.qry`, `cranqrel`).
- computing: abstracts of computer science (CACM: `CACM-*.html`, `query.text`, `qrels.txt`).
- electronics: short abstracts of electronics (NPL: `doc-text`, `query-text`, `rlv-ass`).
- turns: each line of a dialogue is a separate document; a question counts as answered by any turn of its session.
"""

from __future__ import annotations

import ast
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import ryaml

SEED = 18
DOCUMENTS, QUERIES = 1500, 250
SENTENCE = re.compile(r"(?<=[.!?。])\s")
COMMENT = re.compile(r"<!--.*?-->", re.S)
GO = re.compile(r"^((?://.*\n)+)(func (?:\([^)]*\) )?(\w+)(?:.*\n)(?:(?!\}).*\n)*\}\n)", re.M)
_MODIFIERS = "(?:(?:export|public|protected|private|static|async|default) )*"
TYPESCRIPT = re.compile(
    r"^([ ]*)/\*\*((?:(?!\*/).|\n)*)\*/\n((?:\1@.*\n)*\1(?!\s)"
    + _MODIFIERS
    + r"(?:function )?(\w+)[<(].*\n(?:(?!\1\}).*\n)*\1\}.*\n)",
    re.M,
)
TURN = re.compile(r"^- \*\*(.+?):\*\* (.+)$", re.M)

Row = dict[str, Any]


def main(arguments: Sequence[str]) -> int:
    if len(arguments) < 2:
        print(__doc__)
        return 2
    out = Path(arguments[0])
    for argument in arguments[1:]:
        name, _, folder = argument.partition("=")
        documents, queries = SETS[name.rpartition(":")[2]](Path(folder))
        name = name.partition(":")[0]
        _write(out / name / "docs.jsonl", documents)
        _write(out / name / "queries.jsonl", queries)
        print(f"{name}: {len(documents)} documents, {len(queries)} queries")
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


def go(folder: Path) -> tuple[list[Row], list[Row]]:
    found = []
    for path in sorted(folder.rglob("*.go")):
        if not path.name.endswith("_test.go"):
            for comment, body, name in GO.findall(path.read_text(encoding="utf-8")):
                said = comment.replace("//", " ").split()
                # Go's comments begin with the name of the function, which is no question.
                said = said[1:] if said and said[0] == name else said
                found += _commented(f"{path.relative_to(folder)}:{name}", name, "go", body, " ".join(said))
    return _sampled(_asked_once(found))


def typescript(folder: Path) -> tuple[list[Row], list[Row]]:
    found = []
    for path in sorted(folder.rglob("*.ts")):
        if not path.name.endswith((".spec.ts", ".d.ts")) and "test" not in path.parts:
            for _, comment, body, name in TYPESCRIPT.findall(path.read_text(encoding="utf-8")):
                said = " ".join(comment.replace("*", " ").partition("@")[0].split())
                found += _commented(f"{path.relative_to(folder)}:{name}", name, "typescript", body, said)
    return _sampled(_asked_once(found))


def _asked_once(found: list[tuple[Row, str]]) -> list[tuple[Row, str]]:
    """Comments that several functions share ask for none of them."""
    times = Counter(question for _, question in found)
    return [(row, question if times[question] == 1 else "") for row, question in found]


def _commented(id: str, name: str, language: str, body: str, comment: str) -> Iterator[tuple[Row, str]]:
    question = SENTENCE.split(comment)[0]
    if len(question.split()) >= 4 and body.count("\n") > 2:
        yield {"id": id, "title": name, "text": f"```{language}\n{body}```"}, question


def answers(file: Path) -> tuple[list[Row], list[Row]]:
    articles = json.loads(file.read_text(encoding="utf-8"))["data"]
    paragraphs = [each for article in articles for each in article["paragraphs"]]
    random.Random(SEED).shuffle(paragraphs)
    paragraphs = paragraphs[:DOCUMENTS]
    documents = [{"id": f"p{at}", "title": "", "text": each["context"]} for at, each in enumerate(paragraphs)]
    asked = [(at, asking["question"]) for at, each in enumerate(paragraphs) for asking in each["qas"]]
    random.Random(SEED).shuffle(asked)
    chosen = enumerate(asked[:QUERIES])
    return documents, [{"id": f"q{n}", "query": text, "rel": {f"p{at}": 1}} for n, (at, text) in chosen]


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
        if not path.is_file():
            continue
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


def computing(folder: Path) -> tuple[list[Row], list[Row]]:
    documents = []
    for path in sorted(folder.glob("CACM-*.html")):
        said = re.split(r"\n\s*\n", path.read_text(encoding="utf-8", errors="replace").partition("<pre>")[2].strip())
        said = [" ".join(part.split()) for part in said]
        text = " ".join(part for part in said[1:2] if not part.startswith("CACM "))
        documents.append({"id": path.stem, "title": said[0], "text": text})
    rel: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.txt").read_text(encoding="utf-8").splitlines():
        query, _, document, grade = line.split()
        rel.setdefault(query, {})[f"CACM-{int(document[5:]):04}"] = int(grade)
    asked = re.findall(r"^\.I (\d+)\n\.W\n((?:(?!\.).*\n)+)", (folder / "query.text").read_text(encoding="utf-8"), re.M)
    return documents, [
        {"id": f"q{at}", "query": " ".join(text.split()), "rel": rel[at]} for at, text in asked if at in rel
    ]


def electronics(folder: Path) -> tuple[list[Row], list[Row]]:
    texts, asked, rel = (
        {
            number: " ".join(text.split())
            for number, text in re.findall(r"^\s*(\d+)\s*\n((?:(?!\s*/).*\n)+)", path, re.M)
        }
        for path in ((folder / name).read_text(encoding="utf-8") for name in ("doc-text", "query-text", "rlv-ass"))
    )
    documents = [{"id": number, "title": "", "text": text} for number, text in texts.items()]
    return documents, [
        {"id": f"q{at}", "query": text.lower(), "rel": dict.fromkeys(rel[at].split(), 1)} for at, text in asked.items()
    ]


def _cranfield(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    for entry in re.split(r"^\.I ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
        number, *parts = re.split(r"^\.([TABW])[ ]*$", entry, flags=re.M)
        yield number.strip(), {name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)}


SETS: dict[str, Callable[[Path], tuple[list[Row], list[Row]]]] = {
    "code": code,
    "go": go,
    "typescript": typescript,
    "answers": answers,
    "aliases": aliases,
    "chinese": pages,
    "japanese": pages,
    "codequestions": code_questions,
    "technical": technical,
    "computing": computing,
    "electronics": electronics,
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
