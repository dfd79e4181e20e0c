"""A note's Markdown as HTML: CommonMark with tables, raw HTML off, wiki-links; only safe links are links."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import quote, unquote

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

from lithos.serving.web.templates import CONTROL, shown_control

MOST_RENDERED = 100_000  # characters: 50 ms of ordinary text, 2 s of text made to be slow
WIKI = re.compile(r"!?\[\[([^\[\]|#\n]*)(#[^\[\]|\n]*)?(?:\\?\|([^\[\]\n]*))?\]\]")
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)
SAFE_SCHEMES = ("http:", "https:", "mailto:")
TASK = re.compile(r"^\[([ xX])\]\s+")
BRACKET = re.compile(r"[\[\]]|\n[ \t]*\n")
MOST_OPEN = 2_000  # brackets of one paragraph: the parser looks for the end of each, and 100,000 take 5 s


def render(content: str, *, title: str = "", path: str = "", links: Iterable[Mapping[str, Any]] = ()) -> Markup:
    """`path` is the note's, for relative links; `links` are those of `lithos_read`, with the ids of their notes."""
    env: dict[str, Any] = {"path": path, "links": {each["target"]: each for each in links}, "slugs": {}}
    if _too_many_open(content[:MOST_RENDERED]):
        return Markup(f'<pre tabindex="0">{visible(content[:MOST_RENDERED])}</pre>')
    tokens = _parser().parse(content[:MOST_RENDERED], env)
    if title and len(tokens) > 2 and tokens[0].type == "heading_open" and tokens[1].content.strip() == title.strip():
        tokens = tokens[3:]  # the page shows the title already
    highest = min((int(each.tag[1:]) for each in tokens if each.type == "heading_open"), default=1)
    env["lower"] = 2 - highest  # below the page's own title, without a gap
    # Every rule below escapes; those of the library that are left write tags alone.
    return Markup(_parser().renderer.render(tokens, _parser().options, env))


def _too_many_open(content: str) -> bool:
    """Whether a paragraph has more open brackets than any text for people."""
    opened = 0
    for found in BRACKET.finditer(content):
        opened = {"[": opened + 1, "]": max(0, opened - 1)}.get(found.group(), 0)
        if opened > MOST_OPEN:
            return True
    return False


@cache
def _parser() -> MarkdownIt:
    # A nesting deeper than this is an attack; each level is a frame of Python's stack.
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20, "linkify": False}, renderer_cls=SafeHTML)
    parser.enable(["table", "strikethrough"])
    parser.disable("html_block").disable("html_inline")
    parser.validateLink = safe_link  # type: ignore[method-assign]
    parser.inline.ruler.before("link", "wiki_link", _wiki_link)
    parser.core.ruler.push("tasks", _tasks)
    return parser


def safe_link(url: str) -> bool:
    """A link of the web, or one without a scheme. What hides a scheme behind blanks or controls is refused too."""
    text = "".join(each for each in unquote(url) if each.isprintable() and not each.isspace())
    if text.startswith("//") or "\\" in text:
        return False
    found = SCHEME.match(text)
    return found is None or found.group().lower() in SAFE_SCHEMES


def visible(text: str) -> str:
    """Escaped, with direction controls by their code points."""
    escaped = escapeHtml(text)
    if CONTROL.search(escaped) is None:
        return escaped
    return CONTROL.sub(lambda found: f'<span class="control">{shown_control(found)}</span>', escaped)


def slug(text: str) -> str:
    words = re.sub(r"[^\w\s-]", "", text.lower()).split()
    return "h-" + "-".join(words)[:80]  # the mark keeps names of the page's own elements free


