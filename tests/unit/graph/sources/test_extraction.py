"""Files are read in a process with limits of memory and time; bombs, passwords and scans end there."""

from __future__ import annotations

import zlib

import pytest

from lithos.errors import InvalidInput, TooLarge
from lithos.graph.sources.extraction import NoText, ReadLimits, extracted
from tests.flows.test_sources import pdf

pytest.importorskip("pypdfium2")
pytest.importorskip("selectolax")


def test_a_pdf_that_needs_a_password_is_refused() -> None:
    text = pdf("Secret paper\nIt has enough letters to be read by anyone who has the password of it.")
    secret = b"/Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s>" % (b"41" * 32, b"42" * 32)
    locked = text.replace(b"trailer << ", b"trailer << /Encrypt << " + secret + b" >> /ID [<00><00>] ")
    assert locked != text
    with pytest.raises(InvalidInput, match="encrypted"):
        extracted(locked, "locked.pdf")


def test_a_stream_that_grows_without_end_is_refused() -> None:
    bomb = zlib.compress(b"BT " + b" " * 400_000_000, 1)
    small = pdf("x")
    start = small.index(b"<< /Length")
    end = small.index(b"endstream") + len(b"endstream")
    head = b"<< /Filter /FlateDecode /Length %d >>\nstream\n" % len(bomb)
    with pytest.raises((InvalidInput, TooLarge)):
        extracted(small[:start] + head + bomb + b"\nendstream" + small[end:], "bomb.pdf", limits=ReadLimits(2**28))


def test_a_page_that_takes_too_long_is_refused() -> None:
    with pytest.raises(TooLarge, match="CPU"):
        extracted(b"<html><body>" + b"<p>yak " * 500_000, "long.html", limits=ReadLimits(cpu=1))


def test_a_page_that_nests_without_end_is_read() -> None:
    nested = b"<html><body>" + b"<blockquote>Yaks graze high up on the slopes. " * 20_000
    assert extracted(nested, "nested.html").text.count("Yaks graze") == 20_000


PAGE = """<html><head><title>Site</title><meta name=author content="Ann Roe"></head><body class="has-sidebar">
<div class="menu"><ul><li><a href=a>Home</a><li><a href=b>All news of the week</a><li><a href=c>About</a></ul></div>
<div id="page"><h1>Grazing<a class=headerlink href="#g">¶</a></h1>
<p>A <b>yak</b>, unlike a <a href=d>cow</a>, grazes where the <code>air_density</code> is low, the grass is short.</p>
<h2>How high?</h2><ul><li>4,000 m</li><li>6,000 m</li></ul>
<pre>def graze(yak):
    return yak</pre>
<p>They come down<br>when the snow is deep, and stay until the thaw.</p>
<h2>Related</h2><div class="related"><p>Ten marmots that you must see before the end of this year.</p></div></div>
<div class="share"><a href=e>Share this on every network</a></div>
<div style="display: none">Hidden words about walruses.</div>
<footer>All rights reserved by the walruses of the world.</footer></body></html>"""


def test_the_main_part_of_a_page_becomes_markdown_and_the_rest_is_left_out() -> None:
    found = extracted(PAGE.encode(), "yaks.html")
    assert (found.title, found.authors) == ("Grazing", ("Ann Roe",))
    assert found.text == "\n\n".join(
        (
            "## Grazing",
            "A yak, unlike a cow, grazes where the air_density is low, the grass is short.",
            "## How high?",
            "- 4,000 m",
            "- 6,000 m",
            "```\ndef graze(yak):\n    return yak\n```",
            "They come down when the snow is deep, and stay until the thaw.",
        )
    )


def test_a_name_of_noise_is_not_believed_where_it_holds_the_text() -> None:
    said = "Yaks graze high up on the slopes, where the air is thin."
    page = f"<body><div class=comments><p>{said}</p><p>{said}</p></div><div class=menu><a href=a>Home</a></div></body>"
    assert extracted(f"<html>{page}</html>".encode(), "x.html").text == f"{said}\n\n{said}"


@pytest.mark.parametrize("data", [pdf(""), b"<html><body><img src=a.png></body></html>"])
def test_pictures_without_text_are_no_text(data: bytes) -> None:
    with pytest.raises(NoText):
        extracted(data, "scan.pdf" if data.startswith(b"%PDF") else "scan.html")


def test_text_in_fonts_without_a_table_of_characters_is_no_text() -> None:
    letters = "\n".join(" ".join("abcdefghijklmnop") for _ in range(40))
    with pytest.raises(NoText):
        extracted(pdf(letters), "garbled.pdf")


def test_the_title_is_what_the_paper_prints_and_not_what_its_template_says() -> None:
    page = "A Study of Yaks and\nTheir Grass\nAnn University of Yaks\nAbstract. They graze where the air is thin."
    found = extracted(pdf(page, title="Proceedings Template - WORD"), "x.pdf")
    assert found.title.startswith("A Study of Yaks and")
    assert extracted(pdf("Short\n" + "body text of the paper " * 3, title="Another Paper"), "x.pdf").title == "Short"


def test_a_title_is_neither_a_logo_nor_a_kind_of_thesis_nor_an_author() -> None:
    body = "\nAnn B. Roe\nAbstract\n" + "priority queues and sequential processes go on\n" * 8
    logo = pdf("BRICS\nOptimal Purely Functional\nPriority Queues" + body, first=60)
    assert extracted(logo, "x.pdf").title == "Optimal Purely Functional Priority Queues"
    thesis = pdf("Final Year Project Report\nEvaluating Systems of Yaks" + body, first=11)
    assert extracted(thesis, "x.pdf").title == "Evaluating Systems of Yaks"
    assert extracted(pdf("Communicating\nSequential Processes" + body, first=11), "x.pdf").title == (
        "Communicating Sequential Processes"
    )
