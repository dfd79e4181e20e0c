"""The mask over a chain says of each thought what the rule says of it alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

import pytest

from lithos.ledger.chain.chain import Chain
from lithos.ledger.scopes import ChainScopes, EntryScope
from lithos.sessions import Viewer

COUNT, SESSIONS = 120, 4
PROMOTED = dict.fromkeys(range(0, COUNT, 5), "s1")


class Columns:
    count, names, pairs = COUNT, (), 0


class Thoughts:
    key, columns = "history", Columns()


class Known:
    def known(self, session_ids: Collection[str]) -> set[str]:
        return set()

    def promoted(self, chain_key: str) -> Mapping[int, str]:
        return PROMOTED


@pytest.fixture
def scopes() -> tuple[ChainScopes, dict[int, str], Any]:
    chain = Thoughts()
    made = ChainScopes(cast(Chain, chain), Known())
    of = {place: f"s{place % SESSIONS}" for place in range(0, COUNT, 3)}
    for session in {*of.values()}:
        made._add(session, [place for place, each in of.items() if each == session])
    return made, of, chain  # the scopes hold their chain weakly


@pytest.mark.parametrize(
    "wanted",
    [
        EntryScope(),
        EntryScope(public=True),
        EntryScope(own="s1", public=True),
        EntryScope(own="s1"),
        EntryScope(everything=True, excluded=("s2",)),
        EntryScope(sessions=("s0", "s3")),
        EntryScope(promoted_only=True, public=True),
        EntryScope(sessions=("unknown",)),
    ],
)
def test_the_mask_of_a_query_is_its_rule_for_each_thought(
    scopes: tuple[ChainScopes, dict[int, str], Any], wanted: EntryScope
) -> None:
    made, of, _ = scopes
    rule = [wanted.fits(of[place], place in PROMOTED) if place in of else wanted.takes_public for place in range(COUNT)]
    assert made.entries(wanted).tolist() == rule


def test_a_viewer_sees_the_public_the_promoted_and_their_own(scopes: tuple[ChainScopes, dict[int, str], Any]) -> None:
    made, of, _ = scopes
    seen = made.seen(Viewer("s2"))
    assert seen is not None
    rule = [place not in of or place in PROMOTED or of[place] == "s2" for place in range(COUNT)]
    assert seen.tolist() == rule
    assert dict(made.marks()) == {place: "promoted" if place in PROMOTED else of[place] for place in of}
