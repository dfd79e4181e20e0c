"""The audit through its tools and verbs."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithos.app import Lithos
from lithos.cli.root import run
from lithos.core.clock import FakeClock
from lithos.errors import Forbidden, InvalidInput
from lithos.tools.caller import Caller

pytestmark = pytest.mark.both_databases

OPERATOR = Caller(operator=True)


def test_every_write_is_found_in_the_audit_by_who_did_it(call, clock: FakeClock) -> None:
    for agent in ("ada", "bob"):
        call("lithos_agent_register", id=agent, tool_call_id=f"call-of-{agent}")
        clock.advance(60)
    (row,) = call("lithos_events_query", agent="ada")["rows"]
    assert (row["type"], row["thing"], row["status"], row["tool_call_id"]) == (
        "agent",
        "ada",
        "committed",
        "call-of-ada",
    )
    assert [row["agent"] for row in call("lithos_events_query")["rows"]] == ["bob", "ada"]
    assert [row["agent"] for row in call("lithos_events_query", tool_call_id="call-of-bob")["rows"]] == ["bob"]
    page = call("lithos_events_query", limit=1)
    rest = call("lithos_events_query", limit=1, cursor=page["next_cursor"])
    assert ([row["agent"] for row in page["rows"] + rest["rows"]], rest["next_cursor"]) == (["bob", "ada"], None)


@pytest.mark.parametrize("wrong", [{"status": "done"}, {"since": "some day"}, {"limit": 0}, {"cursor": "x"}])
def test_wrong_questions_are_refused(call, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        call("lithos_events_query", **wrong)


def test_only_the_operator_verifies_and_rotates(call) -> None:
    for name in ("lithos_events_verify", "lithos_keys_rotate"):
        with pytest.raises(Forbidden):
            call(name)


def test_the_operator_rotates_keys_and_everything_still_verifies(call) -> None:
    call("lithos_agent_register", id="ada")
    assert call("lithos_keys_rotate", _caller=OPERATOR) == {"salt_version": 2}
    call("lithos_agent_register", id="bob")
    verdict = call("lithos_events_verify", _caller=OPERATOR)
    assert (verdict["ok"], verdict["events"]) == (True, 3)


def test_the_verbs_list_verify_and_rotate(lithos: Lithos, call, data_dir: Path, capsys) -> None:
    call("lithos_agent_register", id="ada")
    lithos.close()
    here = ["--data-dir", str(data_dir)]
    assert run(["events", "list", *here]) == 0
    assert "ada" in capsys.readouterr().out
    assert run(["keys", "rotate", *here]) == 0
    assert "key 2" in capsys.readouterr().out
    assert run(["events", "verify", *here]) == 0
    assert "The audit is whole." in capsys.readouterr().out


def test_verify_ends_with_a_separate_code_when_a_row_was_altered(lithos: Lithos, call, data_dir: Path, capsys) -> None:
    call("lithos_agent_register", id="ada")
    lithos.storage.database.write(lambda tx: tx.run("UPDATE events SET agent = 'eve'"))
    lithos.close()
    assert run(["events", "verify", "--data-dir", str(data_dir)]) == 7
    assert "altered: an event was altered" in capsys.readouterr().out
