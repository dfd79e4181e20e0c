"""Reads the main text of an HTML page as Markdown. Run in the child process; imports nothing of the package.

Every block of text has a value: its characters outside links, less those in links and a price per block. The main part
is the element with the highest sum: a menu beside the text would lower it. Elements inside that lower it are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

MOST_TEXT = 5_000_000
LONGEST_TITLE = 300
LINK_COST = 1.5  # of a character in a link: menus are links
BLOCK_COST = 18.0  # of a block: scraps beside the text are short
MOST_OF_SHORT = 20.0  # value of a heading or cell, of either sign: they are short in the text and beside it
NOISE_SHARE = 0.5  # of the page's text: an element that has more is no menu even if its name says so
LEAST_SHARE = 0.25  # of the page's text: a main part with less was cut by names that mean something else there
LINKED = 0.6  # of a block: it is a link with a few words around it
LEAST_SAID = 60  # characters outside links that keep such a block


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DROPPED = _words(
    "script style noscript template svg math iframe object select button input textarea nav footer menu dialog canvas "
    "audio video head option label aside"
)
_BLOCKS = _words(
    "h1 h2 h3 h4 h5 h6 p li pre blockquote td th dt dd div section article main body ul ol dl table tbody thead tfoot "
    "tr figure figcaption header form fieldset address center details summary hr caption"
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_NAMED = frozenset([*_HEADINGS, "p", "li", "pre", "blockquote", "td", "th", "dt", "dd", "figcaption"])
_HOLDING = frozenset(["li", "blockquote", "pre", "dd"])  # a paragraph inside is part of them
_SHORT = frozenset([*_HEADINGS, "td", "th"])
_LISTED = frozenset(["li", "dt", "dd"])  # short ones cost nothing where they have no link
_ROLES = _words("navigation banner contentinfo complementary search dialog")
_NOISE = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|navigation|menu|breadcrumbs?|footer|sidebar|side-bar|widgets?|share|sharing|sharedaddy|"
    r"social|comments?|commentlist|disqus|respond|related|recommend(?:ed|ations?)?|promo|promoted|newsletter|subscribe|"
    r"subscription|signup|cookies?|consent|banner|advert|ads?|advertisement|sponsored|popup|modal|overlay|pager|"
    r"pagination|paging|tags|tagcloud|taglist|byline|author-box|authorbox|author-bio|copyright|skip|hidden|"
    r"screen-reader-text|visually-hidden|sr-only|toolbar|login|search|searchform|outbrain|taboola|trending|popular|"
    r"most-read|more-stories|read-more|teasers?|jp-relatedposts|headerlink|blogroll|archives?|ratings?|feedback|"
    r"post-meta|entry-meta|entry-footer|kommentare?|verwandte|teilen|empfehlungen|anzeige|werbung)(?=$|[\s_-]|\d)",
    re.IGNORECASE,
)
_PARAGRAPH_SIGN = re.compile(r"\s*[¶#]$")  # of a link to the heading itself


class Block:
    """A run of text without another block inside."""

    __slots__ = ("links", "parts", "tag", "text", "value")

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.parts: list[str] = []
        self.links = 0  # characters in links
        self.text = ""
        self.value = 0.0

    @property
    def said(self) -> int:
        return len(self.text) - self.links

    def weigh(self) -> None:
        text = "".join(self.parts)
        self.text = text.strip("\n") if self.tag == "pre" else " ".join(text.split())
        if self.tag in _HEADINGS:
            self.text = _PARAGRAPH_SIGN.sub("", self.text)
        is_free = self.tag == "pre" or self.tag in _SHORT or (self.tag in _LISTED and not self.links)
        value = self.said - LINK_COST * self.links - (0.0 if is_free else BLOCK_COST)
        self.value = max(-MOST_OF_SHORT, min(value, MOST_OF_SHORT)) if self.tag in _SHORT else value


class Element:
    """An element of the page that can hold blocks."""

    __slots__ = ("is_noise", "kids", "said", "value")

    def __init__(self, is_noise: bool = False) -> None:
        self.is_noise = is_noise  # by its name
        self.kids: list[Element | Block] = []
        self.said = 0
        self.value = 0.0


def read(data: bytes) -> dict[str, Any]:
    """Title, authors, date, and the main part: headings, paragraphs, lists, code and tables."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(data)
    named = tree.css("meta[name=author], meta[name=citation_author]")
    authors = [node.attributes.get("content") or "" for node in named]
    date = tree.css_first("meta[property='article:published_time'], meta[name=citation_publication_date]")
    lines = [_markdown(block) for block in _main_text(tree.body)] if tree.body is not None else []
    return {
        "title": " ".join(_title(tree).split())[:LONGEST_TITLE],
        "authors": "; ".join(filter(None, authors)),
        "published_at": (date.attributes.get("content") or "") if date else "",
        "pages": ["\n\n".join(lines)[:MOST_TEXT]],
    }


