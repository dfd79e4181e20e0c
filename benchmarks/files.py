"""Files: confined reads, durable replaces and the scan, beside the bare calls."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.report import line, percentile
from lithos.core.clock import SystemClock
from lithos.storage import Root

FILES, FOLDERS, ROUNDS = 50_000, 100, 200


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="lithos-bench-"))
    root = Root(folder / "vault", name="vault", keep=folder / ".lithos", clock=SystemClock())
    try:
        _replacing(root)
        _scanning(root)
    finally:
        root.close()
        shutil.rmtree(folder)


def _p50(work: Callable[[int], object], rounds: int = ROUNDS) -> float:
    spent = []
    for number in range(rounds):
        started = time.perf_counter()
        work(number)
        spent.append((time.perf_counter() - started) * 1e3)
    return percentile(spent, 0.5)


def _replacing(root: Root) -> None:
    """In turns, so that a busy disk is as busy for the one as for the other."""
    state = {"version": root.replace("a.md", b"start", None).version, "kept": root.replace("b.md", b"s", None).version}

    def ours(number: int) -> None:
        state["version"] = root.replace("a.md", b"%d" % number, state["version"], history=False).version

    def with_history(number: int) -> None:
        state["kept"] = root.replace("b.md", b"%d" % number, state["kept"]).version

    bare, plain, kept = [], [], []
    for number in range(ROUNDS):
        bare.append(_p50(lambda _, n=number: _bare_replace(root.path, n), 1))  # type: ignore[misc]
        plain.append(_p50(lambda _, n=number: ours(n), 1))  # type: ignore[misc]
        kept.append(_p50(lambda _, n=number: with_history(n), 1))  # type: ignore[misc]
    alone = percentile(bare, 0.5)
    line("durable replace, p50, beside a bare one", percentile(plain, 0.5) / alone, 2, "x ")
    line("  with the version before kept in the history", percentile(kept, 0.5) / alone, 4, "x ")


def _bare_replace(folder: Path, number: int) -> None:
    with open(folder / "bare.tmp", "wb") as out:
        out.write(b"%d" % number)
        out.flush()
        os.fsync(out.fileno())
    os.replace(folder / "bare.tmp", folder / "bare.md")
    above = os.open(folder, os.O_RDONLY)
    os.fsync(above)
    os.close(above)


def _scanning(root: Root) -> None:
    for number in range(FILES):
        file = root.path / f"f{number % FOLDERS}" / f"note-{number}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"# note\nsome text\n")
    bare = min(_p50(lambda _: _bare_scan(root.path), 1) for _ in range(5))
    ours = min(_p50(lambda _: sum(1 for _ in root.scan()), 1) for _ in range(5))
    line(f"scan {FILES:,} files, beside os.scandir and stat", ours / bare, 2, "x ")
    line("  seconds", ours / 1e3, 0.75, "s ")
    line("clear what a crash left (start), beside that scan", _p50(lambda _: root.recover(), 3) / ours, 1, "x ")


def _bare_scan(folder: str | Path) -> int:
    count = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                count += _bare_scan(entry.path)
            else:
                entry.stat(follow_symlinks=False)
                count += 1
    return count


if __name__ == "__main__":
    main()
