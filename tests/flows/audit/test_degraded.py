"""`degraded` is a boolean with a reason in every answer of a search, and it is true: point 11 of issue 15."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.search import Document, DocumentChange, Embedding, Projector, Query, open_collection
from lithos.search.embedding.embedder import HashedEmbedder
from lithos.settings import LithosConfig
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.conftest import CallTool, Connect
from tests.support.waiting import until

NOTES = 5
ASKED = {
    "lithos_search": {"query": "stripes"},
    "lithos_semantic": {"query": "stripes", "threshold": 0.0},
    "lithos_recall": {"query": "stripes"},
    "mentisdb_search": {"text": "stripes", "chain_key": "c"},
    "lithos_tool_find": {"query": "write a note"},
}


def hits(answer: dict[str, Any]) -> int:
    return len(answer.get("results", answer.get("thoughts", answer.get("tools", []))))


@pytest.fixture
def with_tool_vectors(data_dir: Path, lithos: Lithos, tool_vectors: Path) -> None:
    shutil.copytree(tool_vectors, data_dir / ".vectors", dirs_exist_ok=True)


@pytest.fixture
def filled(lithos: Lithos, call: CallTool, config: LithosConfig) -> Iterator[Callable[..., dict[str, Any]]]:
    """A memory with a few things in it, closed and opened again: nothing is pending."""
    for number in range(NOTES):
        call("lithos_write", agent="a", title=f"Zebra {number}", content=f"stripes on a horse, number {number}")
    call("lithos_task_create", agent="a", title="Count the stripes")
    call("mentisdb_append", thought_type="Insight", content="stripes again", agent_id="a", chain_key="c")
    lithos.close()
    again = open_lithos(config)
    try:
        yield lambda tool, **more: catalogue().call(again, tool, {**ASKED[tool], **more})
    finally:
        again.close()


@pytest.mark.usefixtures("with_tool_vectors")
def test_every_search_says_whether_it_is_degraded(filled: Callable[..., dict[str, Any]]) -> None:
    for tool in ASKED:
        answer = filled(tool)
        assert answer["degraded"] is False and "degraded_reason" not in answer, (tool, answer)
        assert hits(answer)
    assert filled("lithos_tool_find", query="", name="lithos_write")["degraded"] is False
    assert filled("lithos_tool_find", query="")["degraded"] is False
    assert filled("mentisdb_search", text=None)["degraded"] is False


def test_every_schema_with_degraded_has_a_boolean_and_a_reason() -> None:
    seen = []
    for tool in catalogue():
        for schema in (tool.output_schema, *tool.output_schema.get("$defs", {}).values()):
            properties = schema.get("properties", {})
            if "degraded" in properties:
                seen.append(tool.name)
                assert properties["degraded"].get("type") == "boolean", tool.name
                assert "degraded_reason" in properties and "degraded" in schema["required"], tool.name
    assert {*ASKED} <= {*seen}


@pytest.mark.anyio
@pytest.mark.usefixtures("with_tool_vectors")
async def test_degraded_is_there_over_mcp_in_the_lean_form(call: CallTool, connect: Connect) -> None:
    call("lithos_write", agent="a", title="Zebra", content="stripes on a horse")
    call("mentisdb_append", thought_type="Insight", content="stripes", agent_id="a", chain_key="c")
    async with connect(toolsets=("all",)) as client:
        for tool, asked in ASKED.items():
            found = await client.call_tool(tool, asked)
            assert found.structured_content["degraded"] is False, (tool, found.structured_content)


def remove_passages(text: Path) -> None:
    shutil.rmtree(text / "passages")


def remove_documents(text: Path) -> None:
    shutil.rmtree(text / "documents")


def spoil_passages(text: Path) -> None:
    for meta in text.rglob("passages/**/meta.json"):
        meta.write_text("garbage")


def empty_passages(text: Path) -> None:
    for meta in text.rglob("passages/**/meta.json"):
        meta.write_text('{"index_settings": {}, "segments": [], "schema": [], "opstamp": 0}')


def remove_segments(text: Path) -> None:
    for meta in list(text.rglob("passages/**/meta.json")):
        for file in meta.parent.glob("*.idx"):
            file.unlink()


def overwrite(text: Path) -> None:
    """In place, each file as long as before, its date put back."""
    for meta in list(text.rglob("meta.json")):
        for file in meta.parent.glob("*.*"):
            if file.suffix in (".idx", ".term", ".pos", ".fast", ".fieldnorm", ".store"):
                before = file.stat()
                with file.open("r+b") as opened:
                    opened.write(bytes(before.st_size))
                os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def overwrite_postings(text: Path) -> None:
    for file in text.rglob("*.idx"):
        with file.open("r+b") as opened:
            opened.write(bytes(file.stat().st_size))


def remove_everything(text: Path) -> None:
    shutil.rmtree(text.parent)


@pytest.mark.parametrize(
    "damage",
    [
        remove_passages,
        remove_documents,
        spoil_passages,
        empty_passages,
        remove_segments,
        remove_everything,
        overwrite,
        overwrite_postings,
    ],
)
@pytest.mark.parametrize("tool", ["lithos_search", "lithos_recall", "mentisdb_search"])
def test_damage_under_a_running_host_is_noticed_said_and_healed(
    filled: Callable[..., dict[str, Any]], data_dir: Path, damage: Callable[[Path], None], tool: str
) -> None:
    whole = hits(filled(tool))
    filled("lithos_recall")  # every index is open
    name = "thoughts" if tool == "mentisdb_search" else "notes"
    before = sorted((data_dir / ".tantivy" / name).glob("text*"))
    damage(before[0])
    first = filled(tool)
    assert first["degraded"] is True and first["degraded_reason"], first
    until(lambda: not filled(tool)["degraded"], "a healed index")
    assert hits(filled(tool)) == whole
    text = max((data_dir / ".tantivy" / name).glob("text*"), key=lambda path: int(path.name[4:]))
    assert text != before[0] or damage is remove_everything
    assert {meta.relative_to(text).parts[0] for meta in text.rglob("meta.json")} == {"documents", "passages"}


def test_tasks_and_skills_come_back_after_their_index_is_gone(
    filled: Callable[..., dict[str, Any]], data_dir: Path
) -> None:
    asked = {"query": "count stripes", "kinds": ["task"]}
    assert hits(filled("lithos_recall", **asked)) == 1
    shutil.rmtree(data_dir / ".tantivy/work")

    def back() -> bool:
        answer = filled("lithos_recall", **asked)
        assert answer["degraded"] or hits(answer), "an answer without the task that says nothing of the missing index"
        return not answer["degraded"]

    until(back, "a healed index")


class SlowRows:
    """An owner whose batches come one at a time, when the test lets them."""

    def __init__(self, count: int) -> None:
        self.lock = threading.RLock()
        self.documents = [Document(id=f"d{n}", title=f"D {n}", text="stripes", hash=str(n)) for n in range(count)]
        self.go = threading.Semaphore(0)
        self._left: list[Document] = []

    def restart(self, known: Mapping[str, str]) -> bool:
        self._left = [each for each in self.documents if known.get(each.id) != each.hash]
        return True

    def next_batch(self) -> Sequence[DocumentChange]:
        if not self._left:
            return ()
        self.go.acquire()
        return [self._left.pop(0)]


def test_an_answer_from_an_index_that_is_being_filled_says_so(tmp_path: Path) -> None:
    """Between two batches nothing waits to be indexed: only who fills it knows that more comes."""
    embedding = Embedding(HashedEmbedder())
    collection = open_collection(tmp_path, "rows", embedding=embedding)
    rows = SlowRows(3)
    projector = Projector(collection, rows, "rows")
    asked = Query("stripes", by="words")
    try:
        for again in range(2):
            work = threading.Thread(target=projector.rebuild if again else projector.resume)
            work.start()
            for count in (1, 2, 3):
                rows.go.release()
                deadline = time.monotonic() + 60
                while len((found := projector.query(asked)).hits) < count:
                    assert found.degraded, found
                    assert time.monotonic() < deadline
                assert found.degraded or len(found.hits) == 3
            work.join(60)
            assert not work.is_alive()
            assert (projector.query(asked).degraded, len(projector.query(asked).hits)) == ("", 3)
    finally:
        projector.close()
        collection.close()
        embedding.close()


def test_every_answer_during_a_rebuild_is_whole_or_degraded(config: LithosConfig, data_dir: Path) -> None:
    lithos = open_lithos(config)
    vault = data_dir / "knowledge"
    for number in range(300):
        (vault / f"other-{number}.md").write_text(f"# Other {number}\n\nnothing of the kind {number}\n")
    for number in range(NOTES):
        (vault / f"z{number}.md").write_text(f"# Zebra {number}\n\nstripes on a horse\n")
    lithos.start()
    try:
        for _ in range(2):
            before = lithos.notes.index.progress.scans
            catalogue().call(lithos, "lithos_reindex", {"clear": True}, Caller(operator=True))
            deadline = time.monotonic() + 600
            scanned = complete = False
            while not complete:
                scanned = lithos.notes.index.progress.scans > before
                for tool in ("lithos_recall", "lithos_search"):
                    answer = catalogue().call(lithos, tool, ASKED[tool])
                    zebras = [hit for hit in answer["results"] if hit["title"].startswith("Zebra")]
                    assert answer["degraded"] or len(zebras) == NOTES, (tool, answer)
                complete = scanned and not answer["degraded"]
                assert time.monotonic() < deadline
    finally:
        lithos.close()
