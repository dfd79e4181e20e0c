"""What an error offers is accepted when it is sent back, and means one thing: point 8 of issue 15."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithos.errors import LithosError
from lithos.garden.edits.curating import ListEdit, curated
from lithos.garden.rules.policy import load_policy
from lithos.garden.sections import LONGEST_LABEL, outline
from tests.conftest import CallTool
from tests.flows.audit.conftest import Refuse

HEADINGS = st.sampled_from(
    [
        *("", " ", "\u00a0", "\u3000", "#", "-", "...", "?", "(", "()", ">", " > ", "A > B", "A", "B", "Dup", "dup"),
        *("(line 3)", "Dup (line 3)", "Dup (line 5)", "Dup (line 3) (line 3)", "line 3", "null", "true", "[]", "{}"),
        *("-->", "<!-- x -->", "*", "`code`", "😀", "1.", "é", "e\u0301", "x" * 600, "a\tb", "a  b"),
    ]
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    lines: list[str] = []
    for number in range(draw(st.integers(2, 8))):
        lines.append(f"{'#' * draw(st.integers(2, 4))} {draw(HEADINGS)}")
        if draw(st.integers(0, 3)) == 0:
            lines.append(f"<!-- @anchor: {draw(st.sampled_from(['same', 'a b', 'Dup', '(line 3)', 'own']))} -->")
        lines.append(f"text {number}")
    return "\n".join(lines) + "\n"


@settings(max_examples=300, deadline=None)
@given(documents())
def test_every_section_has_a_separate_label_that_is_found(text: str) -> None:
    outlined = outline(text)
    labels = [outlined.label(section) for section in outlined.sections]
    assert len(set(labels)) == len(labels)
    for label, section in zip(labels, outlined.sections, strict=True):
        assert label.strip() == label != "" and len(label) <= LONGEST_LABEL + 100
        assert outlined.find(label) == section


@settings(max_examples=200, deadline=None)
@given(documents(), HEADINGS)
def test_the_candidates_of_a_refused_section_are_accepted(text: str, wanted: str) -> None:
    outlined = outline(text)
    try:
        outlined.find(wanted)
    except LithosError as error:
        offered = error.details["candidates"]
        assert offered and len({outlined.find(each).first for each in offered}) == len(offered)


ITEMS = st.sampled_from(
    [
        *("", "-", "- x", "1. x", "* ", "x", "y", "line 3: x", "line 3: line 3: x", "line 4:", "(line 3)", "?"),
        *("null", "z" * 300, "[e:1] x", "[e:1] y", "😀", "> q", "# no heading", "a\n  b"),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(ITEMS, min_size=1, max_size=7), ITEMS, st.sampled_from(["-", "1.", "  *"]))
def test_the_candidates_of_a_refused_item_are_accepted(items: list[str], wanted: str, marker: str) -> None:
    text = "## L\n\n" + "".join(f"{marker} {item}\n" for item in items) + "\n## End\n"
    policy = load_policy(None)
    try:
        curated(text, "L", (ListEdit("prune", (wanted,)),), policy)
    except LithosError as error:
        offered = error.details.get("candidates", [])
        lines = text.count("\n")
        left = [curated(text, "L", (ListEdit("prune", (each,)),), policy) for each in offered]
        assert len(set(offered)) == len(offered)
        assert all(each.count("\n") < lines and each.endswith("\n## End\n") for each in left)


EMPTY = "# Doc\n\n" + "".join(
    f"## {name}\n\ntext\n\n" for name in ("", "", "...", "...", "Dup (line 3)", "Dup (line 3)")
)


@pytest.mark.parametrize("ask", ["no such", "...", "Dup (line 3)", " "])
@pytest.mark.parametrize("place", ["note", "garden"])
def test_candidates_of_strange_headings_are_accepted_by_the_tools(
    call: CallTool, refused: Refuse, data_dir: Path, ask: str, place: str
) -> None:
    who = {"user_id": "ana", "agent": "a"}
    if place == "note":
        target: dict[str, Any] = {"id": call("lithos_write", agent="a", title="T", content=EMPTY)["id"], **who}
    else:
        file = data_dir / "garden/users/ana/notes.md"
        file.parent.mkdir(parents=True)
        file.write_text(EMPTY)
        target = {"path": "users/ana/notes.md", **who}
    edit = {"change": {"append": "x"}, "rationale": "r"}
    offered = refused("lithos_md_patch_section", section_anchor=ask, **target, **edit)["candidates"]
    assert len(set(offered)) == len(offered) >= 2
    for number, name in reversed(list(enumerate(offered))):
        change = {"change": {"append": f"mark {number}"}, "rationale": "r"}
        assert call("lithos_md_patch_section", section_anchor=name, **target, **change)


def test_an_item_that_begins_like_an_offer_is_appended_as_it_is(call: CallTool) -> None:
    note = call("lithos_write", agent="a", title="T", content="## L\n\n- one\n")["id"]
    edit = {"id": note, "section_anchor": "L", "user_id": "ana", "agent": "a", "reason": "r"}
    call("lithos_md_curate_list", ops=["append"], items=["line 12: check the pump"], **edit)
    assert call("lithos_read", id=note)["content"] == "## L\n\n- one\n- line 12: check the pump\n"
