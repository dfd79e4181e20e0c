"""Growth: descriptors, memory and the time of a stop after thousands of chains, connections, sessions, header bytes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.guests import INITIALIZE
from tests.support.served import Served, served
from tests.support.waiting import PATIENCE, until

DESCRIPTORS = 40  # that may be more afterwards, of whatever kind
STOP_SECONDS = 10.0
MANY = 1000  # fewer say nothing about the time of a stop
HEADER = "a" * 50_000


def open_chain(host: Served, number: int) -> None:
    thought = {"thought_type": "Insight", "content": "c", "agent_id": "ann", "chain_key": f"chain-{number}"}
    answer = host.call("mentisdb_append", **thought)
    assert "error" not in answer, answer


def drop_connection(host: Served, number: int) -> None:
    """Opened and dropped: at once, after half a request, or with an answer that nobody reads."""
    sent = (b"", b"POST /mcp HTTP/1.1\r\nHost: 127", b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")[number % 3]
    with contextlib.suppress(ConnectionError), host.connect() as connection:
        connection.sendall(sent)


def initialize(host: Served, number: int) -> None:
    body = {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": INITIALIZE}
    assert host.http.post("/mcp", json=body).status_code == 200


def send_headers(host: Served, number: int) -> None:
    assert host.http.get("/health", headers={"X-Long": HEADER}).status_code in (200, 431)


# What one of them may leave behind, in KB. A chain is known by its key and counted; everything else is forgotten.
THINGS: dict[str, tuple[Callable[[Served, int], None], float]] = {
    "chains": (open_chain, 10.0),
    "connections": (drop_connection, 2.0),
    "initializes": (initialize, 4.0),
    "headers": (send_headers, 2.0),
}


def campaign(
    folder: Path,
    times: int,
    things: dict[str, tuple[Callable[[Served, int], None], float]] = THINGS,
    patience: float = PATIENCE,
) -> dict[str, Any]:
    """So many of each, each against a host of its own; counts. Raises AssertionError."""
    counts: dict[str, Any] = {}
    for name, (do, most_kb) in things.items():
        counts |= {
            f"{name} {key}": value for key, value in _measure(folder / name, do, times, most_kb, patience).items()
        }
        counts[name] = times
    return counts


def _measure(
    data_dir: Path, do: Callable[[Served, int], None], times: int, most_kb: float, patience: float
) -> dict[str, Any]:
    name = data_dir.name
    with served(data_dir) as host:
        host.call("lithos_write", title="t", content="c", agent="ann")
        host.call("lithos_semantic", query="c")  # loads the model, once for all time
        warm = max(times // 5, 20)  # fills what is bounded on purpose: pools, sessions, open chains
        for number in range(warm):
            do(host, number)
        _settle(host)
        memory, descriptors = host.memory_mb, host.descriptors
        for number in range(times):
            do(host, warm + number)
        _settle(host)
        until(lambda: host.descriptors <= descriptors + DESCRIPTORS, f"the descriptors of {times} {name}", patience)
        grown = host.memory_mb - memory
        assert grown * 1024 < most_kb * times + 20 * 1024, f"{times} {name} took {grown:.0f} MB"
        assert host.health()["http"] == 200
        began = time.monotonic()
        host.stop()
        stopped = time.monotonic() - began
        if times >= MANY:
            assert stopped < STOP_SECONDS, f"a stop after {times} {name} took {stopped:.0f} s"
    return {"MB": round(grown, 1), "stop s": round(stopped, 1)}


def _settle(host: Served) -> None:
    """A connection is accepted after all that came before it."""
    with host.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert connection.recv(1)
