"""The garden: one section patched durably, sections listed, files searched, events queried."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.report import line, percentile
from lithos.app import Lithos, open_lithos
from lithos.settings import LithosConfig, StorageSettings
from lithos.storage import EventFilter
from lithos.tools.catalogue import catalogue

PROFILE = "users/ana/parts/critic/profile.md"
FILES = 10_000
EVENTS = 1_000_000
ROUNDS = 200
WHO = {"user_id": "ana", "agent": "bench"}


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="lithos-bench-"))
    lithos = open_lithos(LithosConfig(storage=StorageSettings(data_dir=folder)))
    try:
        _patching(lithos)
        _listing(lithos)
        _searching(lithos)
        _querying(lithos)
    finally:
        lithos.close()
        shutil.rmtree(folder)


def _call(lithos: Lithos, name: str, **arguments: Any) -> dict[str, Any]:
    return catalogue().call(lithos, name, {**WHO, **arguments})


def _thousand_lines() -> str:
    return "---\nid: 1\n---\n" + "".join(_section(number) for number in range(50)) + "## Change Log\n- made\n"


def _section(number: int) -> str:
    lines = "".join(f"Line {each} of section {number}, as long as lines in a profile are.\n" for each in range(17))
    return f"## Section {number}\n<!-- @anchor: s{number} v1 -->\n{lines}\n"


def _timed(work: Callable[[int], object], rounds: int = ROUNDS) -> list[float]:
    spent = []
    for number in range(rounds):
        started = time.perf_counter()
        work(number)
        spent.append((time.perf_counter() - started) * 1e3)
    return spent


def _patching(lithos: Lithos) -> None:
    file = lithos.garden.root.path / PROFILE
    file.parent.mkdir(parents=True)
    file.write_text(_thousand_lines())

    def patch(number: int) -> None:
        change = {"section_anchor": "s25 v1", "change": {"replace": f"round {number}"}}
        _call(lithos, "lithos_md_patch_section", path=PROFILE, rationale="bench", **change)

    def bare(number: int) -> None:
        """The least that is durable: one file and its folder."""
        data = file.read_bytes()
        fresh = file.with_name("bare.tmp")
        with open(fresh, "wb") as out:
            out.write(data + b"%d" % number)
            out.flush()
            os.fsync(out.fileno())
        os.replace(fresh, file.with_name("bare.md"))
        above = os.open(file.parent, os.O_RDONLY)
        os.fsync(above)
        os.close(above)

    alone, ours = percentile(_timed(bare), 0.5), percentile(_timed(patch), 0.5)
    line("patch one section of 1,000 lines, durable, p50", ours, 10, "ms")
    line("  beside one bare durable replace (p50)", ours / alone, 12, "x ")


def _listing(lithos: Lithos) -> None:
    spent = _timed(lambda _: _call(lithos, "lithos_md_list_sections", path=PROFILE))
    line("list the sections of 1,000 lines, p50", percentile(spent, 0.5), 3, "ms")
    text = _thousand_lines()
    from lithos.core.markdown import scan

    line("  of that: the scan itself", percentile(_timed(lambda _: scan(text)), 0.5), 3, "ms")


def _searching(lithos: Lithos) -> None:
    for number in range(FILES):
        file = lithos.garden.root.path / f"users/ana/parts/p{number}/notes.md"
        file.parent.mkdir(parents=True)
        file.write_text(f"# Notes {number}\n" + "Some words that are in every file.\n" * 20)
    spent = _timed(lambda _: _call(lithos, "lithos_fs_search", pattern=r"Notes\s+77\d\d$"), 5)
    line(f"search {FILES:,} files", min(spent), 500, "ms")
    bare = min(_timed(lambda _: sum(1 for _ in _bare_read(lithos.garden.root.path)), 5))
    line("  beside reading them all with open()", min(spent) / bare, 2, "x ")


def _bare_read(top: Path) -> Iterator[bytes]:
    for folder, _, names in os.walk(top):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                yield file.read()


def _querying(lithos: Lithos) -> None:
    """Rows put in straight: a million changes would take an hour, and only the query is measured."""
    ground = lithos.storage
    columns = "id, store, position, at, updated_at, tool, type, op, agent, user_id, thing, path, status, details"
    sql = f"INSERT INTO events ({columns}) VALUES ({', '.join('?' * 14)})"
    for start in range(0, EVENTS, 100_000):
        rows = [_event(number) for number in range(start, start + 100_000)]
        ground.database.write(lambda tx, rows=rows: tx.many(sql, rows))  # type: ignore[misc]
    for name, wanted in {
        "by path": EventFilter(path="users/u7/notes.md"),
        "by user and agent": EventFilter(user_id="u7", agent="a7"),
        "newest": EventFilter(),
    }.items():
        spent = _timed(lambda _, wanted=wanted: ground.database.read(lambda tx: ground.events.find(tx, wanted)), 50)  # type: ignore[misc]
        line(f"query {EVENTS:,} events {name}, p50", percentile(spent, 0.5), 20, "ms")


def _event(number: int) -> tuple[Any, ...]:
    user = f"u{number % 1000}"
    times = (number, number * 1000, number * 1000)
    what = ("t", "observation", "append", f"a{number % 50}", user, f"thing-{number % 5000}", f"users/{user}/notes.md")
    return (f"E{number:026}", "s", *times, *what, "committed", "{}")


if __name__ == "__main__":
    main()
