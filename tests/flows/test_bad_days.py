"""What a server and its callers see when the ground is bad: a full disk, a database of the future, a bug of ours."""

from __future__ import annotations

import errno
import logging
from pathlib import Path

import apsw
import pytest
from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.cli.root import run
from lithos.core.call import Call
from lithos.serving import set_up_log
from lithos.settings import LithosConfig, ServerSettings
from lithos.tools.catalogue import catalogue
from lithos.tools.registry import Registry, tool
from tests.support.wire import Raw, serving

SECRET = "the content that no log may hold"


class Nothing(TypedDict):
    nothing: bool


@tool(toolset="core", reads=True)
def lithos_full(lithos: Lithos, call: Call) -> Nothing:
    """Meets a full disk."""
    raise OSError(errno.ENOSPC, "No space left on device")


@tool(toolset="core", reads=True)
def lithos_bug(lithos: Lithos, call: Call, text: str) -> Nothing:
    """Fails as only a bug of ours does."""
    raise KeyError(text)


REGISTRY = Registry([*catalogue(), lithos_full, lithos_bug])


def test_a_full_disk_is_reported_as_such_and_may_be_tried_again(lithos: Lithos, era: str) -> None:
    with serving(lithos, registry=REGISTRY) as (url, _), Raw(url, era) as client:
        error = client.call("lithos_full")["structuredContent"]["error"]
        assert (error["code"], error["retryable"]) == ("storage_full", True)
        assert client.call("lithos_stats")["structuredContent"]["documents"] == 0


def test_a_bug_of_ours_tells_the_caller_a_reference_and_the_log_where(
    lithos: Lithos, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO), serving(lithos, registry=REGISTRY) as (url, _), Raw(url, era) as client:
        error = client.call("lithos_bug", text=SECRET)["structuredContent"]["error"]
    assert error["code"] == "internal"
    assert SECRET not in str(error)
    assert error["reference"] in caplog.text
    assert "test_bad_days.py" in caplog.text
    assert SECRET not in caplog.text


def test_the_log_has_one_line_per_call_and_nothing_of_its_content(
    lithos: Lithos, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "lithos"), serving(lithos) as (url, _), Raw(url, era) as client:
        client.call("lithos_agent_register", id="anna", name=SECRET)
        client.call("lithos_agent_info", id="nobody")
    lines = [record.getMessage() for record in caplog.records if record.name == "lithos.calls"]
    assert len(lines) == 2
    assert lines[0].startswith("tool=lithos_agent_register agent=anna ms=") and lines[0].endswith("outcome=ok")
    assert lines[1].startswith("tool=lithos_agent_info agent=- ms=") and lines[1].endswith("outcome=not_found")
    assert SECRET not in caplog.text


def test_the_log_goes_where_the_settings_say_and_never_to_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {name: list(logging.getLogger(name).handlers) for name in ("lithos", "mcp", "uvicorn")}
    file = tmp_path / "logs" / "lithos.log"
    try:
        set_up_log(LithosConfig(server=ServerSettings(log_file=file)))
        logging.getLogger("lithos").warning("heard")
        set_up_log(LithosConfig())
        logging.getLogger("lithos").warning("also heard")
    finally:
        for name, handlers in before.items():
            logging.getLogger(name).handlers[:] = handlers
            logging.getLogger(name).propagate = True
            logging.getLogger(name).setLevel(logging.NOTSET)
    assert "heard" in file.read_text()
    shown = capsys.readouterr()
    assert shown.out == "" and "also heard" in shown.err


def test_a_database_of_the_future_is_refused_by_name(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["keys", "rotate", "--data-dir", str(data_dir)]) == 0
    connection = apsw.Connection(str(data_dir / ".lithos" / "coordination.db"))
    connection.execute("INSERT INTO migrations (number, name, applied_at) VALUES (9999, 'what is to come', 0)")
    connection.close()
    capsys.readouterr()
    assert run(["stats", "--data-dir", str(data_dir)]) not in (0, 1)
    told = capsys.readouterr().err
    assert "coordination.db" in told and "newer" in told and "Traceback" not in told