def _wiki_link(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "[!":
        return False
    found = WIKI.match(state.src, state.pos, state.posMax)
    if found is None or not (found[1].strip() or found[2]):
        return False
    if not silent:
        token = state.push("wiki_link", "", 0)
        token.content = found[3] or (found[1].strip() + (found[2] or "")) or found.group()
        token.meta = {"target": found[1].strip(), "heading": (found[2] or "")[1:]}
    state.pos = found.end()
    return True


def _tasks(state: StateCore) -> None:
    """`- [ ]` and `- [x]` at the start of a list item."""
    for place, token in enumerate(state.tokens):
        if token.type != "inline" or place < 2 or state.tokens[place - 2].type != "list_item_open":
            continue
        first = token.children[0] if token.children else None
        if first is None or first.type != "text" or (found := TASK.match(first.content)) is None:
            continue
        first.content = first.content[found.end() :]
        box = Token("task_box", "", 0, meta={"done": found[1] != " "})
        token.children = [box, *(token.children or [])]
        state.tokens[place - 2].attrJoin("class", "task")


class SafeHTML(RendererHTML):
    """Rules by the name of the token; everything that came from the note passes `visible`."""

    def text(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return visible(tokens[idx].content)

    def code_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"<code>{visible(tokens[idx].content)}</code>"

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f'<pre tabindex="0"><code>{visible(tokens[idx].content)}</code></pre>\n'

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        language = tokens[idx].info.strip().split(" ")[0][:40]
        named = f' data-language="{visible_attribute(language)}"' if language else ""
        return f'<pre tabindex="0"{named}><code>{visible(tokens[idx].content)}</code></pre>\n'

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """A link: a picture of elsewhere would tell its server who reads this note."""
        token = tokens[idx]
        label = visible(token.content or "image")
        return f"<a{_href(str(token.attrGet('src') or ''), env)}>▣ {label}</a>"

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        title = token.attrGet("title")
        shown = f' title="{visible_attribute(str(title))}"' if title else ""
        return f"<a{_href(str(token.attrGet('href') or ''), env)}{shown}>"

    def wiki_link(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        target, heading = token.meta["target"], token.meta["heading"]
        anchor = f"#{escapeHtml(quote(slug(heading)))}" if heading else ""
        if not target:
            return f'<a class="wiki" href="{anchor}">{visible(token.content)}</a>'
        known = env["links"].get(target)
        if known is None or not known.get("id"):
            why = "ambiguous: several notes have this name" if known and known.get("status") == "ambiguous" else ""
            href = f"/search?q={escapeHtml(quote(target))}"
            said = why or "there is no such note yet"
            return f'<a class="wiki broken" href="{href}" title="{said}">{visible(token.content)}</a>'
        href = f"/note/{escapeHtml(quote(known['id'], safe=''))}{anchor}"
        return f'<a class="wiki" href="{href}">{visible(token.content)}</a>'

    def task_box(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        done = tokens[idx].meta["done"]
        return f'<span class="box" role="img" aria-label="{"done" if done else "open"}">{"☑" if done else "☐"}</span> '

    def heading_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """With a name that links may give."""
        base = slug(tokens[idx + 1].content)
        count = env["slugs"][base] = env["slugs"].get(base, 0) + 1
        name = visible_attribute(base if count == 1 else f"{base}-{count}")
        return f'<h{_level(tokens[idx], env)} id="{name}">'

    def heading_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"</h{_level(tokens[idx], env)}>\n"

    def table_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return '<div class="scroll" tabindex="0"><table>\n'

    def table_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "</table></div>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return _cell(tokens[idx], "th")

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return _cell(tokens[idx], "td")


def visible_attribute(text: str) -> str:
    return escapeHtml(CONTROL.sub("", text))


def _level(token: Token, env: EnvType) -> int:
    return min(int(token.tag[1:]) + int(env["lower"]), 6)


def _cell(token: Token, tag: str) -> str:
    """The alignment as a class: the policy blocks the style that the library would write."""
    side = str(token.attrGet("style") or "").rpartition(":")[2]
    return f'<{tag} class="{side}">' if side in ("left", "right", "center") else f"<{tag}>"


def _href(url: str, env: EnvType) -> str:
    """Attributes of a link; none for one that leads out of the vault."""
    if SCHEME.match(url):
        return f' href="{escapeHtml(url)}" rel="noopener noreferrer nofollow" target="_blank" class="outside"'
    name, _, anchor = url.partition("#")
    fragment = f"#{escapeHtml(quote(slug(unquote(anchor))))}" if anchor else ""
    if not name:
        return f' href="{fragment}"' if fragment else ""
    place = posixpath.normpath(posixpath.join(posixpath.dirname(env["path"]), unquote(name)).lstrip("/"))
    if place.startswith("..") or not place.lower().endswith(".md"):
        return ' class="dead" title="This link leads to no note of this memory"'
    return f' class="wiki" href="/note/{escapeHtml(quote(place))}{fragment}"'
