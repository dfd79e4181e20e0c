"""CPU of the five flows in one process: open and close, write, search, recall, claim, append.

Runs on older checkouts too: `python -m benchmarks._compare ../before flows.py`; it uses what all have.
"""

from __future__ import annotations

import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lithos.app import open_lithos
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.catalogue import catalogue

NOTES, CALLS, CHUNK = 120, 80, 20
WORDS = (
    "index",
    "vault",
    "agent",
    "lease",
    "ledger",
    "claim",
    "note",
    "link",
    "merge",
    "disk",
    "graph",
    "retry",
    "cache",
)
PATIENCE = 300.0  # seconds until everything is embedded, on a busy machine
QUESTIONS = ("how do we retry a lease", "cursor of the queue", "why does the parser flush", "rename a folder")


def main() -> None:
    _show("make and close a new memory", _cpu(lambda number: _make_and_close(), 20, 1))
    folder = Path(tempfile.mkdtemp(prefix="bench-flows-"))
    _show("open and close an empty memory", _cpu(lambda number: open_lithos(_config(folder)).close(), 20, 1))
    lithos = open_lithos(_config(folder))
    registry, dice = catalogue(), random.Random(4)

    def call(name: str, **arguments: Any) -> Any:
        return registry.call(lithos, name, arguments)

    def write(number: int) -> None:
        call("lithos_write", agent="bench", title=f"Note {number}", content=_prose(dice))

    def claim(number: int) -> None:
        task = call("lithos_task_create", title=f"Task {number}", agent="bench")["task_id"]
        assert call("lithos_task_claim", task_id=task, aspect="a", agent="bench")["success"]

    def append(number: int) -> None:
        thought = {"thought_type": "Insight", "content": f"Thought {number}: {_prose(dice)[:120]}"}
        call("mentisdb_append", agent_id="bench", **thought)

    try:
        _show("lithos_write, new note", _cpu(write, NOTES))
        _show("lithos_task_create and lithos_task_claim", _cpu(claim, CALLS))
        _show("mentisdb_append", _cpu(append, CALLS * 2))
        _settle(call)
        _show("lithos_read", _cpu(lambda number: call("lithos_read", path=_path(number)), CALLS))
        _show("lithos_search", _cpu(lambda number: call("lithos_search", query=_question(number)), CALLS))
        _show("lithos_recall", _cpu(lambda number: call("lithos_recall", query=_question(number)), CALLS))
        kinds = _notes_alone(registry)
        _show(
            "lithos_recall, notes alone",
            _cpu(lambda number: call("lithos_recall", query=_other(number), **kinds), CALLS),
        )
        _show("mentisdb_search, text", _cpu(lambda number: call("mentisdb_search", text=_question(number)), CALLS))
        _show("mentisdb_search, filter", _cpu(lambda number: call("mentisdb_search", agent_ids=["bench"]), CALLS))
    finally:
        lithos.close()
        shutil.rmtree(folder)


def _config(folder: Path) -> LithosConfig:
    return LithosConfig(storage=StorageSettings(data_dir=folder / "data"))


def _make_and_close() -> None:
    folder = Path(tempfile.mkdtemp(prefix="bench-flows-"))
    open_lithos(_config(folder)).close()
    shutil.rmtree(folder)


def _prose(dice: random.Random) -> str:
    return " ".join(" ".join(dice.choices(WORDS, k=12)) + "." for _ in range(5))


def _path(number: int) -> str:
    return f"note-{number % NOTES}.md"


def _question(number: int) -> str:
    """Never asked before, so that no cache answers."""
    return f"{QUESTIONS[number % len(QUESTIONS)]} {WORDS[number % len(WORDS)]} {number}"


def _other(number: int) -> str:
    """Asked of no other kind before: a vector is remembered."""
    return f"{_question(number)} alone"


def _notes_alone(registry: Any) -> dict[str, Any]:
    """An older `lithos_recall` searches notes only, and does not know the argument."""
    known = "kinds" in registry.get("lithos_recall").parameters
    return {"kinds": ["note"]} if known else {}


def _settle(call: Callable[..., Any]) -> None:
    """Until everything is embedded: its CPU is not the flow's."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for name, question in (("lithos_recall", {"query": "lease"}), ("mentisdb_search", {"text": "lease"})):
            answer = call(name, **question)
            if answer.get("degraded"):
                time.sleep(0.2)
                break
        else:
            return
    sys.exit(f"embedding does not end: {answer}")


def _cpu(work: Callable[[int], object], times: int, chunk: int = CHUNK) -> list[float]:
    """Milliseconds of CPU of one call, all threads, per chunk; the first chunk warms up."""
    spent = []
    for start in range(0, times, chunk):
        began = time.process_time()
        for number in range(start, start + chunk):
            work(number)
        spent.append((time.process_time() - began) * 1000 / chunk)
    return spent[1:]


def _show(name: str, spent: list[float]) -> None:
    print(f"{name:58} | {statistics.median(spent):>12,.3f} ms | ≤ {max(spent):>10,.3f} |", flush=True)


if __name__ == "__main__":
    main()
