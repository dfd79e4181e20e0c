"""Kills a process at every step of a change to notes, and looks what the next process makes of it.

`python -m tests.support.notes_kills OPERATION FOLDER` runs by itself: each step dies in a child of its own, for real.
Prints how many steps there were; the first finding ends it with a traceback.
"""

from __future__ import annotations

import os
import shutil
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from lithos.core.call import Call
from lithos.errors import Conflict
from lithos.notes import Move, WriteRequest
from tests.support.notes_bench import NotesBench, dump

KILLED = 137
MOST_STEPS = 400
A = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"


class DieAt:
    """The process ends at the n-th step of the change, without any tidying up."""

    def __init__(self, step: int) -> None:
        self._left = step
        self.armed = False

    def at(self, point: str) -> None:
        if not self.armed:
            return
        self._left -= 1
        if self._left == 0:
            os._exit(KILLED)


def call(tool: str) -> Call:
    return Call(tool, "agent", arguments_hash="h", idempotency_key="once")


def create(bench: NotesBench) -> object:
    return bench.notes.vault.write(call("lithos_write"), WriteRequest("agent", "New", "[[a]] text"))


def update(bench: NotesBench) -> object:
    return bench.notes.vault.write(call("lithos_write"), WriteRequest("agent", content="changed [[b]]", id=A))


def append(bench: NotesBench) -> object:
    return bench.notes.vault.write(call("lithos_write"), WriteRequest("agent", content="more", append=True, id=A))


def delete(bench: NotesBench) -> object:
    return bench.notes.vault.delete(call("lithos_delete"), A)


def move(bench: NotesBench) -> object:
    return bench.notes.mover.move(call("lithos_move"), Move(A, "sub/c.md", rewrite_links=True))


OPERATIONS: dict[str, Callable[[NotesBench], object]] = {
    each.__name__: each for each in (create, update, append, delete, move)
}


def prepare(folder: Path) -> None:
    vault = folder / "knowledge"
    vault.mkdir(parents=True)
    (vault / "a.md").write_text(f"---\nid: {A}\ntitle: A\n---\n\n# A\n\ntext\n")
    (vault / "b.md").write_text("[[a]] [a](a.md)\n")
    bench = NotesBench(folder)  # what the first opening makes is made once, not before every death
    bench.notes.reader.list()
    bench.close()


def states(folder: Path) -> dict[str, bytes]:
    """The files that people see; what a replaced file left behind is settled later."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and not file.name.startswith(".lithos-")]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def in_child(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:  # the child must end here, and say why
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def change_and_die(folder: Path, operation: str, step: int) -> None:
    faults = DieAt(step)
    bench = NotesBench(folder, faults)
    bench.notes.reader.list()
    faults.armed = True
    OPERATIONS[operation](bench)


def look_afterwards(folder: Path, operation: str, before: dict[str, bytes]) -> None:
    """Whole or absent; done again with its key it takes effect once; the index equals a rebuild."""
    bench = NotesBench(folder)
    found = states(folder / "knowledge")
    changed = {path for path in before.keys() | found.keys() if before.get(path) != found.get(path)}
    expected = {"create": [1], "update": [1], "append": [1], "delete": [1], "move": [3]}[operation]
    assert len(changed) in (0, *expected), f"half done: {sorted(changed)}"
    answer = OPERATIONS[operation](bench)
    assert OPERATIONS[operation](bench) == answer
    bench.root.sweep(everything=True)
    after = states(folder / "knowledge")
    assert not changed or after == found, "done twice"
    assert all(b"more\n\nmore" not in data for data in after.values())
    assert not [path for path in after if ".conflict-" in path], sorted(after)
    bench.notes.index.reconcile()
    assert dump(bench.notes.catalogue) == bench.rebuilt()
    bench.close()


def run(operation: str, folder: Path) -> int:
    assert in_child(lambda: prepare(folder / "start")) == 0
    before = states(folder / "start" / "knowledge")
    for step in range(1, MOST_STEPS):
        here = folder / f"step-{step}"
        shutil.copytree(folder / "start", here)
        ended = in_child(lambda here=here, step=step: change_and_die(here, operation, step))  # type: ignore[misc]
        assert ended in (0, KILLED), f"step {step} ended with {ended}"
        assert in_child(lambda here=here: look_afterwards(here, operation, before)) == 0, f"step {step}"  # type: ignore[misc]
        shutil.rmtree(here)
        if ended == 0:
            return step - 1
    raise Conflict("the change never came to its end")


if __name__ == "__main__":
    print(run(sys.argv[1], Path(sys.argv[2])))
