"""What follows each other is found together: thoughts of a chain, short notes of a folder."""

from __future__ import annotations

from tests.conftest import CallTool

TALK = [
    "Good morning, how was the trip?",
    "We saw the lighthouse, painted red since last spring.",
    "It took them nine days and two ladders.",
    "Lovely. And the food?",
    "Fish every evening.",
    *(f"Then we spoke about day {day} of the plan." for day in range(6)),
]
ASKED = "who painted the lighthouse red"


def test_thoughts_of_a_chain_share_some_score(call: CallTool) -> None:
    call("mentisdb_append", chain_key="other", thought_type="Idea", content=TALK[2], agent_id="a")
    for said in TALK:
        call("mentisdb_append", chain_key="talk", thought_type="Idea", content=said, agent_id="a")
    found = [(hit["chain_key"], hit["passage"]) for hit in call("lithos_recall", query=ASKED, limit=20)["results"]]
    assert found[0] == ("talk", TALK[1])
    assert found.index(("talk", TALK[2])) < found.index(("other", TALK[2]))


def test_short_notes_of_a_folder_that_were_written_together_share_some_score(call: CallTool) -> None:
    call("lithos_write", title="Turn alone", content=TALK[2], path="elsewhere", agent="a")
    for number, said in enumerate(TALK):
        call("lithos_write", title=f"Turn {number}", content=said, path="talk", agent="a")
    found = [hit["path"] for hit in call("lithos_recall", query=ASKED, limit=20)["results"]]
    assert found[0] == "talk/turn-1.md"
    assert found.index("talk/turn-2.md") < found.index("elsewhere/turn-alone.md")
