"""The data of the graph: how much it weighs, and ids that are no UUIDs."""

from __future__ import annotations

import json
import random
from base64 import b64decode
from uuid import UUID

from lithos.serving.web.pages.graph import _numbers, _packed


def test_10_000_notes_with_48_000_links_weigh_less_than_1_mb() -> None:
    chance = random.Random(3)
    notes = 10_000
    found = {
        "ids": [str(UUID(int=chance.getrandbits(128))) for _ in range(notes)],
        "titles": [f"{number:05} {'a title as long as those of many pages'}" for number in range(notes)],
        "paths": [f"folder {number % 300}/note {number}.md" for number in range(notes)],
        "tags": [f"tag {number}" for number in range(200)],
        "tagged": [[number % 200] for number in range(notes)],
        "links": [chance.randrange(notes) for _ in range(96_000)],
        "total": notes,
    }
    assert len(_packed(found)) <= 1_000_000


def test_an_id_that_is_no_uuid_is_kept_by_its_place() -> None:
    known = "0190c9f2-8d5a-7f00-8000-0123456789ab"
    packed = json.loads(
        _packed(
            {
                "ids": [known, "by-hand", known.upper()],
                "titles": ["one", "two\nlines", "[[a|A]] and [[b]]"],
                "paths": ["a.md", "b/c.md", "b/d.md"],
                "tags": [],
                "tagged": [[], [], []],
                "links": [],
                "total": 3,
            }
        )
    )
    assert packed["other_ids"] == {"1": "by-hand", "2": known.upper()}
    assert (UUID(bytes=b64decode(packed["ids"])[:16]), len(b64decode(packed["ids"]))) == (UUID(known), 48)
    assert packed["titles"].split("\n") == ["one", "two lines", "A and b"]


def test_numbers_are_packed_with_7_bits_a_byte() -> None:
    assert list(b64decode(_numbers([[1, 127, 128, 70_000], []]))) == [4, 1, 127, 128, 1, 240, 162, 4, 0]
