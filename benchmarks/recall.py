"""`lithos_recall` as agents meet it: 10,000 real notes, vectors of the model, over MCP through guest and host.

    python -m benchmarks.recall               # embeds 20,000 passages the first time: four minutes of two cores
    python -m benchmarks.recall --fresh       # every time, in a host, and tells what memory that leaves behind

The vault stays in `.bench/search/vault10000`, its vectors with it, and tasks, findings, thoughts and skills beside the
notes. The limits are multiples of the bare model and of a trivial call, taken by turns in the same run.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from benchmarks.corpus import notes, questions
from benchmarks.host import Client, call, cpu, end_host, host_of
from benchmarks.report import line, milliseconds, percentile
from lithos.app import open_lithos
from lithos.search import Document, open_embedder
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.catalogue import catalogue

NOTES = 10_000
VAULT = Path(f".bench/search/vault{NOTES}")
ASKED, TURN = 200, 20
TASKS, THOUGHTS, SKILLS = 1_000, 3_000, 30


def main() -> None:
    write_notes(VAULT)
    if "--fresh" in sys.argv:
        measure_first_index(VAULT)
    prepare(VAULT)
    fill_other_kinds(VAULT)
    measure_cold(VAULT, "lithos_search", 1.5)
    measure_cold(VAULT, "lithos_semantic", 2.0)
    client = Client(VAULT).begin()
    try:
        measure_tools(client)
    finally:
        client.end()
        end_host(VAULT)


def write_notes(vault: Path) -> None:
    for each in [] if (vault / "knowledge").exists() else notes(NOTES):
        path = vault / "knowledge" / each.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(as_file(each), encoding="utf-8")


def measure_first_index(vault: Path) -> None:
    """From files alone to the first answer by meaning that nothing is missing from."""
    for derived in (".tantivy", ".vectors", ".catalogue", ".lithos"):
        shutil.rmtree(vault / derived, ignore_errors=True)
    started = time.perf_counter()
    client = Client(vault).begin()
    while "degraded" in json.loads(client.ask(call(1, "lithos_semantic", query="warm")))["result"]["structuredContent"]:
        time.sleep(1)
    took = time.perf_counter() - started
    for number, text in enumerate(questions(ASKED)):
        client.ask(call(number, "lithos_recall", query=text))
    print(f"  {NOTES:,} notes indexed and embedded in {took:.0f} s", flush=True)
    line("host that has just indexed them, model loaded", host_of(vault).memory_info().rss / 1e6, 250, "MB")
    client.end()
    end_host(vault)


def prepare(vault: Path) -> None:
    lithos = open_lithos(LithosConfig(storage=StorageSettings(data_dir=vault)))
    try:
        lithos.notes.reindex()
        lithos.embedding.start()
        if not lithos.note_search.collection.settle(7200):
            raise SystemExit("the notes could not be embedded")
    finally:
        lithos.close()


def as_file(note: Document) -> str:
    title = "".join(character for character in note.title if character not in '"\\')
    return f'---\ntitle: "{title}"\nauthor: {note.author}\ntags: [{", ".join(note.tags)}]\n---\n\n{note.text}\n'


def measure_cold(vault: Path, tool: str, limit: float) -> None:
    """From nothing: a guest that starts a host that opens the indexes."""
    command = [sys.executable, "-m", "lithos.cli.entry", "--help"]
    subprocess.run(command, capture_output=True, check=True)  # the interpreter's own files are read once
    started = time.perf_counter()
    client = Client(vault).begin()
    answer = json.loads(client.ask(call(1, tool, query="how does it open a file?")))
    took = time.perf_counter() - started
    found = answer["result"]["structuredContent"]["results"]
    line(f"cold host to the first answer of {tool}, {NOTES:,} notes", took, limit, "s ")
    print(f"  {cpu(host_of(vault)):.2f} s CPU of the host, {len(found)} results", flush=True)
    client.end()
    end_host(vault)


def fill_other_kinds(vault: Path) -> None:
    """Tasks, findings, thoughts and skills beside the notes: a recall asks all of them."""
    lithos = open_lithos(LithosConfig(storage=StorageSettings(data_dir=vault)))
    tools = catalogue()
    try:
        if lithos.skills.count() < SKILLS:
            texts = iter([each.text[:240] for each in notes(TASKS * 2 + THOUGHTS + SKILLS, seed=5)])
            for text in islice(texts, TASKS):
                task = tools.call(lithos, "lithos_task_create", {"title": text[:60], "description": text, "agent": "a"})
                finding = {"task_id": task["task_id"], "summary": next(texts), "agent": "a"}
                tools.call(lithos, "lithos_finding_post", finding)
            for text in islice(texts, THOUGHTS):
                thought = {"thought_type": "Idea", "content": text, "agent_id": "a"}
                tools.call(lithos, "mentisdb_append", thought)
            for number, text in enumerate(texts):
                skill = {
                    "agent_id": "a",
                    "skill_id": f"s{number}",
                    "content": f"---\nname: Skill {number}\n---\n\n{text}",
                }
                tools.call(lithos, "mentisdb_upload_skill", skill)
        lithos.embedding.start()
        while tools.call(lithos, "lithos_recall", {"query": "warm"})["degraded"]:
            time.sleep(1)
    finally:
        lithos.close()


def measure_tools(client: Client) -> None:
    """By turns: the bare model, a trivial call, a question by words, one by both, and that again. Wall time of each,
    and CPU of the host, in which other processes of the machine do not show."""
    model = open_embedder("all-MiniLM-L6-v2")
    host = host_of(VAULT)
    for tool in ("lithos_search", "lithos_recall"):
        client.ask(call(1, tool, query="warm"))
    model.embed("warm")
    trivial: dict[str, str] = {"id": "a"}
    asked = questions(ASKED)
    wall: dict[str, list[float]] = defaultdict(list)
    spent: dict[str, float] = defaultdict(float)
    for start in range(0, ASKED, TURN):
        part = asked[start : start + TURN]
        turns: list[tuple[str, Callable[[str], object]]] = [
            ("bare", model.embed),
            ("trivial", lambda _: client.ask(call(1, "lithos_agent_info", **trivial))),
            ("lithos_search", lambda text: client.ask(call(2, "lithos_search", query=text))),
            ("lithos_recall", lambda text: client.ask(call(3, "lithos_recall", query=text))),
            ("again", lambda text: client.ask(call(4, "lithos_recall", query=text))),
        ]
        for name, ask in turns:
            before, own = cpu(host), time.process_time()
            wall[name] += [milliseconds(ask, text) for text in part]
            spent[name] += time.process_time() - own if name == "bare" else cpu(host) - before
    half = {name: percentile(times, 0.5) for name, times in wall.items()}
    used = {name: seconds * 1000 / ASKED for name, seconds in spent.items()}
    for unit, each in (("ms", half), ("ms CPU of the host", used)):
        print(f"  the bare model takes {each['bare']:.2f} {unit}, a trivial call {each['trivial']:.2f}")
        line(
            f"lithos_recall, {NOTES:,} notes, every kind",
            each["lithos_recall"],
            1.6 * each["bare"] + each["trivial"],
            unit,
        )
        line("lithos_recall, asked before", each["again"], 3 * each["trivial"], unit)
        line("lithos_search", each["lithos_search"], 2.5 * each["trivial"], unit)
    line("lithos_recall, p95", percentile(wall["lithos_recall"], 0.95), 15, "ms")
    line("host with these notes and the model loaded", host.memory_info().rss / 1e6, 250, "MB")


if __name__ == "__main__":
    main()
