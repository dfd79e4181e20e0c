"""Checks of `lithos doctor` inside an open memory: each check gives findings, with what to do about them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.core.clock import from_micros, rfc3339
from lithos.errors import Forbidden, LithosError
from lithos.ledger import Verification, chain_folders, check_host_key
from lithos.storage import STATE, Tx, folder_size
from lithos.tools.registry import tool

QUICK_BYTES = 64 * 2**20  # a database up to this size is read as a whole in half a second
QUICK_EVENTS = 20_000
QUICK_LEDGER = 16 * 2**20  # bytes of chains, verified in half a second
BACKLOG = 1000  # fewer changes are indexed within a second
AHEAD = timedelta(minutes=5)
PROBE = "doctor_probe"
STATE_FOLDERS = ("checkpoints", "history", "keys", "ledger", "recent", "trash", "worktrees")
FOLDERS = ("knowledge", "garden", ".tantivy", ".vectors", ".catalogue", ".graph", ".graph/code", ".graph/surveys")


class Finding(TypedDict):
    part: str
    severity: Literal["ok", "warning", "error"]
    message: str
    todo: str


class Examination(TypedDict):
    findings: list[Finding]
    repaired: list[str]


@tool(toolset="operator", notes=True)
def lithos_doctor(
    lithos: Lithos,
    call: Call,
    full: Annotated[bool, Field(description="Check everything instead of tails and samples")] = False,
    repair: Annotated[bool, Field(description="Rebuild what is derived and wrong; never touches authority")] = False,
) -> Examination:
    """Check this memory: parts, database, audit, ledger, search, leftovers, clock, and one real write."""
    repaired = _repaired(lithos) if repair else []
    findings = [finding for check in CHECKS for finding in _run(check, lithos, full)]
    return {"findings": findings, "repaired": repaired}


def _run(check: Callable[[Lithos, bool], Iterator[Finding]], lithos: Lithos, full: bool) -> list[Finding]:
    """A check that fails has found something: it must not hide the others."""
    try:
        return list(check(lithos, full))
    except LithosError as error:
        part = check.__name__.lstrip("_")
        return [_error(part, error.message, error.hint or "See the host's log: `lithos log`.")]


def _repaired(lithos: Lithos) -> list[str]:
    """Derived state only: the catalogue from the files, search from its owners."""
    done = []
    if lithos.notes.search_difference():
        lithos.notes.reindex()
        done.append("search of notes was completed from the files")
    for name, collection in lithos.collections().items():
        if collection.difference() is not None:
            collection.verify()
            collection.compare()
            done.append(f"the text index of {name} is rebuilt")
    if changed := lithos.compare_indexes():
        done.append(f"{changed} entries of search were brought up to date")
    if wrong := lithos.messages.recount():
        done.append(f"{wrong} counters of waiting messages were set from the messages")
    return done + lithos.workshop.repair()


def _workshop(lithos: Lithos, full: bool) -> Iterator[Finding]:
    """Worktrees: folders without a row, steps that a crash cut, and the wall that commands get."""
    workshop = lithos.workshop
    if not workshop.projects:
        return
    todo = "`lithos doctor --repair`."
    if names := workshop.worktrees.leftovers():
        yield _warning("workshop", f"{len(names)} folders in {STATE}/worktrees belong to no worktree", todo)
    if between := workshop.worktrees.in_between():
        yield _error("workshop", f"{len(between)} worktrees are between two steps of a change", todo)
    if locks := workshop.worktrees.stale_locks():
        yield _warning("workshop", f"{len(locks)} worktrees have a lock of a git that was killed", todo)
    if workshop.options.enabled:
        try:
            yield _ok("workshop", f"commands run behind {workshop.runner.sandbox.wall()}")
        except Forbidden as error:
            yield _warning("workshop", f"commands are refused: {error.message}", error.hint)


def _messages(lithos: Lithos, full: bool) -> Iterator[Finding]:
    counts = lithos.messages.counts()
    if wrong := lithos.messages.miscounted():
        yield _error("messages", f"{wrong} counters of waiting messages are wrong", "`lithos doctor --repair`.")
    elif counts["dead_letters"]:
        todo = "`lithos dead-letter list`; replay or drop them."
        yield _warning("messages", f"{counts['dead_letters']} messages became dead letters", todo)
    else:
        yield _ok("messages", f"{counts['waiting']} messages wait, {counts['leased']} are worked on")


def _parts(lithos: Lithos, full: bool) -> Iterator[Finding]:
    problems = [problem for part in lithos.parts if (problem := part.problem()) is not None]
    for problem in problems:
        yield _error("parts", problem, "`lithos log` has the details. Derived parts rebuild themselves.")
    if not problems:
        yield _ok("parts", f"all {len(lithos.parts)} parts work")


def _coordination(lithos: Lithos, full: bool) -> Iterator[Finding]:
    database = lithos.storage.database
    if database.dialect.name != "sqlite":
        row = database.read(lambda tx: tx.one("SHOW data_checksums"))
        if row and row["data_checksums"] != "on":
            todo = "pg_checksums --enable, while the server is stopped."
            yield _warning("coordination", "this PostgreSQL keeps no page checksums", todo)
        else:
            yield _ok("coordination", "PostgreSQL compares page checksums itself")
        return
    wrong = []
    if pages := lithos.storage.wrong_pages():
        wrong.append(f"{pages} pages are not what was written")
    elif full or database.size() <= QUICK_BYTES:
        rows = database.read(lambda tx: tx.all("PRAGMA quick_check(5)" if not full else "PRAGMA integrity_check(5)"))
        wrong = [str(value) for row in rows for value in row.values() if value != "ok"]
    for each in wrong:
        yield _error("coordination", f"coordination.db: {each}", "Restore it from a backup (*.bak); not repaired here.")
    if not wrong:
        yield _ok("coordination", "every page of coordination.db is what was written")


def _events(lithos: Lithos, full: bool) -> Iterator[Finding]:
    storage = lithos.storage
    row = storage.database.read(lambda tx: tx.one("SELECT count(*) AS n FROM events"))
    if row and row["n"] > QUICK_EVENTS and not full:
        yield _ok("events", f"{row['n']} events; --full verifies their chain")
        return
    verdict = storage.database.read(storage.events.verify)
    if verdict["ok"]:
        yield _ok("events", f"the chain of {verdict['events']} events is whole")
    else:
        first = verdict["problems"][0]["what"] if verdict["problems"] else "unknown"
        yield _error("events", f"{verdict['problem_count']} problems, the first: {first}", "`lithos events verify`.")


def _ledger(lithos: Lithos, full: bool) -> Iterator[Finding]:
    """Verify the files, the smallest chains first: a chain that is open was read when it was opened."""
    check_host_key(lithos.storage.state / "keys")
    checkpoints = lithos.ledger.environment.checkpoints
    folders = sorted(chain_folders(lithos.ledger.folder, checkpoints), key=folder_size)
    read = left = 0
    for folder in folders:
        read += folder_size(folder)
        if not full and read > QUICK_LEDGER:
            left += 1
            continue
        report = Verification(folder, checkpoints, full=full, live=True).run()
        if not report.ok:  # the host may have forgotten a thought meanwhile
            report = Verification(folder, checkpoints, full=full, live=True).run()
        for finding in report.findings[:1]:
            todo = "`lithos ledger verify`, then restore a backup."
            yield _error("ledger", f"chain {report.chain_key!r}: {finding.message}", todo)
    for chain in lithos.ledger.open_chains():
        if chain.problem is not None:
            todo = "`lithos ledger verify`, then restore a backup."
            yield _error("ledger", f"chain {chain.key!r}: {chain.problem.message}", todo)
    yield _ok("ledger", f"{len(folders)} chains" + (f"; --full verifies {left} long ones too" if left else ""))


def _search(lithos: Lithos, full: bool) -> Iterator[Finding]:
    todo = "It heals within a minute; `lithos doctor --repair` does it now."
    if differs := lithos.notes.search_difference():
        yield _error("search", f"{differs} notes are not in search as they are in the files", todo)
    for name, collection in lithos.collections().items():
        if difference := collection.difference():
            yield _error("search", f"{name}: {difference}", todo)
    status = lithos.note_search.collection.status()
    if status.unindexed >= BACKLOG:
        said = f"{status.unindexed} notes or more are not in the text index yet; searches wait for them"
        yield _warning("search", said, "A host goes on by itself: start one, or wait.")
        return
    yield _ok("search", f"{status.documents} notes, {status.embedded} of {status.passages} passages embedded")


def _folders(lithos: Lithos, full: bool) -> Iterator[Finding]:
    """Something else in place of a folder, which a part finds only when it needs it."""
    names = (*FOLDERS, *(f"{STATE}/{name}" for name in STATE_FOLDERS))
    for name in names:
        path = lithos.storage.data_dir / name
        if os.path.lexists(path) and not path.is_dir():
            todo = "Move it away, and restore the folder from a backup if it held something."
            yield _error("folders", f"{name} is not a folder", todo)


def _leftovers(lithos: Lithos, full: bool) -> Iterator[Finding]:
    """Files that nothing refers to; each may be the only copy of something, so none is deleted here."""
    data = lithos.storage.data_dir
    for path in [*data.glob(".*/**/*damaged*"), *data.glob(".*damaged*")][:20]:
        yield _warning(
            "leftovers", f"{path.relative_to(data)} was moved aside", "Delete it when you have looked at it."
        )
    known = {
        "code-roots",
        "coordination",
        "database",
        "events",
        "garden",
        "history",
        "host",
        "keys",
        "ledger",
        "recent",
        "store-id",
    }
    known |= {"trash", "checkpoints", "lithos", "worktrees", "log", "sessions", "graph"}
    roots = {f"{root.spec.name}.db" for root in lithos.code.roots()}
    for path in (data / ".graph" / "code").glob("*.db"):
        if path.name not in roots and path.name != "damaged.db":
            todo = "`lithos code add` names its folder again; else delete the file."
            yield _warning("leftovers", f"{path.relative_to(data)} is the graph of a root that is not named", todo)
    for path in (data / STATE).iterdir():
        if path.name.lstrip(".").split(".")[0] not in known:
            yield _warning("leftovers", f"{STATE}/{path.name} is not one of Lithos's files", "Move it elsewhere.")


def _clock(lithos: Lithos, full: bool) -> Iterator[Finding]:
    row = lithos.storage.database.read(lambda tx: tx.one("SELECT max(at) AS newest FROM events"))
    newest = from_micros(row["newest"]) if row and row["newest"] else None
    if newest is not None and newest > lithos.clock.now() + AHEAD:
        yield _warning("clock", f"the newest event is of {rfc3339(newest)}, later than now", "Set the machine's clock.")
    else:
        yield _ok("clock", "no event is later than now")


def _write(lithos: Lithos, full: bool) -> Iterator[Finding]:
    """One durable row, read back and removed."""
    database = lithos.storage.database

    def put(tx: Tx) -> None:
        tx.run("DELETE FROM meta WHERE name = ?", PROBE)
        tx.run("INSERT INTO meta (name, value) VALUES (?, ?)", PROBE, "1")

    database.write(put)
    there = database.read(lambda tx: tx.one("SELECT value FROM meta WHERE name = ?", PROBE))
    database.write(lambda tx: tx.run("DELETE FROM meta WHERE name = ?", PROBE))
    if there is None:
        yield _error("write", "a row that was acknowledged cannot be read back", "Stop the host and look at the disk.")
    else:
        yield _ok("write", "a row was written, read back and removed")


def _ok(part: str, message: str) -> Finding:
    return {"part": part, "severity": "ok", "message": message, "todo": ""}


def _warning(part: str, message: str, todo: str) -> Finding:
    return {"part": part, "severity": "warning", "message": message, "todo": todo}


def _error(part: str, message: str, todo: str) -> Finding:
    return {"part": part, "severity": "error", "message": message, "todo": todo}


CHECKS = (
    _parts,
    _coordination,
    _events,
    _ledger,
    _search,
    _folders,
    _leftovers,
    _messages,
    _workshop,
    _clock,
    _write,
)
