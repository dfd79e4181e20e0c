"""Recurring shapes: counted in strangers' files, of which none may hold up the host."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithos.core.call import Call
from lithos.graph import code as graph
from tests.support.code_repos import code_graph, repository

OPERATOR = Call("test", operator=True)
HOSTILE = {  # within comments and strings, so that the grammar has nothing to do
    "dependency injection": {
        "a.ts": "/*\n" + "constructor(\n" * 60_000 + "*/\n",
        "a.py": "'''\n" + "def __init__(self,\n" * 45_000 + "'''\n",
    },
    "error handling": {"a.go": "package x\n/*\n" + "if " * 250_000 + "\n" * 4_000 + "*/\n"},
    "foo": {"a.py": "'''\n" + "foo" * 250_000 + "\n" * 4_000 + "'''\n"},
}


@pytest.mark.parametrize("query", HOSTILE)
def test_a_hostile_file_is_read_in_linear_time(tmp_path: Path, query: str) -> None:
    with code_graph(tmp_path / "data", ("r", repository(tmp_path / "r", HOSTILE[query]))) as code:
        found = graph.detect(code, OPERATOR, query, None, None)
    assert found["files_read"] == len(HOSTILE[query])


def test_examples_name_their_line_also_where_a_form_feed_is_above(tmp_path: Path) -> None:
    text = "import os\n\x0c\ndef f():\n    raise First(1)\n\n\ndef g():\n    raise Second(2)\n"
    with code_graph(tmp_path / "data", ("r", repository(tmp_path / "r", {"a.py": text}))) as code:
        rows = graph.detect(code, OPERATOR, "error handling", None, None)["patterns"]
    shown = {row["variant"]: [(each["line"], each["text"]) for each in row["examples"]] for row in rows}
    assert shown == {"First": [(4, "raise First(1)")], "Second": [(8, "raise Second(2)")]}


def test_a_root_that_is_away_does_not_silence_the_others(tmp_path: Path) -> None:
    roots = [(name, repository(tmp_path / name, {f"{name}.py": "raise Oops(1)\n"})) for name in ("here", "gone")]
    with code_graph(tmp_path / "data", *roots) as code:
        (tmp_path / "gone").rename(tmp_path / "elsewhere")
        found = graph.detect(code, OPERATOR, "error handling", None, None)
    assert [row["variant"] for row in found["patterns"]] == ["Oops"]
    assert found["degraded"]
    assert "gone" in found["degraded_reason"]
