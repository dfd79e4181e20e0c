"""Sessions in process: lifecycle, context updates, briefing, a page of 10,000, and what isolation costs a search."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.report import line, milliseconds, percentile
from lithos.app import Lithos, open_lithos
from lithos.ledger import Filter
from lithos.search import Query
from lithos.sessions import ALL, PUBLIC, Viewer
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.catalogue import catalogue

CYCLES = 200
AGENTS, SESSIONS, UPDATES = 16, 4, 100
MANY = 10_000
THOUGHTS = 2_000
ROUNDS = 150


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="lithos-bench-"))
    lithos = open_lithos(LithosConfig(storage=StorageSettings(data_dir=folder)))
    try:
        lithos.start()
        _lifecycle(lithos)
        _updates(lithos)
        _briefing(lithos)
        _page(lithos)
        _isolation(lithos)
    finally:
        lithos.close()
        shutil.rmtree(folder, ignore_errors=True)


def _call(lithos: Lithos, tool: str, **arguments: Any) -> dict[str, Any]:
    return catalogue().call(lithos, tool, arguments)


def _lifecycle(lithos: Lithos) -> None:
    """Each call is durable when it returns (synchronous FULL)."""
    times: dict[str, list[float]] = {"create": [], "suspend": [], "resume": []}
    for number in range(CYCLES):
        began = time.perf_counter()
        session = _call(lithos, "lithos_session_create", name=f"s{number}", agent="a")["session_id"]
        times["create"].append((time.perf_counter() - began) * 1000)
        _call(lithos, "lithos_session_activate", session_id=session, agent="a")
        times["suspend"].append(
            milliseconds(partial(_call, lithos, "lithos_session_suspend", session_id=session, agent="a"))
        )
        times["resume"].append(
            milliseconds(partial(_call, lithos, "lithos_session_resume", session_id=session, agent="a"))
        )
    for verb, taken in times.items():
        line(f"{verb} a session, durable, p50", percentile(taken, 0.5), 10, "ms")


def _updates(lithos: Lithos) -> None:
    sessions = []
    for number in range(SESSIONS):
        made = _call(lithos, "lithos_session_create", name=f"u{number}", agent=f"o{number}")["session_id"]
        _call(lithos, "lithos_session_activate", session_id=made, agent=f"o{number}")
        sessions.append(made)
    for agent in range(AGENTS):
        _call(lithos, "lithos_session_join", session_id=sessions[agent % SESSIONS], agent=f"w{agent}")

    def work(agent: int) -> None:
        for number in range(UPDATES):
            changes = {"current_step": f"step {number}", "completed_steps": {"add": [f"{agent} {number}"]}}
            _call(lithos, "lithos_session_context_update", changes=changes, agent=f"w{agent}")

    threads = [threading.Thread(target=work, args=(agent,)) for agent in range(AGENTS)]
    began = time.perf_counter()
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    taken = time.perf_counter() - began
    rate = AGENTS * UPDATES / taken
    line(f"context updates, {AGENTS} agents in {SESSIONS} sessions", rate, 1_000, "/s", more_is_better=True)


def _briefing(lithos: Lithos) -> None:
    _call(
        lithos,
        "lithos_session_context_update",
        agent="w0",
        changes={"current_objective": "o", "next_steps": [f"n{n}" for n in range(20)], "blockers": ["b"]},
    )
    for number in range(50):
        _call(lithos, "mentisdb_append", thought_type="Decision", content=f"decision {number}", agent_id="w0")
    _call(lithos, "lithos_get_briefing", agent="w0")
    for tier in ("micro", "standard", "full"):
        taken = [milliseconds(partial(_call, lithos, "lithos_get_briefing", agent="w0", tier=tier)) for _ in range(50)]
        line(f"briefing, {tier}, p50", percentile(taken, 0.5), 20, "ms")


def _page(lithos: Lithos) -> None:
    have = _call(lithos, "lithos_session_list", limit=1)["total"]
    for number in range(MANY - have):
        _call(lithos, "lithos_session_create", name=f"m{number}", agent="a")
    taken = [milliseconds(partial(_call, lithos, "lithos_session_list", agent="a")) for _ in range(50)]
    line(f"a page of {MANY:,} sessions, p50", percentile(taken, 0.5), 10, "ms")


def _isolation(lithos: Lithos) -> None:
    """One chain, half of it of sessions; the same question with and without the filter, by turns."""
    ids = [row["id"] for row in _call(lithos, "lithos_session_list", limit=400, state="active")["sessions"]]
    for number in range(THOUGHTS):
        agent = f"i{number % 20}"
        if number < 20:
            _call(lithos, "lithos_session_join", session_id=ids[number % len(ids)], agent=agent)
        _call(
            lithos,
            "mentisdb_append",
            thought_type="Finding",
            content=f"finding {number} about retries, caches and queue {number % 97}",
            chain_key="history",
            **({"agent_id": agent} if number % 2 else {"agent_id": f"public{number}"}),
        )
    viewer, own = Viewer(ids[0]), Filter(text="retries of the queue")
    taken: dict[str, list[float]] = {"with": [], "without": [], "recall with": [], "recall without": []}
    asked = Query("retries of the queue", limit=10)
    lithos.ledger.search("history", own, 10, ALL)
    for _ in range(ROUNDS):
        taken["without"].append(milliseconds(lambda: lithos.ledger.search("history", own, 10, ALL)))
        taken["with"].append(milliseconds(lambda: lithos.ledger.search("history", own, 10, viewer)))
        taken["recall without"].append(milliseconds(lambda: lithos.ledger.begin_recall(asked, ALL)(0.0)))
        taken["recall with"].append(milliseconds(lambda: lithos.ledger.begin_recall(asked, PUBLIC)(0.0)))
    for kind in ("", "recall "):
        with_it, without = percentile(taken[f"{kind}with"], 0.5), percentile(taken[f"{kind}without"], 0.5)
        line(f"{kind or 'search '}of {THOUGHTS:,} thoughts, kept apart, p50", with_it, without * 1.1, "ms")
