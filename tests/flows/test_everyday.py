"""A command line that people like: lists, edits, undo, completion, suggestions, examples, no traceback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scripts.generate import _verbs

from lithos.cli.completion import SCRIPTS
from lithos.cli.examples import EXAMPLES
from lithos.cli.root import run
from tests.support import fork_server
from tests.support.shell import Shell

VERBS = {" ".join(path): command for path, command in _verbs()}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two notes, one of them changed, and a task."""
    folder = tmp_path_factory.mktemp("memory") / "data"
    for words in (
        ["note", "write", "--title", "Retry policy", "--content", "Three times.", "--tag", "api"],
        ["note", "write", "--note", "retry-policy.md", "--content", "Four times."],
        ["note", "write", "--title", "Pool", "--content", "Ten connections.", "--agent", "ann"],
        ["task", "create", "Fix the pool"],
    ):
        assert run([*words, "--data-dir", str(folder)]) == 0
    return folder


@pytest.fixture
def here(memory: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    capsys.readouterr()
    return Shell(memory, capsys)


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_has_an_example_and_a_short_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*verb.split(), "-h"]) == 0
    assert f"Examples:\n    lithos {verb}" in capsys.readouterr().out or verb == "complete"


def test_examples_are_of_verbs_that_exist() -> None:
    assert set(EXAMPLES) - set(VERBS) == set()


def test_notes_are_listed_by_folder_tag_author_and_age(here: Shell) -> None:
    assert [each["title"] for each in here.json("note", "list")["items"]] == ["Pool", "Retry policy"]
    assert here("note", "list", "--tag", "api").endswith("retry-policy.md  Retry policy  api")
    assert "Pool" in here("note", "list", "--author", "ann", "--since", "1d")
    assert here("note", "list", "--folder", "none") == ""
    assert "is no time" in here("note", "list", "--since", "soon", code=2)


def test_a_version_is_named_by_its_beginning(here: Shell) -> None:
    version = here.json("note", "history", "retry-policy.md")["versions"][0]["replaced_version"]
    short = version.removeprefix("sha256:")[:8]
    assert "+Four times." in here("note", "diff", "retry-policy.md", "--old", short)
    assert "reverted" in here("note", "revert", "Retry policy", short)
    assert "Three times." in here("note", "show", "Retry policy")


def test_what_is_mistyped_is_suggested(here: Shell) -> None:
    assert "Did you mean retry-policy.md?" in here("note", "show", "retry-polcy.md", code=3)
    task = here.json("task", "list")["tasks"][0]["id"]
    wrong = task[:-1] + ("0" if task[-1] != "0" else "1")
    assert f"Did you mean {task} (Fix the pool)?" in here("task", "show", wrong, code=3)
    assert "Did you mean 'list'" in here("note", "lst", code=2)
    assert "Did you mean 'search'" in here("serch", "x", code=2)


def editor(tmp_path: Path, script: str) -> str:
    (tmp_path / "editor.py").write_text(f"import sys, pathlib, subprocess\npath = pathlib.Path(sys.argv[1])\n{script}")
    return f"{sys.executable} {tmp_path / 'editor.py'}"


def test_a_note_is_edited_and_a_conflict_keeps_what_was_typed(
    here: Shell, memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor(tmp_path, "path.write_text(path.read_text() + 'By hand.')"))
    assert "updated" in here("note", "edit", "pool.md")
    assert "By hand." in here("note", "show", "pool.md")
    monkeypatch.setenv("EDITOR", editor(tmp_path, ""))
    assert "Nothing was changed" in here("note", "edit", "pool.md")
    note = memory / "knowledge/pool.md"
    monkeypatch.setenv(
        "EDITOR",
        editor(tmp_path, f"path.write_text('mine')\nother = pathlib.Path({str(note)!r})\nother.write_text('theirs')"),
    )
    told = here("note", "edit", "pool.md", code=4)
    [kept] = [word.rstrip(".") for word in told.split() if word.startswith("/") and ".md" in word]
    assert Path(kept).read_text() == "mine" and note.read_text() == "theirs"
    monkeypatch.setenv("EDITOR", "/no/such/editor")
    assert "Set EDITOR" in here("note", "edit", "retry-policy.md", code=2)


def test_undo_shows_first_what_it_takes_back(here: Shell) -> None:
    here("note", "write", "--title", "Mistake", "--content", "x", "--agent", "bob")
    shown = here("undo", "--agent", "bob", "--dry-run")
    assert "create of mistake.md by bob" in shown and "Undo will delete the note." in shown
    assert "mistake.md" in here("note", "list")
    assert "deleted the note" in here("undo", "--agent", "bob")
    assert "mistake.md" not in here("note", "list")


def test_undo_of_a_text_shows_the_lines_that_come_back(here: Shell) -> None:
    here("note", "write", "--title", "Draft", "--content", "first", "--agent", "eve")
    here("note", "write", "--note", "draft.md", "--content", "second", "--agent", "eve")
    shown = here("undo", "--agent", "eve", "--dry-run")
    assert "Undo will bring the text back." in shown and "-second\n+first" in shown
    here("task", "create", "Draft it", "--agent", "eve")
    assert "Undo will cancel the task." in here("undo", "--agent", "eve", "--dry-run")
    for _ in range(3):
        here("undo", "--agent", "eve")
    assert "draft.md" not in here("note", "list")


def test_a_verb_of_other_programs_names_ours(here: Shell) -> None:
    for words, ours in (
        ("note read x", "show"),
        ("token create", "new"),
        ("find x", "search"),
        ("task done", "complete"),
    ):
        assert f"Did you mean '{ours}'?" in here(*words.split(), code=2)


