"""`lithos serve`, read without typer: where the memory lies, and what is whose."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lithos.errors import ConfigInvalid
from lithos.host.options import ServeOptions, differing, parse_serve
from lithos.settings import load_config


def options(*arguments: str, **environment: str) -> ServeOptions:
    parsed = parse_serve(arguments, environment)
    assert parsed is not None
    return parsed


@pytest.mark.parametrize(
    ("arguments", "environment", "expected"),
    [
        ([], {}, (os.path.expanduser("~/lithos"), "stdio")),
        (["--data-dir", "x"], {}, ("x", "stdio")),
        (["--data-dir=x", "--transport=http"], {}, ("x", "http")),
        ([], {"LITHOS_DATA_DIR": "y"}, ("y", "stdio")),
        ([], {"LITHOS_DATA_DIR": "y", "LITHOS_STORAGE__DATA_DIR": "z"}, ("z", "stdio")),
        (["--data-dir", "x"], {"LITHOS_DATA_DIR": "y", "LITHOS_TRANSPORT": "sse"}, ("x", "sse")),
        (["--config", "c.yaml"], {}, None),
        (["--config", "c.yaml", "--data-dir", "x"], {}, None),
        (["--config", "c.yaml", "--data-dir", "x", "--transport", "stdio"], {}, ("x", "stdio")),
        ([], {"LITHOS_CONFIG": "c.yaml"}, None),
    ],
)
def test_the_place_is_known_without_reading_settings_unless_a_file_has_a_say(
    arguments: list[str], environment: dict[str, str], expected: tuple[str, str] | None
) -> None:
    assert options(*arguments, **environment).place() == expected


def test_a_settings_file_inside_the_data_directory_may_choose_the_transport(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("server:\n  transport: http\n")
    assert options("--data-dir", str(tmp_path)).place() is None
    assert options("--data-dir", str(tmp_path), "--transport", "stdio").place() == (str(tmp_path), "stdio")


@pytest.mark.parametrize("arguments", [["--help"], ["--data-dri", "x"], ["--data-dir"], ["extra"], ["--read-only=1"]])
def test_what_is_wrong_is_left_to_the_command_line_proper(arguments: list[str]) -> None:
    assert parse_serve(arguments, {}) is None


@pytest.mark.parametrize(
    "environment", [{"LITHOS_READ_ONLY": "maybe"}, {"LITHOS_READONLY": "1"}, {"lithos_read_only": "1"}]
)
def test_a_read_only_switch_that_is_not_understood_is_left_to_the_settings_which_refuse_it(
    environment: dict[str, str],
) -> None:
    assert parse_serve([], environment) is None
    with pytest.raises(ConfigInvalid, match=next(iter(environment))):
        load_config(environ=environment)


@pytest.mark.parametrize("word", ["1", "TRUE", "Yes", "on"])
def test_every_spelling_of_read_only_that_the_settings_know_counts_for_a_guest(word: str) -> None:
    assert options(LITHOS_READ_ONLY=word).connection()["read_only"] is True
    assert load_config(environ={"LITHOS_READ_ONLY": word}).config.server.read_only


def test_what_belongs_to_one_client_is_never_handed_to_the_host() -> None:
    given = options(
        "--data-dir",
        "x",
        "--toolsets",
        "all",
        "--agent",
        "ann",
        "--read-only",
        "--no-watch",
        LITHOS_TOOLSETS="board",
        LITHOS_LOG_LEVEL="debug",
        SECRET="no",
        PATH="/bin",
    )
    assert given.connection() == {"toolsets": "all", "agent": "ann", "read_only": True}
    assert given.host_wide() == {"--no-watch": "true", "LITHOS_LOG_LEVEL": "debug"}
    assert given.host_arguments("/data") == ["--data-dir", "/data", "--no-watch"]
    assert given.host_environment() == {"LITHOS_LOG_LEVEL": "debug", "PATH": "/bin"}


def test_a_host_reads_its_own_options_back_as_they_were_handed_on() -> None:
    given = options("--config", "c.yaml", "--no-watch", LITHOS_LOG_LEVEL="debug")
    handed = parse_serve(given.host_arguments("/data"), given.host_environment())
    assert handed is not None
    assert handed.host_wide() == given.host_wide()


def test_only_options_that_a_guest_states_and_its_host_lacks_differ() -> None:
    assert differing({"A": "1", "B": "2"}, {"A": "1", "B": "3", "C": "4"}) == ["B"]
    assert differing({"D": "1"}, {}) == ["D"]


def test_a_guest_imports_nothing_heavy() -> None:
    """Each of these costs a guest five to three hundred milliseconds; clients start guests many times a day."""
    code = (
        "import sys; sys.argv = ['lithos', 'serve']; import lithos.cli.entry, lithos.host.guest; "
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {"typing", "pathlib", "dataclasses", "asyncio", "logging", "argparse", "subprocess", "inspect", "tempfile"}
    foreign = {"typer", "pydantic", "yaml", "mcp", "anyio", "orjson", "apsw", "rich"}
    assert set(loaded) & (heavy | foreign) == set()
