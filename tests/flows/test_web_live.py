"""Live pages: server-sent events of what changed, and their resumption without a gap."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import httpx
import pytest

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.serving.web import live
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.conftest import CallTool
from tests.support.wire import serving


@pytest.fixture
def url(lithos: Lithos) -> Iterator[str]:
    with serving(lithos) as (address, _):
        yield address


class Events:
    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.id = ""

    def next(self) -> dict[str, Any]:
        """The kinds of the next event; {"reset": …} for a new start."""
        name = ""
        for line in self._lines:
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("id: "):
                self.id = line[4:]
            elif line.startswith("data: "):
                return {"reset": True} if name == "reset" else json.loads(line[6:])["kinds"]
        raise AssertionError("the stream ended")

    def until(self, kind: str) -> list[str]:
        """The ids of the next event that names this kind."""
        while True:
            kinds = self.next()
            if kind in kinds:
                return list(kinds[kind])


@contextmanager
def _events(url: str, **options: Any) -> Iterator[Events]:
    with (
        httpx.Client(base_url=url, timeout=60, verify=False) as client,
        client.stream("GET", "/live", **options) as answer,
    ):
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield Events(answer.iter_lines())


def test_a_change_by_an_agent_reaches_an_open_page(url: str, call: CallTool) -> None:
    with _events(url) as events:
        events.next()
        note = call("lithos_write", title="Fresh", content="text", agent="a")
        assert note["id"] in events.until("note")
        task = call("lithos_task_create", title="Do it", agent="a")
        assert task["task_id"] in events.until("task")
        call("mentisdb_append", thought_type="Insight", content="x", agent_id="a")
        assert events.until("thought")


def test_a_message_wakes_the_page_without_saying_whose_it_is(url: str, lithos: Lithos, call: CallTool) -> None:
    with _events(url) as events:
        events.next()
        call("lithos_agent_register", id="bo")
        catalogue().call(lithos, "lithos_message_send", {"target": "bo", "body": "hello"}, Caller(operator=True))
        assert events.until("message") == [live.EVERYTHING]


def test_a_lost_connection_resumes_without_a_gap(url: str, call: CallTool) -> None:
    with _events(url) as events:
        events.next()
        first = call("lithos_write", title="First", content="text", agent="a")
        assert first["id"] in events.until("note")
        known = events.id
    missed = [call("lithos_write", title=f"Missed {n}", content=f"text {n}", agent=f"a{n}")["id"] for n in range(3)]
    with _events(url, headers={"last-event-id": known}) as events:
        assert set(missed) <= set(events.until("note"))
    with _events(url, params={"since": known}) as events:  # another tab takes over
        assert set(missed) <= set(events.until("note"))


@pytest.mark.parametrize("cursor", ["nonsense", "c" + "x" * 3000, "c\u20ac"])
def test_a_cursor_that_is_none_of_ours_starts_over(url: str, cursor: str) -> None:
    with _events(url, params={"since": cursor}) as events:
        assert events.next() == {"reset": True}


def test_the_stream_ends_when_its_token_is_revoked(url: str, lithos: Lithos, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.05)
    token = lithos.tokens.new(Call("lithos_token_new"), "test")
    with _events(url, headers={"cookie": f"lithos-visit=t.{token['token']}"}) as events:
        events.next()
        lithos.tokens.revoke(Call("lithos_token_revoke"), token["id"])
        with pytest.raises(AssertionError, match="the stream ended"):
            while True:
                events.next()


def test_a_stream_without_a_pause_ends_when_its_token_is_revoked(
    url: str, lithos: Lithos, call: CallTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 2.0)
    monkeypatch.setattr(live, "COLLECT_SECONDS", 0.05)
    token = lithos.tokens.new(Call("lithos_token_new"), "test")
    with _events(url, headers={"cookie": f"lithos-visit=t.{token['token']}"}) as events:
        events.next()
        lithos.tokens.revoke(Call("lithos_token_revoke"), token["id"])
        with pytest.raises(AssertionError, match="the stream ended"):
            for number in count():
                call("lithos_write", title=f"Note {number}", content="x", agent="a")
                events.next()
