"""Kinds of files under the data directory, what can happen to each, and what Lithos owes then."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lithos.app import Lithos
from lithos.errors import LithosError
from lithos.graph.code.code import OpenRoot
from lithos.storage import Rebuilding
from lithos.tools.catalogue import catalogue
from tests.faults.data import OPERATOR, opened
from tests.support.file_modes import modes_count, possible

LONGEST_SECONDS = 60  # one case; a FIFO that is opened for reading would wait for ever
HEALED, REFUSED, DETECTED, EDIT = "healed", "refused", "detected", "edit"
DERIVED = {HEALED}
AUTHORITY = {REFUSED, DETECTED}
EVIDENCE = {HEALED, REFUSED, DETECTED}  # answers do not depend on it
PEOPLES = {EDIT, DETECTED}  # a person's file: what is there counts, and earlier versions are kept

# Every kind of file → the verdicts that are right. A file that matches none fails `test_every_kind_has_a_ruling`.
RULINGS: dict[str, set[str]] = {
    r"\.catalogue/catalogue-\w+\.db(-wal|-shm)?": DERIVED,
    r"\.graph/code/\w+\.db(-wal|-shm)?": DERIVED,
    r"\.graph/knowledge\.db(-wal|-shm)?": DERIVED,
    r"\.graph/served/[0-9a-f]{64}": DERIVED,
    r"\.graph/surveys/[\w-]+\.json": DERIVED,
    r"\.lithos/checkpoints/[^/]+\.jsonl": EVIDENCE,
    r"\.lithos/code-roots\.json": AUTHORITY,
    r"\.lithos/coordination\.db": AUTHORITY,
    r"\.lithos/coordination\.db-wal": AUTHORITY,
    r"\.lithos/coordination\.db-shm": EVIDENCE,
    r"\.lithos/coordination\.db\.mark": EVIDENCE,
    r"\.lithos/coordination\.db\.reserve": {HEALED},
    r"\.lithos/database\.json": EVIDENCE,
    r"\.lithos/history/.+": {DETECTED, EDIT},
    r"\.lithos/trash/.+": {DETECTED, EDIT},
    r"\.lithos/keys/events-\d+\.key": AUTHORITY,
    r"\.lithos/keys/events\.head": EVIDENCE,
    r"\.lithos/keys/ledger_ed25519": AUTHORITY,
    r"\.lithos/keys/ledger_ed25519\.pub": EVIDENCE,
    r"\.lithos/ledger/[^/]+/\d+\.bin": AUTHORITY,
    r"\.lithos/ledger/[^/]+/acknowledged\.bin": EVIDENCE,
    r"\.lithos/ledger/[^/]+/chain\.json": AUTHORITY,
    r"\.lithos/ledger/[^/]+/registry\.jsonl": AUTHORITY,
    r"\.lithos/ledger/[^/]+/(index\.crc|merkle\.bin|names\.jsonl|rows\.bin|terms\.bin)": DERIVED,
    r"\.lithos/recent/\w+\.log": EVIDENCE,
    r"\.lithos/store-id": AUTHORITY,
    r"\.lithos/host\.lock": EVIDENCE,
    r"\.lithos/host\.log": {HEALED},
    r"\.lithos/host\.sock": EVIDENCE,
    r"\.tantivy/\w+/catalogue\.db(-wal|-shm)?": DERIVED,
    r"\.tantivy/\w+/text\d+/.+": DERIVED,
    r"\.vectors/\w+/rows\.bin": DERIVED,
    r"garden/.+": PEOPLES,
    r"knowledge/\.lithos-.+": EVIDENCE,
    r"knowledge/.+\.md": PEOPLES,
}


def kind_of(path: str) -> str | None:
    """The kind of a file: its path without the names that differ from one data directory to the next."""
    if ruling(path) is None:
        return None
    path = re.sub(r"[0-9a-f]{32,64}|\d{8}T[\d.]+Z-", "*", path)
    path = re.sub(r"catalogue-\w+\.db", "catalogue-*.db", path)
    path = re.sub(r"^\.tantivy/\w+/(text\d+/(documents|passages)(/\d+)?)?", ".tantivy/…/", path)
    path = re.sub(r"^\.vectors/\w+/", ".vectors/…/", path)
    path = re.sub(r"^\.lithos/(ledger|checkpoints)/[\w-]+?-[0-9a-f]{16}", r".lithos/\1/*", path)
    path = re.sub(r"note-\d|knowledge/\.lithos-.+", "note", path)
    return re.sub(r"recent/\w+", "recent/*", path)


def ruling(path: str) -> set[str] | None:
    return next((allowed for form, allowed in RULINGS.items() if re.fullmatch(form, path)), None)


def files(data_dir: Path) -> dict[str, Path]:
    """One file of each kind; kinds without a ruling under their own path."""
    found: dict[str, Path] = {}
    for path in sorted(data_dir.rglob("*"), reverse=True):
        if not path.is_dir() or path.is_symlink():
            name = path.relative_to(data_dir).as_posix()
            found[kind_of(name) or name] = path.relative_to(data_dir)
    return dict(sorted(found.items()))


# Damage


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for place in {len(data) // 3, len(data) // 2, 2 * len(data) // 3} if data else ():
        data[place] ^= 0x15
    path.write_bytes(data)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path) -> None:
    """To a file of someone else: it must stay as it is."""
    path.unlink()
    path.symlink_to(victim(path))


def dangling(path: Path) -> None:
    """To a file that is not there: none may be made there."""
    path.unlink()
    path.symlink_to(victim(path).with_name("nothing"))


def unreadable(path: Path) -> None:
    path.chmod(0)


def victim(path: Path) -> Path:
    data_dir = next(each for each in path.parents if each.name == "data")
    return data_dir.parent / "victim"


Damage = Callable[[Path], None]
DAMAGES: tuple[Damage, ...] = (truncate, empty, flip, Path.unlink, folder, fifo, link, dangling)
if possible():
    DAMAGES += (unreadable,)


# Judging


def answers(memory: Lithos) -> dict[str, Any]:
    """What callers get to know of everything that is stored."""

    def call(tool: str, /, **arguments: Any) -> Any:
        try:
            return catalogue().call(memory, tool, arguments, OPERATOR)
        except LithosError as error:
            assert error.hint and error.code != "internal", (tool, error.as_dict())
            return error

    def pick(answer: Any, *names: str) -> Any:
        return answer if isinstance(answer, LithosError) else [answer.get(name) for name in names]

    notes = call("lithos_list")
    note = call("lithos_read", id="note 0")
    search = call("lithos_search", query="word1")
    for root in memory.code.roots():
        if _is_empty(root):  # a host reads the files behind the start
            root.index.reconcile()
    if (thoughts := memory.ledger.collection) is not None:
        thoughts.settle(LONGEST_SECONDS / 2)  # until it has healed, its answers say `degraded`
    return {
        "notes": pick(notes, "total"),
        "note": pick(note, "content"),
        "search": pick(search, "degraded") if isinstance(search, LithosError) else _hits(search),
        "tasks": pick(call("lithos_task_list"), "total"),
        "findings": pick(call("lithos_finding_list", task_id="t"), "findings"),
        "thoughts": pick(call("mentisdb_recent_context"), "prompt"),
        "registry": pick(call("mentisdb_get_agent", agent_id="ann"), "agent"),
        "recall": pick(call("lithos_recall", query="found"), "degraded"),
        "skills": pick(call("mentisdb_read_skill", skill_id="s1"), "content"),
        "history": _kept(memory),
        "garden": pick(call("lithos_fs_read", path="users/u1/notes.md", user_id="u1"), "content"),
        "code": _symbols(call("lithos_code_list")),
        "style": pick(call("lithos_get_style_guide", root="shop"), "in_short") if memory.code.roots() else None,
        "file": pick(call("lithos_get_file", path="shop.py"), "content") if memory.code.roots() else None,
        "commits": pick(call("lithos_search_history", query="price"), "results"),
        "messages": pick(call("lithos_inbox_list"), "waiting"),
        "events": pick(call("lithos_events_verify"), "ok"),
    }


def _hits(search: dict[str, Any]) -> Any:
    return (search.get("degraded"), [hit["title"] for hit in search["results"]])


def _is_empty(root: OpenRoot) -> bool:
    try:
        return not root.store.stamps()
    except Rebuilding:
        return True


def _symbols(listed: Any) -> Any:
    return listed if isinstance(listed, LithosError) else [(root["name"], root["symbols"]) for root in listed["roots"]]


def _kept(memory: Lithos) -> Any:
    """Every replaced and deleted version that can still be read."""
    root = memory.storage.roots["vault"]
    try:
        kept = [*root.history("note-0.md"), *root.trashed("note-3.md")]
        return [root.read_kept(each) for each in kept]
    except LithosError as error:
        return error


class Hung(BaseException):
    """No error of the system: code that expects those must not swallow it."""


@contextmanager
def bounded(seconds: int = LONGEST_SECONDS) -> Iterator[None]:
    """Nothing may hang: interrupts a system call that waits."""

    def late(*_: object) -> None:
        raise Hung(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds, 2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def red(memory: Lithos) -> list[str]:
    """What `doctor` and `/health` say is wrong."""
    findings = catalogue().call(memory, "lithos_doctor", {}, OPERATOR)["findings"]
    said = [f"{each['part']}: {each['message']}" for each in findings if each["severity"] != "ok"]
    assert all(each["todo"] for each in findings if each["severity"] != "ok"), findings
    said = [each for each in said if "was moved aside" not in each]  # a copy of what was damaged, after it healed
    return said + [problem for problem in [memory.health()] if problem is not None]


class Case:
    """One damaged copy of a data directory."""

    def __init__(self, pristine: Path, folder: Path) -> None:
        self.data = folder / "data"
        self.victim = folder / "victim"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(pristine, self.data, symlinks=True, ignore=shutil.ignore_patterns("*.sock"))
        self.victim.write_text("someone else's\n")

    def judge(self, expected: dict[str, Any], usual: set[str]) -> tuple[str, str]:
        """(verdict, why) of a start with what is there now."""
        with bounded(), modes_count():
            try:
                with opened(self.data) as memory:
                    verdict = self._judge_open(memory, expected, usual)
            except LithosError as error:
                assert error.hint and error.code != "internal", error.as_dict()
                verdict = REFUSED, error.message
        assert self.victim.read_text() == "someone else's\n", "a file outside was written"
        assert not self.victim.with_name("nothing").exists(), "a file outside was made"
        return verdict

    def _judge_open(self, memory: Lithos, expected: dict[str, Any], usual: set[str]) -> tuple[str, str]:
        found = answers(memory)
        said = [each for each in red(memory) if each not in usual]
        errors = {name: each for name, each in found.items() if isinstance(each, LithosError)}
        other = {name: each for name, each in found.items() if name not in errors and each != expected[name]}
        if not errors and not other:
            return (DETECTED, "; ".join(said)) if said else (HEALED, "")
        if errors or said:
            named = "; ".join(f"{name}: {error.code} {error.message}" for name, error in errors.items())
            return DETECTED, "; ".join([*said, named])
        return "silent", json.dumps(other, default=str)[:600]
