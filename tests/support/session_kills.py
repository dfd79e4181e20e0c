"""The life of a session in a process that is killed at a named step; run again, the same calls finish it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.settings import LithosConfig, SearchSettings, StorageSettings
from lithos.storage import PlannedFaults
from lithos.tools.catalogue import catalogue
from tests.support import fork_server

PATIENT = SearchSettings(wait_seconds=30)
AGENT = {"agent": "ann"}
THOUGHT = {"thought_type": "Decision", "agent_id": "ann"}
STEPS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("activate", "lithos_session_activate", AGENT),
    ("first", "lithos_session_context_update", {**AGENT, "changes": {"message_history": {"add": ["first"]}}}),
    ("decision", "mentisdb_append", {**THOUGHT, "content": "bucket"}),
    ("suspend", "lithos_session_suspend", AGENT),
    ("resume", "lithos_session_resume", AGENT),
    ("second", "lithos_session_context_update", {**AGENT, "changes": {"message_history": {"add": ["second"]}}}),
    ("lesson", "mentisdb_append", {**THOUGHT, "content": "lesson"}),
    ("complete", "lithos_session_complete", {**AGENT, "summary": "done"}),
)


def live(lithos: Lithos) -> None:
    """Every call with a separate key, so that a second run of the same calls changes nothing."""
    call = catalogue().call
    made = call(lithos, "lithos_session_create", {**AGENT, "name": "s", "idempotency_key": "create"})["session_id"]
    print("create", flush=True)
    for name, tool, arguments in STEPS:
        named = {} if tool == "mentisdb_append" else {"session_id": made}
        call(lithos, tool, {**arguments, **named, "idempotency_key": name})
        print(name, flush=True)


def opened(folder: Path, url: str | None = None, faults: PlannedFaults | None = None) -> Lithos:
    """On PostgreSQL if a URL is given."""
    secret = None if url is None else SecretStr(url)
    config = LithosConfig(storage=StorageSettings(data_dir=folder, database_url=secret), search=PATIENT)
    return open_lithos(config, clock=FakeClock(), faults=faults)


def lived(folder: Path, point: str, visit: int, url: str | None = None) -> list[str]:
    """The steps that were acknowledged before the process was killed."""
    command = [sys.executable, "-m", "tests.support.session_kills", str(folder), point, str(visit), url or ""]
    done = fork_server.run(command, timeout=300)
    assert done.returncode == 137, done.stderr
    return done.stdout.split()


def finish(folder: Path, url: str | None = None) -> None:
    """The same calls again, in this process."""
    lithos = opened(folder, url)
    live(lithos)
    lithos.close()


def state(folder: Path, url: str | None = None) -> dict[str, Any]:
    """What is there: the session without its times and ids, its context, its entries and who sees them."""
    lithos = opened(folder, url)
    call = catalogue().call
    sessions = call(lithos, "lithos_session_list", {})["sessions"]
    found: dict[str, Any] = {"sessions": len(sessions)}
    if sessions:
        shown = call(lithos, "lithos_session_get", {"session_id": sessions[0]["id"], **AGENT})
        found |= {"state": shown["state"], "messages": shown["context"]["message_history"], "here": shown["here"]}
        page = call(lithos, "lithos_session_query", {"session_id": sessions[0]["id"], **AGENT})
        found["entries"] = [each["content"] for each in page["entries"]]
        seen = call(lithos, "lithos_session_query", {"agent": "eve"})["entries"]
        found["public"] = [each["content"] for each in seen]
    lithos.close()
    return found


def moved(folder: Path, other: Path, url: str | None = None, other_url: str | None = None) -> tuple[str, str] | None:
    """Suspend what is active, restore it in a second data directory: both full briefings. None: there is no session.

    Left out: what changed outside, which differs by its nature."""
    call, here, there = catalogue().call, opened(folder, url), opened(other, other_url)
    try:
        sessions = call(here, "lithos_session_list", {})["sessions"]
        if not sessions:
            return None
        named = {"session_id": sessions[0]["id"], **AGENT}
        if sessions[0]["state"] == "active":
            call(here, "lithos_session_suspend", named)
        kept = call(here, "lithos_session_snapshot", {**named, "with_entries": True})["snapshot"]
        call(there, "lithos_session_restore", {"snapshot": kept, "with_entries": True, **AGENT})
        asked = {**named, "tier": "full"}
        one, two = (call(each, "lithos_get_briefing", asked)["briefing"] for each in (here, there))
        return _inside(one), _inside(two)
    finally:
        here.close()
        there.close()


def _inside(briefing: str) -> str:
    return briefing.partition("## Changed outside since")[0].rstrip()


if __name__ == "__main__":
    folder, point, visit = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    planned = PlannedFaults()
    host = opened(folder, sys.argv[4] or None, planned)
    planned.plan(point, "kill", planned.seen.count(point) + visit)
    live(host)
    host.close()