def test_the_hint_for_a_missing_note_can_be_typed(here: Shell) -> None:
    assert "`lithos note list` with --path" in here("note", "show", "nothing/like/it", code=3)
    assert "pool.md" in here("note", "list", "--path", "pool.md")


def completed(here: Shell, *words: str) -> list[str]:
    return [line.split("\t")[0] for line in here("complete", "--", *words).splitlines()]


def test_verbs_options_titles_and_ids_are_completed(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def complete(*words: str) -> list[str]:
        assert run(["complete", "--data-dir", str(memory), "--", *words]) == 0
        return [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()]

    assert "note" in complete("no") and complete("note", "li") == ["list"]
    assert complete("note", "show", "retry") == ["retry-policy.md"]
    assert complete("note", "show", "Retry\\ po") == complete("note", "show", "'Retry po") == ["Retry policy"]
    assert len(complete("task", "show", "")) == 1
    assert "--folder" in complete("note", "list", "--fo")
    for shell in ("bash", "zsh", "fish"):
        assert run(["completion", shell]) == 0
        script = capsys.readouterr().out
        assert "lithos complete --" in script
    assert run(["completion", "tcsh"]) == 2


# What a person's shell does with the script. Bash and zsh are asked for what they would offer for typed words.
TYPED = {
    "bash": 'eval "$(lithos completion bash)"; COMP_WORDS=(lithos note show {word}); '
    "COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); "
    'COMP_LINE="lithos note show $(printf %s "${{COMP_WORDS[@]:3}}")"; COMP_POINT=${{#COMP_LINE}}; _lithos_complete; '
    'printf "%s\\n" "${{COMPREPLY[@]}}"',
    "zsh": "compdef() {{ }}; _describe() {{ print -l -- ${{(P)2}} }}; "
    'eval "$(lithos completion zsh)"; words=(lithos note show {word}); CURRENT=4; _lithos',
    "fish": "lithos completion fish | source; complete -C 'lithos note show {word}'",
}


@pytest.mark.parametrize("shell", TYPED)
def test_the_script_completes_paths_and_titles_in_the_shell_itself(shell: str, memory: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"apt-get install {shell}")
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "LITHOS_DATA_DIR": str(memory)}

    def offered(word: str) -> str:
        command = [shell, "-c", TYPED[shell].format(word=word)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.stderr == ""
        return done.stdout

    assert offered("ret").startswith("retry-policy.md")
    typed = "'Retry\\ po'" if shell != "fish" else "Retry\\ po"
    assert offered(typed).replace("\\ ", " ").startswith("Retry policy")


def test_bash_gets_the_end_of_a_title_that_it_cuts_at_colons() -> None:
    answers = "lithos() { echo \"asked: ${*:3}\" >&2; printf 'Ops:rule=a b\\tx\\n'; }"
    for words, line, end in (("Ops : ru", "Ops:ru", "rule=a\\ b"), ("Ops : rule = a", "Ops:rule=a", "a\\ b")):
        typed = f"COMP_WORDS=(lithos note show {words}); COMP_LINE='lithos note show {line}'"
        counted = "COMP_CWORD=$((${#COMP_WORDS[@]}-1)); COMP_POINT=${#COMP_LINE}"
        shown = '_lithos_complete; printf "%s\\n" "${COMPREPLY[@]}"'
        script = "\n".join([SCRIPTS["bash"].replace("2>/dev/null", ""), answers, typed, counted, shown])
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
        assert (done.stderr, done.stdout) == (f"asked: note\nshow\n{line}\n", f"{end}\n")


def test_status_is_one_screen(here: Shell) -> None:
    answer: Any = here.json("status")
    assert (answer["documents"], answer["ready_tasks"]) == (2, 1)
    assert set(answer["vectors"]) == {"embedded", "waiting"}
    assert len(here("status").splitlines()) <= 24
    assert here.json("status", "--follow")["vectors"]["waiting"] == 0


def test_a_token_is_revoked_by_its_name(here: Shell) -> None:
    for name in ("laptop", "twin", "twin"):
        here("token", "new", "--name", name)
    assert "Did you mean 'laptop'" in here("token", "revoke", "laptp", code=3)
    assert "revoked" in here("token", "revoke", "laptop")
    assert "2 tokens are named" in here("token", "revoke", "twin", code=3)


def test_an_error_of_ours_is_one_line_and_a_file(
    memory: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    unreadable = tmp_path / "folder"
    unreadable.mkdir()
    assert run(["ledger", "verify-bundle", str(unreadable)]) != 0
    assert "Traceback" not in capsys.readouterr().err


def test_ctrl_c_and_a_closed_pipe_end_without_a_word(memory: Path) -> None:
    command = f"{sys.executable} -m lithos.cli.entry log --since 1d --data-dir {memory} | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""
    import signal

    follow = fork_server.Popen(
        [sys.executable, "-m", "lithos.cli.entry", "log", "-f", "--json", "--data-dir", str(memory)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert follow.stdout is not None
    assert follow.stdout.readline() == "{\n"
    follow.send_signal(signal.SIGINT)
    _, said = follow.communicate(timeout=60)
    assert "Traceback" not in said
    assert follow.returncode == 130


def test_json_is_json_for_every_verb_that_reads(here: Shell) -> None:
    for words in (["note", "list"], ["events", "list", "--since", "1d"], ["token", "list"], ["ps"], ["tools"]):
        json.dumps(here.json(*words))
    assert os.environ.get("LITHOS_DATA_DIR") is None
