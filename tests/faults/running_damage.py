"""Damage under a running memory: files change while everything is open, calls go on, and then it starts again.

`python -m tests.faults.running_damage FOLDER [KIND …]` prints one line a case. Each case runs in a process of its own,
forked from one that has imported everything: a file that was mapped into memory and is cut ends its process.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from lithos.app import Lithos
from lithos.errors import LithosError
from lithos.tools.catalogue import catalogue
from tests.faults.damage import DAMAGES, EDIT, Case, Damage, answers, bounded, files, red, ruling
from tests.faults.data import OPERATOR, everything, opened
from tests.support.file_modes import modes_count
from tests.torture.judge import embed_cheaply

MAPPED = (".tantivy/", ".vectors/", "-shm")  # cutting these ends the process: the next start heals
CUTS = ("truncate", "empty")
WRITES: dict[str, dict[str, Any]] = {
    "lithos_write": {"title": "after", "content": "zebra after", "agent": "ann"},
    "lithos_task_create": {"title": "task after", "agent": "ann"},
    "mentisdb_append": {"thought_type": "Insight", "content": "thought after", "agent_id": "ann"},
    "lithos_fs_append": {
        "path": "users/u1/notes.md",
        "text": "- after",
        "agent": "ann",
        "user_id": "u1",
        "rationale": "r",
    },
}


def acknowledged(memory: Lithos) -> list[str]:
    """The writes that were accepted; the others were refused by name."""
    done = []
    for tool, arguments in WRITES.items():
        try:
            catalogue().call(memory, tool, arguments, OPERATOR)
            done.append(tool)
        except LithosError as error:
            assert error.hint and error.code != "internal", (tool, error.as_dict())
    return done


def missing(memory: Lithos, done: list[str]) -> list[str]:
    """Acknowledged, and neither there nor refused as damaged."""

    def holds(tool: str, /, wanted: str, **arguments: Any) -> bool:
        try:
            return wanted in json.dumps(catalogue().call(memory, tool, arguments, OPERATOR))
        except LithosError as error:
            return error.code not in ("not_found", "internal")

    looks = {
        "lithos_write": lambda: holds("lithos_search", "after.md", query="zebra"),
        "lithos_task_create": lambda: holds("lithos_task_list", "task after"),
        "mentisdb_append": lambda: holds("mentisdb_recent_context", "thought after"),
        "lithos_fs_append": lambda: holds("lithos_fs_read", "- after", path="users/u1/notes.md", user_id="u1"),
    }
    return [tool for tool in done if not looks[tool]()]


class Running:
    """One case: open, damaged, asked, written to, closed, opened again."""

    def __init__(self, pristine: Path, folder: Path, place: Path, damage: Damage) -> None:
        self.case = Case(pristine, folder)
        self.place, self.damage = place, damage

    def judge(self) -> str:
        """The verdicts while it runs and after the next start; raises AssertionError where there is none."""
        with bounded(), modes_count(), opened(self.case.data) as memory:
            before = answers(memory)
            self.damage(self.case.data / self.place)
            with suppress(LithosError):  # a host logs it and scans again
                memory.notes.reindex()
            now = self._compare(memory, before)
            done = acknowledged(memory)
        later = self._after_the_next_start(before, done)
        return f"{now} {len(done)} {later}"

    def _compare(self, memory: Lithos, before: dict[str, Any]) -> str:
        found = answers(memory)
        said = red(memory)
        errors = {name: each for name, each in found.items() if isinstance(each, LithosError)}
        other = {name: each for name, each in found.items() if name not in errors and each != before[name]}
        other = {name: each for name, each in other.items() if not _is_degraded(each)}
        people = EDIT in (ruling(self.place.as_posix()) or set())
        assert people or errors or said or not other, f"silent while running: {json.dumps(other, default=str)[:500]}"
        return "detected" if errors or said else "edit" if other else "served"

    def _after_the_next_start(self, before: dict[str, Any], done: list[str]) -> str:
        with bounded(), modes_count():
            try:
                with opened(self.case.data) as memory:
                    memory.notes.reindex()
                    said, lost = red(memory), missing(memory, done)
                    said += [name for name, each in answers(memory).items() if isinstance(each, LithosError)]
            except LithosError as error:
                assert error.hint and error.code != "internal", error.as_dict()
                return "refused"
        assert self.case.victim.read_text() == "someone else's\n", "a file outside was written"
        assert said or not lost, f"acknowledged and lost without a word: {lost}"
        return "detected" if said else "healed"


def _is_degraded(answer: Any) -> bool:
    return isinstance(answer, (list, tuple)) and bool(answer) and answer[0] is True


def cases(pristine: Path) -> Iterator[tuple[str, Path, Damage]]:
    for kind, place in files(pristine).items():
        for damage in DAMAGES:
            if damage.__name__ in CUTS and any(part in kind for part in MAPPED):
                continue
            yield kind, place, damage


def run_in_a_fork(pristine: Path, folder: Path, place: Path, damage: Damage) -> str:
    """The verdict of one case, or why it has none, with a "!" before it."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            said = Running(pristine, folder, place, damage).judge()
        except BaseException as failure:
            said = f"! {failure!r}"
        os.write(write_end, said.encode()[:4000])
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(pid, 0)
    return said or f"! the process ended with {status}"


def main() -> int:
    logging.disable()
    embed_cheaply()
    wanted, share = sys.argv[1:2], [int(each) for each in sys.argv[2:4]] or [0, 1]
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pid = os.fork()
        if pid == 0:  # threads of the search engine must not be there when a case is forked
            everything(folder / "pristine", folder / "repository")
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        chosen = [each for each in cases(folder / "pristine") if not wanted or wanted[0] in each[0]]
        for kind, place, damage in chosen[share[0] :: share[1]]:
            said = run_in_a_fork(folder / "pristine", folder / "case", place, damage)
            wrong += said.startswith("!")
            print(f"{kind} {damage.__name__}: {said}", flush=True)
    return min(wrong, 1)


if __name__ == "__main__":
    raise SystemExit(main())
