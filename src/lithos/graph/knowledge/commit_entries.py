"""Commits as entries of history: found by words and meaning, and as nodes; code that is gone as tombstones."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from lithos.core.call import Call
from lithos.core.canonical import sha256_hex
from lithos.core.clock import rfc3339
from lithos.graph.code import Code, OpenRoot
from lithos.graph.history.commits import described
from lithos.graph.history.question import GIT, Answered, HistoryQuestion
from lithos.graph.history.values import THOUGHT_OF_SUMMARY, HistoryRow
from lithos.graph.knowledge.commit_store import CommitStore, commit_id
from lithos.graph.knowledge.nodes import NodeShown
from lithos.search import Collection, ComparedFeed, Document, DocumentChange, Projector, Query, Remove, Where
from lithos.storage import Row

COMMIT_KEYWORDS = ("root", "summary")
COMMIT_NUMBERS = ("time",)
PAGE = 500
CATEGORY = "timeline"
FIX = "bug_fix"


class CommitEntries:
    def __init__(self, commits: CommitStore, code: Code, collection: Collection) -> None:
        self.collection = collection
        self.projector = Projector(collection, _CommitFeed(commits, code), "commits", compares=False)
        self._commits = commits
        self._code = code

    def find(self, call: Call, question: HistoryQuestion, least: float = 0.0) -> Answered:
        roots = [root.spec.name for root in self._code.visible(call)]
        kinds = tuple(kind for kind in THOUGHT_OF_SUMMARY if _allowed(question, kind))
        if not roots or not kinds or not question.text or not question.asks(GIT) or question.tags:
            return Answered([])
        where = Where(
            any_of={"root": tuple(roots), "summary": kinds},
            between={"time": question.bounds()} if question.since or question.until else {},
        )
        found = self.projector.begin(Query(question.text, limit=question.limit, where=where))(least)
        rows = []
        for hit in found.hits if found.relevant else ():
            row = self.row(hit.id)
            if row is not None and (not question.agents or row["agent"] in question.agents):
                rows.append({**row, "score": round(hit.score, 6)})
        return Answered(rows, found.degraded)  # type: ignore[arg-type]

    def row(self, id: str) -> HistoryRow | None:
        found = self._row(id)
        return None if found is None else as_row(found)

    def _row(self, id: str) -> Row | None:
        prefix, _, rest = id.partition(":")
        root, _, sha = rest.rpartition(":")
        return self._commits.find(root, sha) if prefix == "commit" else None

    # MoreNodes

    def get(self, call: Call, id: str) -> NodeShown | None:
        if id.startswith("commit:"):
            root = id.split(":")[1]
            row = self._row(id) if any(each.spec.name == root for each in self._code.visible(call)) else None
            return None if row is None else commit_shown(as_row(row))
        root, _, inside = id.partition(":")
        if not any(each.spec.name == root for each in self._code.visible(call)):
            return None
        stone = self._commits.stone(root, inside)
        if stone is None:
            return None
        name = inside.rpartition("#")[2].rpartition(".")[2] if "#" in inside else inside
        path = inside.partition("#")[0]
        return {"id": id, "domain": "code", "type": stone["type"], "title": name, "path": path, "removed": True}

    def exists(self, id: str) -> bool:
        if id.startswith("commit:"):
            return self._row(id) is not None
        root, _, inside = id.partition(":")
        return self._commits.stone(root, inside) is not None


def _allowed(question: HistoryQuestion, kind: str) -> bool:
    """A commit is of the timeline; one that fixed something is evidence of a failure too."""
    return question.allows(CATEGORY, kind) or (kind == FIX and question.allows("failure", kind))


def as_row(row: Row) -> HistoryRow:
    shown: HistoryRow = {
        "id": commit_id(row["root"], row["sha"]),
        "source": GIT,
        "type": "commit",
        "category": CATEGORY,
        "title": row["subject"],
        "content": row["body"],
        "agent": row["author"],
        "timestamp": rfc3339(datetime.fromtimestamp(row["at"], UTC)),
        "summary_type": row["summary_type"],
    }
    said = described(row["subject"], row["body"])
    if said.issues:
        shown["issues"] = list(said.issues)
    return shown


def commit_shown(row: HistoryRow) -> NodeShown:
    return {
        "id": row["id"],
        "domain": "history",
        "type": "commit",
        "title": row["title"],
        "timestamp": row["timestamp"],
        "category": row["category"],
        "summary_type": row["summary_type"],
        "agent": row["agent"],
    }


class _CommitFeed(ComparedFeed):
    """Commits that search lacks, root by root."""

    def __init__(self, commits: CommitStore, code: Code) -> None:
        super().__init__()
        self._commits = commits
        self._code = code

    def _missing(self, known: dict[str, str]) -> Iterator[list[DocumentChange]]:
        for root in self._code.roots():
            yield from self._of_root(root, known)
        yield [Remove(id) for id in known]

    def _of_root(self, root: OpenRoot, known: dict[str, str]) -> Iterator[list[DocumentChange]]:
        after = 0
        while rows := self._commits.page(root.spec.name, after, PAGE):
            after = rows[-1]["number"]
            documents = [_document(row) for row in rows]
            yield [each for each in documents if known.pop(each.id, "") != each.hash]


def _document(row: Row) -> Document:
    # The subject in the text too: a commit that has no body must not count its words twice, and others once.
    text = f"{row['subject']}\n\n{row['body']}" if row["body"] else row["subject"]
    return Document(
        id=commit_id(row["root"], row["sha"]),
        title=row["subject"],
        text=text,
        hash=sha256_hex(f"{row['sha']} {row['summary_type']} {text}".encode())[:16],
        author=row["author"],
        keywords={"root": (row["root"],), "summary": (row["summary_type"],)},
        numbers={"time": float(row["at"])},
    )
