"""The command line: every verb takes the same three options, refusals have exit codes, JSON is JSON."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from lithos import __version__
from lithos.app import open_lithos
from lithos.cli.root import app, run
from lithos.errors import ConfigInvalid
from lithos.settings import LithosConfig, StorageSettings
from tests.support.shell import mark_memory

EXIT_CODES = {"invalid_input": 2, "not_found": 3, "forbidden": 5, "config_invalid": 8}


def lithos(*arguments: object, data_dir: Path | None = None) -> int:
    more = ["--data-dir", str(data_dir)] if data_dir else []
    return run([*map(str, arguments), *more])


def verbs() -> list[tuple[str, ...]]:
    """(“token”, “new”), (“serve”,) …: every path that ends in a verb."""
    found: list[tuple[str, ...]] = []
    pending: list[tuple[tuple[str, ...], object]] = [((), typer.main.get_command(app()))]
    while pending:
        at, each = pending.pop()
        children = getattr(each, "commands", None)
        if children is None:
            found.append(at)
        else:
            pending += [((*at, name), child) for name, child in children.items()]
    return found


@pytest.mark.parametrize("verb", sorted(verbs()), ids=" ".join)
def test_every_verb_takes_data_dir_config_and_json(verb: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*verb, "--help"]) == 0
    shown = capsys.readouterr().out
    for option in ("--data-dir", "--config", "--json"):
        assert option in shown


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"lithos {__version__}\n"


def test_an_empty_data_dir_means_the_default_and_a_new_memory_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither `--data-dir "$UNSET"` nor an empty variable turns the folder one is in into a memory."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("LITHOS_DATA_DIR", "")
    assert run(["note", "write", "--title", "A", "--content", "b", "--data-dir", ""]) == 0
    assert [*(tmp_path / "here").iterdir()] == []
    assert f"there was no memory in {tmp_path / 'home/lithos'}" in capsys.readouterr().err
    assert run(["stats"]) == 0
    assert capsys.readouterr().err == ""


def test_a_tool_is_called_with_pairs_or_json(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lithos("call", "lithos_agent_register", "id=a", 'metadata={"v": 1}', data_dir=data_dir) == 0
    assert json.loads(capsys.readouterr().out) == {"success": True, "created": True}
    assert lithos("call", "lithos_agent_info", "--json", '{"id": "a"}', data_dir=data_dir) == 0
    assert json.loads(capsys.readouterr().out)["metadata"] == {"v": 1}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["lithos_agent_info", "id=nobody"], "not_found"),
        (["lithos_agent_inf", "id=a"], "unknown_tool"),
        (["lithos_agent_info", "idd=a"], "invalid_input"),
        (["lithos_agent_info", "id"], "invalid_input"),
        (["lithos_agent_info", "--json", "{"], "invalid_input"),
        (["lithos_agent_info", "--json", "[]"], "invalid_input"),
    ],
)
def test_a_refusal_of_call_is_json_with_an_exit_code(
    data_dir: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: str
) -> None:
    mark_memory(data_dir)
    assert lithos("call", *arguments, data_dir=data_dir) == EXIT_CODES.get(code, 2)
    assert json.loads(capsys.readouterr().out)["error"]["code"] == code


def test_tools_are_listed_with_toolset_and_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert lithos("tools", "--toolsets", "find", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in listed] == ["lithos_tool_find", "lithos_tool_call"]
    assert all(each["tokens"] > 50 for each in listed)
    assert lithos("tools") == 0
    assert "lithos_stats" in capsys.readouterr().out


def test_config_show_tells_each_value_and_where_it_came_from(
    data_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LITHOS_PORT", "1234")
    data_dir.mkdir()
    (data_dir / "config.yaml").write_text("search:\n  max_results: 7\n")
    assert lithos("config", "show", "--json", data_dir=data_dir) == 0
    rows = {row["key"]: (row["value"], row["origin"]) for row in json.loads(capsys.readouterr().out)}
    assert rows["server.port"] == (1234, "LITHOS_PORT")
    assert rows["search.max_results"] == (7, f"{data_dir / 'config.yaml'} line 2")
    assert rows["storage.data_dir"] == (str(data_dir), "command line")
    assert rows["search.chunk_size"] == (500, "default")
    assert lithos("config", "show", data_dir=data_dir) == 0
    assert "LITHOS_PORT" in capsys.readouterr().out


def test_a_corrupt_config_stops_every_verb_with_one_line(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data_dir.mkdir()
    (data_dir / "config.yaml").write_text("server:\n  prot: 1\n")
    for verb in (["stats"], ["serve", "--transport", "http"], ["config", "show"]):
        assert lithos(*verb, data_dir=data_dir) == EXIT_CODES["config_invalid"]
        told = capsys.readouterr().err
        assert (
            f"{data_dir / 'config.yaml'} line 2: there is no setting 'server.prot', did you mean 'server.port'?" in told
        )


def test_an_unknown_variable_warns_on_stderr_and_goes_on(
    data_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mark_memory(data_dir)
    monkeypatch.setenv("LITHOS_PROT", "1")
    assert lithos("stats", "--json", data_dir=data_dir) == 0
    shown = capsys.readouterr()
    assert "did you mean 'LITHOS_PORT'" in shown.err
    assert json.loads(shown.out)["agents"] == 0


def test_a_token_is_made_shown_once_listed_and_revoked(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lithos("token", "new", "--name", "laptop", "--scope", "read", "--agent", "anna", data_dir=data_dir) == 0
    secret = capsys.readouterr().out.splitlines()[0]
    assert secret.startswith("lithos_")
    assert lithos("token", "list", "--json", data_dir=data_dir) == 0
    [listed] = json.loads(capsys.readouterr().out)["tokens"]
    assert (listed["name"], listed["scope"], listed["agent"]) == ("laptop", "read", "anna")
    assert lithos("token", "revoke", listed["id"], data_dir=data_dir) == 0
    assert lithos("token", "list", data_dir=data_dir) == 0
    assert listed["id"] not in capsys.readouterr().out.splitlines()[-1:]
    assert lithos("token", "revoke", listed["id"], data_dir=data_dir) == EXIT_CODES["not_found"]


def test_an_open_address_without_a_token_stops_with_the_command_that_makes_one(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = lithos("serve", "--transport", "http", "--host", "0.0.0.0", "--port", "0", data_dir=data_dir)
    assert code == EXIT_CODES["config_invalid"]
    assert "lithos token new" in capsys.readouterr().err


def test_a_taken_port_stops_with_one_sentence(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code = lithos("serve", "--transport", "http", "--port", port, data_dir=data_dir)
    assert code == EXIT_CODES["config_invalid"]
    assert f"port {port} on 127.0.0.1 is taken" in capsys.readouterr().err


def test_a_data_directory_that_cannot_be_written_stops_with_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    impossible = tmp_path / "file" / "data"
    for verb in (["decay"], ["stats"]):
        assert lithos(*verb, data_dir=impossible) == EXIT_CODES["not_found"]
        assert f"there is no memory in {impossible}" in capsys.readouterr().err
    for verb in (["keys", "rotate"], ["serve", "--transport", "http", "--port", "0"]):
        assert lithos(*verb, data_dir=impossible) not in (0, 1)
        told = capsys.readouterr().err
        assert f"{impossible}" in told and "Not a directory" in told and "Traceback" not in told
    with pytest.raises(ConfigInvalid, match="cannot be written"):
        open_lithos(LithosConfig(storage=StorageSettings(data_dir=impossible)))


def test_an_unknown_toolset_stops_the_start(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = lithos("serve", "--transport", "http", "--port", "0", "--toolsets", "cor", data_dir=data_dir)
    assert code == EXIT_CODES["invalid_input"]
    assert "Did you mean core?" in capsys.readouterr().err


def test_an_unknown_verb_or_option_is_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert lithos("srve") == 2
    assert lithos("stats", "--nope") == 2
    assert "No such" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["task", "--help"], ["serve", "--help"], ["note", "write", "-h"]])
def test_help_that_reads_only_what_is_asked_for_says_the_same(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 0
    quick = capsys.readouterr().out
    with pytest.raises(SystemExit):
        app()(arguments, prog_name="lithos", obj=arguments)
    assert quick == capsys.readouterr().out


def test_the_command_itself_answers_help(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lithos.cli.entry", "--help"], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert done.returncode == 0
    assert "serve" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_inside_a_finalizer_still_ends_the_verb_without_a_word() -> None:
    script = """
import sys, threading
from lithos.cli import entry
class Finalized:
    def __del__(self): raise KeyboardInterrupt
def verb(arguments):
    Finalized()
    threading.Event().wait(2)
    return 0
entry._run = verb
sys.exit(entry.main())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "")
