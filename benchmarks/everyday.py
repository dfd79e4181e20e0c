"""The first five minutes and every day after: CPU of commands and hooks; import, backup, restore of 2,000 notes."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.report import line, percentile
from lithos.backup import RestoreOptions, make_backup, restore
from lithos.core.text import estimate_tokens
from lithos.from_settings import memory_places
from lithos.settings import LithosConfig, StorageSettings

LITHOS = [sys.executable, "-m", "lithos.cli.entry"]
NOTES = 2_000
ROUNDS = 15
RATE = 200  # notes/s: 10,000 notes within a minute


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="lithos-bench-"))
    try:
        _notes(folder / "vault")
        _import(folder)
        _commands(folder)
        _backup(folder)
    finally:
        subprocess.run([*LITHOS, "stop", "--data-dir", str(folder / "data")], capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def _notes(vault: Path) -> None:
    vault.mkdir(parents=True)
    for number in range(NOTES):
        (vault / f"note {number}.md").write_text(f"# Note {number}\n\n" + f"Sentence {number} of a note. " * 40)


def _import(folder: Path) -> None:
    spent = _cpu(partial(_run, folder, "import", str(folder / "vault")))
    line("import with the first full-text index", NOTES / spent, RATE, "notes/s of CPU", more_is_better=True)


def _commands(folder: Path) -> None:
    serve = subprocess.Popen(
        [*LITHOS, "serve", "--data-dir", str(folder / "data")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert serve.stdin and serve.stdout
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    serve.stdin.write(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}).encode() + b"\n"
    )
    serve.stdin.flush()
    serve.stdout.readline()
    said = _run(folder, "hook", "session-start")
    words = json.loads(said)["hookSpecificOutput"]["additionalContext"]
    line("session-start hook, tokens", estimate_tokens(words), 500, "tokens")
    for name, limit, arguments in (
        ("lithos --help", 250, ("--help",)),
        ("session-start hook", 300, ("hook", "session-start")),
        ("lithos status", 1000, ("status",)),
        ("completion of a note's title", 500, ("complete", "--", "note", "show", "")),
    ):
        spent = [_cpu(partial(_run, folder, *arguments)) for _ in range(ROUNDS)]
        line(f"{name}, CPU", percentile(spent, 0.5) * 1000, limit, "ms")
    serve.stdin.close()
    serve.wait()


def _backup(folder: Path) -> None:
    places = memory_places(LithosConfig(storage=StorageSettings(data_dir=folder / "data")))
    began = time.process_time()
    make_backup(places, folder / "b")
    rate = NOTES / (time.process_time() - began)
    line("backup, read back", rate, RATE, "notes/s of CPU", more_is_better=True)
    began = time.process_time()
    restore(RestoreOptions(folder / "b", folder / "restored"))
    rate = NOTES / (time.process_time() - began)
    line("restore, verified", rate, RATE, "notes/s of CPU", more_is_better=True)


def _run(folder: Path, *words: str) -> str:
    environment = {**os.environ, "LITHOS_DATA_DIR": str(folder / "data")}
    done = subprocess.run([*LITHOS, *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def _cpu(work: Callable[[], object]) -> float:
    """CPU seconds of the processes that it started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
