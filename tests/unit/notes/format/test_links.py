"""Where links are, where none are, and that no text makes the search slow."""

from __future__ import annotations

import pytest

from lithos.notes.format.links import WikiLink, find_links


def targets(text: str) -> list[str]:
    return [link.target for link in find_links(text) if not link.attachment]


@pytest.mark.parametrize(
    ("text", "target", "display", "heading"),
    [
        ("[[note]]", "note", "note", ""),
        ("[[note|text]]", "note", "text", ""),
        ("[[note#Heading]]", "note", "note#Heading", "#Heading"),
        ("[[note#^block|b]]", "note", "b", "#^block"),
        ("[[folder/note.md]]", "folder/note.md", "folder/note.md", ""),
        ("[[My long name]]", "My long name", "My long name", ""),
        ("[[ padded ]]", "padded", "padded", ""),
        ("[[Ärger/日本語]]", "Ärger/日本語", "Ärger/日本語", ""),
        (r"| a | [[note\|text]] |", "note", "text", ""),
        ("[[v1.2]]", "v1.2", "v1.2", ""),
        ("[[[note]]]", "note", "note", ""),
        ("[text](other.md)", "other.md", "text", ""),
        ("[text](a%20b/other.md#part)", "a b/other.md", "text", "#part"),
        ('[text](<my note.md> "title")', "my note.md", "text", ""),
        ("[text](note(1).md)", "note(1).md", "text", ""),
        ("[a [b] c](other.md)", "other.md", "a [b] c", ""),
    ],
)
def test_each_form_of_link_is_found(text: str, target: str, display: str, heading: str) -> None:
    (link,) = find_links(f"before {text} behind")
    assert (link.target, link.display, link.heading) == (target, display, heading)


def test_a_link_says_where_its_target_is() -> None:
    text = "x [[ note#h|d ]] y ![[embedded]] [t](a%20b.md)"
    found = find_links(text)
    assert [text[link.start : link.end] for link in found] == ["note", "embedded", "a%20b.md"]
    assert found[1] == WikiLink("embedded", "embedded", 22, 30, embed=True)


@pytest.mark.parametrize(
    "text",
    [
        "```\n[[no]]\n```",
        "~~~ python\n[[no]]\n```\n[[no]]\n~~~",
        "````\n```\n[[no]]\n````",
        "```\n[[no]] in a fence that never ends",
        "- item\n  ```\n  [[no]]\n  ```",
        "- ```\n  [[no]]\n  ```",
        "> ```\n> [[no]]\n> ```",
        "`[[no]]`",
        "``[[no]] ` [[no]]``",
        "`code\nover lines [[no]]`",
        "%% [[no]] %%",
        "%%\n[[no]]\n\n[[no]]\n%%",
        "<!-- [[no]] -->",
        "<!--\n\n[[no]]\n-->",
        "$x = [[no]]$",
        "$$\n[[no]]\n$$",
        r"\[[no]]",
        "[[]]",
        "[[#Heading in this note]]",
        "[[line\nbreak]]",
        "![[picture.PNG]]",
        "[[paper.pdf#page=2]]",
        "[text](https://example.org/a.md)",
        "[text](mailto:a@b.md)",
        "[text](//host/a.md)",
        "[text](picture.png)",
        "[text] (other.md)",
        "[[" + "x" * 600 + "]]",
    ],
)
def test_what_only_looks_like_a_link_is_none(text: str) -> None:
    assert targets(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "``` not a fence: `tick` behind it\n[[yes]]",
        "a ` tick that nothing closes\n\nand [[yes]] in the next paragraph `",
        "costs $5 and [[yes]] for $6",
        "100% [[yes]] 50%",
        "%% nothing closes this [[yes]]",
        "text <!-- nothing closes this [[yes]]",
        "> ```\n> code\n\n[[yes]]",
        "```\ncode\n```\n[[yes]]",
        r"\\[[yes]]",
        "[ ] todo [[yes]]",
        "[[[[yes]]",
        "a ~~~ [[yes]]",
        "<b>[[yes]]</b>",
    ],
)
def test_a_link_behind_something_unfinished_is_still_one(text: str) -> None:
    assert targets(text) == ["yes"]


LENGTH = 100_000


UNITS = (
    *("[[", "[", "](", "[](", "[](a.md ", '[](a.md "', "[[a", "`", "` `` ", "$a ", "<!--", "%% ", "~~~ "),
    *("``` a`b\n", " \n", "\\", "$", "$$ ", "!", "[[" + "a" * 510, "[](" + "a" * 510, "(a", "~~~\n", "`\n\n"),
    *("> ~~~~ a\n\n", "> ", "- ", "#"),
)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", UNITS)
def test_a_long_text_of_anything_is_done_at_once(unit: str) -> None:
    """A search that is quadratic anywhere takes minutes here."""
    text = unit * (LENGTH // len(unit))
    find_links(text + " [[end]] [x](y.md)")
    find_links("[[start]] [x](y.md) " + text)


@pytest.mark.timeout(20)
def test_backtick_runs_of_every_length_are_done_at_once() -> None:
    runs = "".join("`" * length + " " for length in range(1, 1400))
    assert targets(runs + "\n\n" + runs + "[[end]]") == ["end"]


def test_a_megabyte_of_brackets_holds_no_link() -> None:
    assert targets("[[" * 500_000) == []
    assert targets("[[" * 500_000 + "x]]") == ["x"]
