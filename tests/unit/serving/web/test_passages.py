"""A hit's passage: readable, its words of the question marked, everything escaped."""

from __future__ import annotations

import pytest

from lithos.serving.web.passages import marked, readable
from tests.web.hostile import CORPUS


def test_the_marks_of_markdown_are_left_out() -> None:
    assert readable("**Use** `retry` of [[Net|the net]], see [docs](https://x.example/a) ![p](p.png)") == (
        "Use retry of the net, see docs p"
    )


def test_words_of_the_question_are_marked_in_any_inflection() -> None:
    shown = marked("Retries and the retried call", "how do I retry")
    assert shown == "<bdi><mark>Retries</mark> and the <mark>retried</mark> call</bdi>"
    assert "<mark>" not in marked("the and of", "what is the weather")


@pytest.mark.parametrize("text", CORPUS)
def test_a_hostile_passage_stays_text(text: str) -> None:
    shown = str(marked(readable(text), f"window hacked script img {text}"))
    for piece in ("<bdi>", "</bdi>", "<mark>", "</mark>"):
        shown = shown.replace(piece, "")
    without_controls = shown.replace('<span class="control">', "").replace("</span>", "")
    assert "<" not in without_controls
    assert '"' not in without_controls
