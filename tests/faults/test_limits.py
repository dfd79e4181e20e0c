"""What a client can make the host keep is bounded: chains, headers, connections, sessions, the time of a stop."""

from __future__ import annotations

import contextlib
import gc
import json
import socket
import time
import weakref
from pathlib import Path
from typing import Any

from tests.support.guests import INITIALIZE
from tests.support.ledgers import append, open_ledger
from tests.support.served import Served, served

THOUGHT = {"thought_type": "Insight", "content": "c", "agent_id": "ann"}


def test_more_chains_than_descriptors_can_be_used(data_dir: Path) -> None:
    with served(data_dir, open_files=256) as host:
        for number in range(120):
            answer = host.call("mentisdb_append", chain_key=f"chain-{number}", **THOUGHT)
            assert "error" not in answer, (number, answer)
        for number in range(120):
            assert host.call("mentisdb_head", chain_key=f"chain-{number}")["thought_count"] == 1
        assert "error" not in host.call("lithos_write", title="t", content="c", agent="ann")
        assert host.health()["http"] == 200
        assert host.descriptors < 200


def _answer(connection: socket.socket) -> bytes:
    data = b""
    with contextlib.suppress(ConnectionError, TimeoutError):
        while b"\r\n\r\n" not in data and (part := connection.recv(1 << 16)):
            data += part
    return data


HEADS = {
    "one long": b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ",
    "many short": b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    "long target": b"GET /health?q=",
    "endless line": b"",
}


def test_headers_are_bounded_before_anybody_is_asked_who_he_is(data_dir: Path) -> None:
    with served(data_dir) as host:
        before = host.memory_mb
        for kind, head in HEADS.items():
            chunk = b"X-A: b\r\n" * 8192 if kind == "many short" else b"a" * 65536
            with host.connect() as connection:
                sent = 0
                try:
                    connection.sendall(head)
                    while sent < 20 * 2**20:
                        connection.sendall(chunk)
                        sent += len(chunk)
                except OSError:
                    pass
                assert sent < 8 * 2**20, f"{kind}: read without end"  # the kernel's buffers take a few megabytes
                answer = _answer(connection)
            assert answer[:12] in (b"", b"HTTP/1.1 431", b"HTTP/1.1 400"), (kind, answer)
            assert host.memory_mb < before + 10, kind
            assert host.health()["http"] == 200


def test_a_client_that_never_ends_its_headers_is_cut_off(data_dir: Path) -> None:
    _set(data_dir, header_seconds=1.0)
    with served(data_dir) as host:
        for sent in (b"", b"GET /hea", b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "):
            with host.connect() as connection:
                connection.sendall(sent)
                started = time.monotonic()
                _answer(connection)
                assert time.monotonic() - started < 10, sent


def test_a_client_that_never_ends_its_body_is_cut_off(data_dir: Path) -> None:
    _set(data_dir, header_seconds=1.0, idle_seconds=2.0)
    with served(data_dir) as host, host.connect() as connection:
        head = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        connection.sendall(head + b"Accept: application/json, text/event-stream\r\nContent-Length: 1000\r\n\r\n{")
        started = time.monotonic()
        _answer(connection)
        assert time.monotonic() - started < 15


def test_sessions_are_bounded_and_do_not_hold_a_stop_up(data_dir: Path) -> None:
    with served(data_dir) as host:
        _initialize(host, 50)
        before = host.memory_mb
        kept = _initialize(host, 1000)
        assert host.memory_mb < before + 25
        assert host.call("lithos_stats")["documents"] == 0
        assert _alive(host, kept[-1])
        started = time.monotonic()
        host.stop()
        assert time.monotonic() - started < 10


def _initialize(host: Served, times: int) -> list[str]:
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    kept = []
    for _ in range(times):
        answer = host.http.post("/mcp", json=body)
        assert answer.status_code == 200, answer.text
        kept.append(answer.headers["mcp-session-id"])
    return kept


def _alive(host: Served, session: str) -> bool:
    body = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    answer = host.http.post("/mcp", json=body, headers={"mcp-session-id": session})
    return answer.status_code == 200


def _set(data_dir: Path, **server: Any) -> None:
    data_dir.mkdir(exist_ok=True)
    (data_dir / "config.yaml").write_text(json.dumps({"server": server}))


def test_a_chain_that_was_closed_is_not_kept_in_memory(tmp_path: Path) -> None:
    """What a session may see of a chain once kept it: 14 KB for each."""
    ledger = open_ledger(tmp_path)
    append(ledger, thought_type="Insight", content="x", agent_id="a", chain_key="one")
    ledger.scopes(ledger.chain("one")).marks()
    kept = weakref.ref(ledger.chain("one"))
    ledger.close_chain("one")
    gc.collect()
    assert kept() is None
    assert ledger.scopes(ledger.chain("one")).marks() == {}
    ledger.close()
