"""People and agents: editors of five habits and git checkouts against agents, with the watcher and the scanner running.

Afterwards every line that a person saved and every version that an agent was told of is in the file, its history, a
conflict copy or the trash.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import uuid
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lithos.errors import LithosError
from lithos.tools.catalogue import catalogue
from tests.support.guests import GuestProcess
from tests.support.waiting import until
from tests.torture import judge
from tests.torture.crash import WarmHousehold

EDITED = 20  # files that editors and agents share
AGENTS, EDITORS = 2, 2
PATIENCE_S = 1200.0
LEAST_TOLD = 30  # versions: editors go on until agents have had their part


class Repository:
    """Notes under git in the vault, in two branches that differ in every file."""

    def __init__(self, folder: Path, files: int) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.ids = [str(uuid.uuid4()) for _ in range(files)]
        self._git("init", "-q", "-b", "one")
        for branch in ("one", "two"):
            if branch == "two":
                self._git("checkout", "-q", "-b", "two")
            for number, note in enumerate(self.ids):
                text = f"---\nid: {note}\ntitle: git {number}\n---\n{branch} {number}\n"
                (folder / f"git-{number}.md").write_text(text)
            self._git("add", "-A")
            self._git("commit", "-q", "-m", branch)

    def checkout(self, number: int) -> None:
        self._git("checkout", "-q", "-f", ("one", "two")[number % 2])

    def _git(self, *arguments: str) -> None:
        who = ["-c", "user.name=p", "-c", "user.email=p@example.org", "-c", "core.fsync=none"]
        subprocess.run(["git", *who, *arguments], cwd=self.folder, check=True, capture_output=True)


class Writer:
    """An agent that writes shared notes; `told` are the versions that it was told of."""

    def __init__(self, guest: GuestProcess, notes: list[str], seed: int) -> None:
        self._guest, self._notes, self._dice = guest, notes, random.Random(seed)
        self.told: list[tuple[str, str]] = []
        self.refused = 0

    def act(self, number: int) -> None:
        note = self._dice.choice(self._notes)
        change: dict[str, Any] = {"content": f"agent {number}", "append": self._dice.random() < 0.5}
        arguments = {"id": note, "agent": "agent", **change}
        answer = self._guest.request("tools/call", {"name": "lithos_write", "arguments": arguments})
        if "result" in answer and not answer["result"]["isError"]:
            self.told.append((note, answer["result"]["structuredContent"]["version"]))
        else:
            self.refused += 1


def campaign(folder: Path, seed: int, saves: int, checkouts: int, git_files: int, bug: str = "") -> dict[str, Any]:
    """So many saves and checkouts while agents write; counts. Raises AssertionError that lists what is lost."""
    data = folder / "data"
    (data / "knowledge").mkdir(parents=True)
    settings = {"index": {"scan_seconds": 2.0, "watch_debounce_ms": 50}, "storage": {"history_versions": 100_000}}
    (data / "config.yaml").write_text(json.dumps(settings))
    repository = Repository(data / "knowledge" / "repo", git_files)
    with ExitStack() as closing:
        home = WarmHousehold(folder, seed, armed=False, bug=bug)
        closing.callback(home.check_out)
        guests = [home.guest("--toolsets", "all") for _ in range(AGENTS)]
        for guest in guests:
            guest.initialize()
        shared = [_make(guests[0], number) for number in range(EDITED)]
        until(lambda: _documents(guests[0]) >= git_files + EDITED, "an index of all files", PATIENCE_S)
        writers = [Writer(guest, shared + repository.ids[:30], seed + who) for who, guest in enumerate(guests)]
        saved = _fight(writers, data / "knowledge" / "shared", repository, saves, checkouts, seed)
        home.lithos("stop")
    lost = _lost(data, writers, saved)
    told = sum(len(writer.told) for writer in writers)
    saves = sum(saved)
    assert not lost, f"{len(lost)} of {saves} saves and {told} versions are nowhere: {lost[:20]}"
    refused = sum(writer.refused for writer in writers)
    return {"saves": saves, "checkouts": checkouts, "acknowledged versions": told, "refused": refused}


def _make(guest: GuestProcess, number: int) -> str:
    made = guest.call("lithos_write", title=f"shared {number}", content="start", path="shared", agent="agent")
    return str(made["id"])


def _documents(guest: GuestProcess) -> int:
    return int(guest.call("lithos_stats")["documents"])


def _fight(
    writers: list[Writer], folder: Path, repository: Repository, saves: int, checkouts: int, seed: int
) -> list[int]:
    """How often each editor saved."""
    enough = folder.parent.parent / "enough"
    command = [sys.executable, "-m", "tests.torture.editor", str(folder), str(enough)]
    share = saves // EDITORS
    editors = [
        subprocess.Popen([*command, str(who), str(EDITORS), str(share), str(seed * 10 + who)]) for who in range(EDITORS)
    ]
    over = threading.Event()
    threads = [threading.Thread(target=_write, args=(writer, over)) for writer in writers]
    for thread in threads:
        thread.start()
    try:
        for number in range(checkouts):
            repository.checkout(number)
        until(lambda: sum(len(writer.told) for writer in writers) >= LEAST_TOLD, "some versions", PATIENCE_S)
        enough.touch()
        for editor in editors:
            assert editor.wait(PATIENCE_S) == 0
    finally:
        over.set()
        for thread in threads:
            thread.join()
        for editor in editors:
            editor.kill()
            editor.wait()
    return [int(enough.with_suffix(f".{who}").read_text()) for who in range(EDITORS)]


def _write(writer: Writer, over: threading.Event) -> None:
    number = 0
    while not over.is_set():
        writer.act(number)
        number += 1


def _lost(data: Path, writers: list[Writer], saved: list[int]) -> list[str]:
    memory = judge.opened(data)
    try:
        memory.notes.reindex()
        for root in memory.storage.roots.values():
            root.sweep(everything=True)
        memory.notes.reindex()
        told = [each for writer in writers for each in writer.told]
        lost = [f"{note} {version}" for note, version in told if not _reached(memory, note, version)]
    finally:
        memory.close()
    kept = [*(data / "knowledge").rglob("*.md"), *(data / ".lithos").rglob("*.md")]
    lines = {line.strip() for file in kept if file.is_file() for line in file.read_text().splitlines()}
    own = [f"person{who} {number}" for who, saves in enumerate(saved) for number in range(saves)]
    return lost + [line for line in own if line not in lines]


def _reached(memory: Any, note: str, version: str) -> bool:
    """By the tools: the note as it is, or a version to compare with."""
    try:
        if judge.call(memory, "lithos_read", id=note, detail=True).get("version") == version:
            return True
        catalogue().call(memory, "lithos_note_diff", {"id": note, "old": version})
    except LithosError:
        return False
    return True
