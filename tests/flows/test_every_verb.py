"""Manners that every verb keeps, checked over all of them: help, examples that run, JSON, no traceback."""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripts.generate import _verbs

from lithos.cli.examples import EXAMPLES
from lithos.cli.overview import GROUPS, MODULES
from lithos.cli.root import app, run
from tests.support.guests import Household, household

VERBS: dict[str, Any] = {" ".join(path): command for path, command in _verbs() if not command.hidden}
# They stay in the foreground, end the host of this file, or change what other verbs of it need.
NOT_RUN = {"serve", "stop", "service install", "service remove", "db copy", "restore", "uninstall", "keys rotate"}
REFUSED = {1, 2, 3, 4, 5, 6}  # docs/errors.md
EXAMPLE = [(verb, line) for verb, lines in sorted(EXAMPLES.items()) if verb not in NOT_RUN for line in lines]


def words_of(line: str) -> list[str]:
    """What stands after `lithos` in an example, up to a redirection."""
    words = shlex.split(line)
    words = words[words.index("lithos") + 1 :]
    ends = [place for place, word in enumerate(words) if word in ("<", ">", ">>", "|")]
    return words[: min(ends, default=len(words))]


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Household]:
    """A host with one of each thing that examples name."""
    with household(tmp_path_factory.mktemp("lived-in") / "data") as everybody:
        guest = everybody.guest()
        guest.initialize()
        guest.call("lithos_write", title="Retries", content="Retry three times.", agent="ann")
        guest.call("lithos_task_create", title="Fix the pool", agent="ann")
        guest.call("lithos_message_send", target="operator", body="Hello.", agent="ann")
        yield everybody


@pytest.fixture(autouse=True)
def a_home_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.chdir(tmp_path)


def test_the_overview_names_every_verb_its_module_and_a_line_that_fits(capsys: pytest.CaptureFixture[str]) -> None:
    shown = [name for _, verbs in GROUPS for name, _, _ in verbs]
    assert sorted(shown) == sorted({verb.split()[0] for verb in VERBS})
    for name, module in MODULES.items():
        alone = app([module])
        assert name in {each.name for each in (*alone.registered_commands, *alone.registered_groups)}
    assert run(["--help"]) == 0
    printed = capsys.readouterr().out
    assert [name for name in shown if f"\n  {name} " not in printed] == []
    assert [line for line in printed.splitlines() if len(line) > 80] == []
    assert run([]) == 2  # a script that forgot its verb must notice
    assert capsys.readouterr().err == printed


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_a_verb_has_json_and_examples_that_it_accepts(verb: str) -> None:
    command = VERBS[verb]
    assert any("--json" in parameter.opts for parameter in command.params)
    for line in EXAMPLES[verb]:
        words = words_of(line)
        assert words[: len(verb.split())] == verb.split()
        given = [word for word in words[len(verb.split()) :] if word != "session.json"]
        if given == words[len(verb.split()) :]:  # a file that must be there is given by the test below
            command.make_context(verb, given)


@pytest.mark.parametrize(("verb", "line"), EXAMPLE, ids=[line for _, line in EXAMPLE])
def test_an_example_answers_with_json_or_one_refusal(
    verb: str,
    line: str,
    lived_in: Household,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "session.json").write_text("{}")
    words = [word for word in words_of(line) if word not in ("-f", "--follow")]
    words += ["--once"] if line == "lithos board" else []
    place = words.index("--") if "--" in words else len(words)
    for form in (["--json"], []):
        monkeypatch.setattr("sys.stdin", io.StringIO("piped in"))
        code = run([*words[:place], "--data-dir", str(lived_in.data_dir), *form, *words[place:]])
        printed = capsys.readouterr()
        assert code == 0 or code in REFUSED, printed
        assert "Traceback" not in printed.err and "did not expect" not in printed.err
        assert "\x1b" not in printed.out  # plain text in a pipe
        if form and (printed.out or code == 0) and verb != "hook":
            json.loads(printed.out)


def test_a_mistyped_id_is_suggested_and_hints_name_verbs(
    lived_in: Household, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*words: str, code: int = 0) -> str:
        assert run([*words, "--data-dir", str(lived_in.data_dir)]) == code
        printed = capsys.readouterr()
        return printed.out.strip() if code == 0 else printed.err

    session = said("session", "new", "rate limiter")
    assert f"Did you mean {session} (rate limiter)?" in said("session", "show", session[:-1] + "x", code=3)
    message = said("message", "send", "operator", "Hello.")
    assert f"Did you mean {message}" in said("message", "show", message[:-1] + "x", code=3)
    assert "`lithos session list`" in said("session", "show", "?", code=3)
    assert run(["complete", "--data-dir", str(lived_in.data_dir), "--", "session", "show", ""]) == 0
    assert session in capsys.readouterr().out