def _title(tree: Any) -> str:
    named = tree.css_first("meta[property='og:title']")
    if named is not None and (said := named.attributes.get("content")):
        return str(said)
    for tag in ("h1", "title"):
        node = tree.css_first(tag)
        if node is not None and node.text().strip():
            return _PARAGRAPH_SIGN.sub("", str(node.text()).strip())
    return ""


def _main_text(body: Any) -> list[Block]:
    root = _tree_of(body)
    _weigh(root)
    kept = [*_blocks_of(_main_part(root))]
    if sum(block.said for block in kept) < LEAST_SHARE * root.said:
        root = _tree_of(body)
        _weigh(root, by_name=False)
        kept = [*_blocks_of(_main_part(root))]
    return _with_text(kept)


def _tree_of(body: Any) -> Element:
    """Elements with their blocks of text. Without recursion: a page may nest without end."""
    root = Element()
    block: Block | None = None
    todo: list[tuple[Any, Element, str, bool]] = [(body, root, "p", False)]
    while todo:
        node, element, tag, in_link = todo.pop()
        kind = "" if node is None else str(node.tag or "")
        if kind in ("", *_BLOCKS):  # one begins, or ended
            block = None
        if kind == "-text":
            block = _add_text(element, block, tag, node.text_content or "", in_link)
        elif kind == "br" and block is not None:
            block.parts.append("\n")
        elif kind[:1].isalpha() and kind not in _DROPPED:
            if kind in _BLOCKS and node is not body:
                if _is_hidden(node):
                    continue
                inside = Element(_is_noise(node))
                element.kids.append(inside)
                todo.append((None, element, "", False))
                element, tag = inside, kind if kind in _NAMED else tag if tag in _HOLDING else "p"
            todo += [(kid, element, tag, in_link or kind == "a") for kid in reversed([*_kids(node)])]
    return root


def _add_text(element: Element, block: Block | None, tag: str, text: str, in_link: bool) -> Block | None:
    if block is None:
        if not text.strip():
            return None
        block = Block(tag)
        element.kids.append(block)
    block.parts.append(text)
    block.links += len(text.strip()) if in_link else 0
    return block


def _kids(node: Any) -> Iterator[Any]:
    kid = node.child
    while kid is not None:
        yield kid
        kid = kid.next


def _is_hidden(node: Any) -> bool:
    given = node.attributes
    if "hidden" in given or given.get("aria-hidden") == "true" or given.get("role") in _ROLES:
        return True
    return "display:none" in (given.get("style") or "").replace(" ", "").lower()


def _is_noise(node: Any) -> bool:
    given = node.attributes
    named = f"{given.get('class') or ''} {given.get('id') or ''}"
    return named != " " and node.tag not in ("main", "article") and bool(_NOISE.search(named))


def _weigh(root: Element, by_name: bool = True) -> None:
    """Sums from the leaves up. `by_name`: elements with a name of noise are emptied."""
    order = _elements(root)
    for each in reversed(order):
        for kid in each.kids:
            if isinstance(kid, Block):
                kid.weigh()
            each.said += kid.said
    for each in reversed(order):
        if by_name and each.is_noise and each.said < NOISE_SHARE * root.said:
            each.kids = []
        each.value = sum(kid.value for kid in each.kids)


def _elements(root: Element) -> list[Element]:
    """All of them, those above before those inside."""
    order = [root]
    for each in order:
        order += [kid for kid in each.kids if isinstance(kid, Element)]
    return order


def _main_part(root: Element) -> Element:
    return max(_elements(root), key=lambda each: each.value)


def _blocks_of(main: Element) -> Iterator[Block]:
    todo: list[Element | Block] = [main]
    while todo:
        each = todo.pop()
        if isinstance(each, Element):
            todo += reversed(each.kids) if each is main or each.value > 0 else ()
        elif each.text and (each.links < LINKED * len(each.text) or each.said > LEAST_SAID):
            yield each


def _with_text(blocks: list[Block]) -> list[Block]:
    """Without headings that nothing follows: they announced what was left out."""
    kept: list[Block] = []
    following = 0  # level of the heading that follows; 0: the end, 7: text
    for block in reversed(blocks):
        level = _HEADINGS.get(block.tag, 7)
        if level < 7 and level >= following:
            continue
        following = level
        kept.append(block)
    return kept[::-1]


def _markdown(block: Block) -> str:
    text = block.text
    if block.tag == "pre":
        return f"```\n{text}\n```"
    if block.tag in _HEADINGS:
        return f"{'#' * max(2, _HEADINGS[block.tag])} {text}"
    return {"li": f"- {text}", "blockquote": f"> {text}"}.get(block.tag, text)
