"""BibTeX and CSL-JSON: what is right is read, what is wrong is left out or refused."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from lithos.errors import InvalidInput, TooLarge
from lithos.graph.sources.bibliography import LARGEST, MOST_ENTRIES, from_bibtex, from_csl


def test_csl_is_read_as_the_schema_and_as_crossref_write_it() -> None:
    rows = [
        {
            "type": "article-journal",
            "title": "Time, Clocks",
            "author": [{"family": "Lamport", "given": "Leslie"}, {"literal": "The Group"}],
            "issued": {"date-parts": [[1978, 7]]},
            "container-title": "CACM",
            "DOI": "10.1145/359545.359563",
            "abstract": "Events are ordered partially.",
        },
        {"type": "post-weblog", "title": ["Notes"], "container-title": ["A Blog"], "issued": {"raw": "May 3, 2020"}},
    ]
    first, second = from_csl(orjson.dumps(rows))
    assert (first.title, first.kind, first.authors) == ("Time, Clocks", "paper", ("Leslie Lamport", "The Group"))
    assert (first.published_at, first.venue, first.url) == ("1978-07", "CACM", "https://doi.org/10.1145/359545.359563")
    assert first.text == "Events are ordered partially."
    assert (second.title, second.kind, second.venue, second.published_at) == ("Notes", "blog", "A Blog", "2020")


@pytest.mark.parametrize(
    "field",
    [
        {"author": None},
        {"author": [None, 7, {"family": 3}]},
        {"issued": "1978"},
        {"issued": {"date-parts": [["last", "year"]]}},
        {"issued": {"date-parts": []}},
        {"issued": {"date-parts": None}},
        {"URL": 7, "DOI": ["x", None]},
        {"type": {"a": 1}},
        {"container-title": []},
        {"abstract": {"p": "x"}},
    ],
)
def test_wrong_fields_of_csl_are_left_out(field: dict[str, Any]) -> None:
    (found,) = from_csl(orjson.dumps({"title": "Yaks", **field}))
    assert found.title == "Yaks"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"{", InvalidInput),
        (b"[]", InvalidInput),
        (b'[{"title": 3}, {"title": []}, 7]', InvalidInput),
        (b"[" * 100_000, InvalidInput),
        (orjson.dumps([{"title": f"T{n}"} for n in range(MOST_ENTRIES + 1)]), TooLarge),
        (b" " * (LARGEST + 1), TooLarge),
    ],
)
def test_what_is_no_csl_is_refused(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        from_csl(data)


def test_an_entry_without_an_end_does_not_take_the_next_ones_with_it() -> None:
    text = "@article{a, title={Broken {one},\n@article{b, title={Whole one}, year=2001}\n"
    assert [each.title for each in from_bibtex(text)] == ["Whole one"]
    side_by_side = "@misc{a, title={One thing}} @misc(b, title={Two (of them)})"
    assert [each.title for each in from_bibtex(side_by_side)] == ["One thing", "Two (of them)"]


def test_a_text_of_nothing_but_beginnings_is_read_once() -> None:
    """Each would be looked for to the end of the text: this took hours."""
    with pytest.raises(InvalidInput):
        from_bibtex("@a{" * 1_000_000)
    with pytest.raises(InvalidInput):
        from_bibtex("@a{x=" * 500_000)
