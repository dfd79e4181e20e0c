"""Lists of the command line: a header where a person looks, plain rows in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lithos.cli import message, session
from lithos.cli.progress import Progress
from lithos.cli.root import run
from lithos.cli.terminal import Terminal, styled, table
from lithos.importing import Extent

AT = "2026-01-31T12:00:00Z"
HOP = {"at": AT, "from": "ann", "to": "bob", "what": "taken", "ms": 3, "message_id": "m1"}
LETTER = {"message_id": "m1", "reason": "timeout", "source": "ann", "target": "bob", "type": "text", "error": None}
MAIL = {"id": "m1", "status": "queued", "source": "ann", "bound": False, "subject": "hello", "type": "text"}
SESSION = {"id": "s1", "state": "active", "last_active_at": AT, "name": "work"}
LISTS: dict[str, tuple[Callable[[dict[str, Any]], None], dict[str, Any], str]] = {
    "inbox": (message.print_inbox, {"messages": [MAIL], "waiting": 1}, "m1  queued  ann?  hello"),
    "trace": (message.print_trace, {"message_id": "m", "status": "completed", "hops": [HOP]}, "ann → bob  taken  3 ms"),
    "dead letters": (message.print_dead_letters, {"dead_letters": [LETTER]}, "m1  timeout  ann → bob  text"),
    "sessions": (
        session.print_page,
        {"sessions": [SESSION], "current": "s1"},
        "* s1  active  2026-01-31T12:00:00  work",
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_has_plain_rows_in_a_pipe_and_a_header_on_a_terminal(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    show, page, row = LISTS[name]
    show(page)
    piped = capsys.readouterr().out
    assert row in piped and "\x1b" not in piped
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    show(page)
    assert "\x1b[1m" in capsys.readouterr().out


def test_an_empty_list_has_no_header(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    table(("a",), ())
    assert capsys.readouterr().out == ""


def test_progress_shows_rate_and_time_left_by_total_or_by_share(capsys: pytest.CaptureFixture[str]) -> None:
    known = Progress(Terminal(), "files", total=400)
    known.set(100)
    assert known.line(10.0) == "100 of 400 files, 10/s, 30 s left"
    extent = Extent(total=1_000)
    read = Progress(Terminal(), "entries", share=extent.share)
    assert "left" not in read.line(1.0)
    read.set(500)
    extent.done = 100
    assert read.line(10.0) == "500 entries, 50/s, 10%, 1 min 30 s left"


def test_progress_leaves_out_of_its_rate_what_was_done_before(capsys: pytest.CaptureFixture[str]) -> None:
    vectors = Progress(Terminal(), "vectors", total=20_000)
    vectors.already = 19_000
    vectors.set(19_100)
    assert vectors.line(10.0) == "19,100 of 20,000 vectors, 10/s, 1 min 30 s left"


def test_colour_is_for_people_and_an_empty_list_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table(("a",), (), "Nothing yet.")
    assert (capsys.readouterr().out, styled("ok", "green")) == ("", "ok")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    table(("a",), (), "Nothing yet.")
    assert (capsys.readouterr().out, styled("ok", "green")) == ("Nothing yet.\n", "\x1b[32mok\x1b[0m")
    monkeypatch.setenv("NO_COLOR", "1")
    assert styled("ok", "green") == "ok"


@pytest.mark.parametrize("words", [["config", "show"], ["tools"], ["doctor"]], ids=" ".join)
def test_a_verb_is_plain_in_a_pipe_and_coloured_on_a_terminal(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run([*words, "--data-dir", str(tmp_path)])
    plain = capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    run([*words, "--data-dir", str(tmp_path)])
    assert "\x1b" not in plain and "\x1b[" in capsys.readouterr().out
