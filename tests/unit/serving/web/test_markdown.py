"""Markdown of strangers as HTML: what is kept, what is disarmed, and that no text takes long."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithos.serving.web.markdown import render, safe_link

TAGS = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
KNOWN = frozenset(
    "p h2 h3 h4 h5 h6 ul ol li a em strong s code pre blockquote".split()  # noqa: SIM905 - read as a list of words
    + "table thead tbody tr th td div hr br span".split()  # noqa: SIM905
)
OWN = frozenset("class id href rel target title tabindex role aria-label data-language start".split())  # noqa: SIM905
LINKS = [
    {"target": "Known", "id": "11111111-2222", "status": "resolved"},
    {"target": "Two", "id": None, "status": "ambiguous"},
]


def test_everyday_markdown_is_rendered() -> None:
    shown = render(
        "# Title\n\nA *word*, `code`, ~~gone~~.\n\n- [x] done\n- [ ] open\n\n|a|\n|-:|\n|1|\n", title="Title"
    )
    assert "Title" not in shown  # the page shows it
    for part in ("<em>word</em>", "<code>code</code>", "<s>gone</s>", "☑", "☐", '<td class="right">1</td>'):
        assert part in shown


def test_headings_begin_below_the_title_of_the_page_and_have_names() -> None:
    shown = render("### Deep\n\n#### Deeper\n\n### Deep\n")
    assert re.findall(r"<h(\d) id=\"([^\"]+)\"", shown) == [
        ("2", "h-deep"),
        ("3", "h-deeper"),
        ("2", "h-deep-2"),
    ]


def test_wiki_links_lead_to_their_notes() -> None:
    shown = render("[[Known|x]] [[Known#A b]] [[Two]] [[Gone]] [[#Here]]", links=LINKS)
    assert '<a class="wiki" href="/note/11111111-2222">x</a>' in shown
    assert 'href="/note/11111111-2222#h-a-b"' in shown
    assert "several notes have this name" in shown
    assert 'class="wiki broken" href="/search?q=Gone"' in shown
    assert 'href="#h-here"' in shown


def test_links_of_elsewhere_tell_nothing_and_files_outside_are_no_links() -> None:
    shown = render("[a](https://x.org) [b](sub/c.md#D) [e](../../../etc/passwd.md) [f](x.pdf)", path="p/q.md")
    assert 'href="https://x.org" rel="noopener noreferrer nofollow" target="_blank"' in shown
    assert 'href="/note/p/sub/c.md#h-d"' in shown
    assert "passwd" not in shown
    assert shown.count("href") == 2


def test_pictures_are_links_so_that_nothing_is_fetched() -> None:
    shown = render("![alt](https://tracker.example/p.png) ![x](data:image/svg+xml;base64,AAAA)")
    assert "<img" not in shown
    assert "data:" not in shown.replace("(data:", "")


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:x",
        " javascript:x",
        "java\tscript:x",
        "java%0ascript:x",
        "vbscript:x",
        "data:text/html,x",
        "file:///etc/passwd",
        "//evil.example",
        "\\\\evil",
        "/\\evil",
        "blob:x",
        "about:blank",
        "x-y:z",
    ],
)
def test_a_link_that_could_do_something_is_no_link(url: str) -> None:
    assert not safe_link(url)
    assert "href" not in render(f"[x](<{url}>)")


def test_direction_controls_are_shown_and_not_obeyed() -> None:
    shown = render("a \u202egnp.exe `\u2066x`\n\n```\n\u202e\n```\n")
    assert shown.count('<span class="control">U+202E</span>') == 2
    assert "\u202e" not in shown
    assert "\u2066" not in shown


@given(st.text(alphabet=st.sampled_from("<>[]()!#*_`~|\\\"'&/:= \n-ajsxonerscipt\u202e\0"), max_size=300))
def test_no_text_makes_a_tag_or_an_attribute_that_we_do_not_write(text: str) -> None:
    shown = str(render(text, links=LINKS))
    assert {name.lower() for _, name in TAGS.findall(shown)} <= KNOWN
    for attributes in re.findall(r"<[a-z0-9]+((?:\s+[a-z-]+(?:=\"[^\"]*\")?)*)\s*/?>", shown):
        names = set(re.findall(r"([a-z-]+)=", re.sub(r'"[^"]*"', "", attributes)))
        assert names <= OWN
    assert re.search(r'href="\s*(javascript|data|vbscript)', shown, re.IGNORECASE) is None


@pytest.mark.parametrize(
    "text", ["> " * 3000, "[" * 20_000, "![" * 5_000, "*_" * 10_000, "<" * 50_000, "a" * 5_000_000, "[[x]]" * 20_000]
)
def test_a_text_made_to_be_slow_is_bounded(text: str) -> None:
    assert len(render(text)) < 3_000_000


def test_a_paragraph_of_open_brackets_is_shown_as_it_is() -> None:
    shown = render("[" * 3_000 + "<b>")
    assert shown.startswith("<pre")
    assert shown.endswith("[&lt;b&gt;</pre>")
    assert not render("[0, 1) and [[Known]]\n\n" * 3_000, links=LINKS).startswith("<pre")


def test_a_run_of_direction_controls_is_one_mark() -> None:
    assert render("a" + "\u202e" * 20 + "b") == '<p>a<span class="control">U+202E×20</span>b</p>\n'
