"""`lithos_recall` as agents meet it: 10,000 real notes, vectors of the model, over MCP through guest and host.

    python -m benchmarks.recall               # embeds 20,000 passages the first time: four minutes of two cores
    python -m benchmarks.recall --fresh       # every time, in a host, and tells what memory that leaves behind

The vault stays in `.bench/search/vault10000`, its vectors with it. The bare limit beside each number is the model
alone, on the same questions in the same run: no question that was not asked before can be faster.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.corpus import notes, questions
from benchmarks.host import Client, call, cpu, end_host, host_of
from benchmarks.report import line, milliseconds, percentile
from lithos.app import open_lithos
from lithos.search import Document, open_embedder
from lithos.settings import LithosConfig, StorageSettings

NOTES = 10_000
VAULT = Path(f".bench/search/vault{NOTES}")
ASKED = 200


def main() -> None:
    write_notes(VAULT)
    if "--fresh" in sys.argv:
        measure_first_index(VAULT)
    prepare(VAULT)
    bare = bare_model(questions(ASKED))
    measure_cold(VAULT, "lithos_search", 1.5)
    measure_cold(VAULT, "lithos_semantic", 2.0)
    client = Client(VAULT).begin()
    try:
        measure_tools(client, bare)
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


def bare_model(asked: list[str]) -> float:
    """Median milliseconds of a question in the model, with nothing around it."""
    model = open_embedder("all-MiniLM-L6-v2")
    model.embed("warm")
    return percentile([milliseconds(lambda text=text: model.embed(text)) for text in asked], 0.5)


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


def measure_tools(client: Client, bare: float) -> None:
    asked = questions(ASKED)
    for tool, half, most in (("lithos_search", 2, 6), ("lithos_recall", 5, 15)):
        client.ask(call(1, tool, query="warm"))
        host = host_of(VAULT)
        before = cpu(host)
        times = [
            milliseconds(lambda number=number, text=text, tool=tool: client.ask(call(number, tool, query=text)))
            for number, text in enumerate(asked)
        ]
        spent = (cpu(host) - before) * 1000 / ASKED
        line(f"{tool} over MCP, {NOTES:,} real notes, p50", percentile(times, 0.5), half, "ms")
        line(f"{tool} over MCP, {NOTES:,} real notes, p95", percentile(times, 0.95), most, "ms")
        print(f"  {spent:.2f} ms CPU of the host a question; the bare model takes {bare:.2f} ms for one", flush=True)
    again = [
        milliseconds(lambda number=number, text=text: client.ask(call(number, "lithos_recall", query=text)))
        for number, text in enumerate(asked[-100:])
    ]
    line("lithos_recall over MCP, asked before, p50", percentile(again, 0.5), 5, "ms")
    line("host with these notes and the model loaded", host_of(VAULT).memory_info().rss / 1e6, 250, "MB")


if __name__ == "__main__":
    main()
