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
    nested = b"<html><body>" + b"<blockquote>yak " * 20_000
    with pytest.raises(TooLarge, match="CPU"):
        extracted(nested, "nested.html", limits=ReadLimits(cpu=1))


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
