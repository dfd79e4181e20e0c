"""`lithos search` and `lithos inspect chunks`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.shell import Shell


@pytest.fixture
def shell(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    vault = data_dir / "knowledge"
    vault.mkdir(parents=True)
    (vault / "pasta.md").write_text("# Pasta\n\n## Time\n\nBoil spaghetti for nine minutes.\n")
    (vault / "pool.md").write_text("# Pool\n\nThe database has ten connections.\n")
    return Shell(data_dir, capsys)


def test_each_way_to_search_answers_and_explains_itself(shell: Shell) -> None:
    assert "Pasta  Time  (pasta.md)" in shell("search", "spaghetti")
    stages = {"": {"words", "fetch"}, "--semantic": {"embed", "vectors", "fetch"}}
    for way, expected in (stages | {"--hybrid": {"words", "embed", "vectors", "fetch"}}).items():
        answer = shell.json("search", "boiling spaghetti", *([way] if way else []), "--explain")
        assert answer["results"][0]["path"] == "pasta.md"
        assert set(answer["trace"]["milliseconds"]) == expected


def test_what_cannot_be_searched_is_refused(shell: Shell) -> None:
    assert "Choose one" in shell("search", "spaghetti", "--semantic", "--hybrid", code=2)
    assert "empty" in shell("search", " ", code=2)
    assert shell("search", "zebra") == ""


def test_chunks_are_shown_by_path_and_refused_for_an_unknown_note(shell: Shell) -> None:
    assert "[0]  Time  32 characters" in shell("inspect", "chunks", "pasta.md")
    assert shell.json("inspect", "chunks", "pool")["passages"][0]["text"] == "The database has ten connections."
    assert "there is no note" in shell("inspect", "chunks", "nothing", code=3)
