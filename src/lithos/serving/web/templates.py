"""Jinja2 with everything escaped, and how the pages write times, sizes and names."""

from __future__ import annotations

import re
from datetime import datetime
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from lithos import __version__
from lithos.core.clock import parse_time, rfc3339
from lithos.errors import LithosError
from lithos.serving.web.assets import Assets

NAV = (  # path, word, icon of `icons.html`, key after `g`
    ("/", "Home", "home", "h"),
    ("/search", "Search", "search", "s"),
    ("/graph", "Graph", "graph", "r"),
    ("/board", "Board", "board", "b"),
    ("/ledger", "Ledger", "ledger", "l"),
    ("/garden", "Garden", "garden", "d"),
    ("/mail", "Messages", "mail", "m"),
    ("/agents", "Agents", "agents", "a"),
    ("/status", "Health", "health", "t"),
)
PRIORITIES = ("urgent", "high", "normal", "low", "someday")  # of a task, from 0
VERBS = {
    "create": "created",
    "update": "changed",
    "edit": "changed",
    "delete": "deleted",
    "move": "moved",
    "claim": "claimed",
    "release": "released",
    "complete": "completed",
    "cancel": "cancelled",
    "restore": "restored",
    "revert": "reverted",
    "supersede": "superseded",
    "append": "appended",
    "finding": "finding posted",
    "rewrite": "changed",
    "modify": "saved",
    "add": "saved",
}
UNITS = ((86_400 * 365, "y"), (86_400 * 30, "mo"), (86_400, "d"), (3_600, "h"), (60, "min"))
# They reorder what a reader sees: shown as what they are.
CONTROLS = {chr(code): f"U+{code:04X}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F)}
CONTROL = re.compile("[" + "".join(CONTROLS) + "]{1,50}")  # a page of 100,000 marks would be 3 MB

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TOOL = re.compile(r"\b(?:lithos|mentisdb)_\w")
SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")
WIKI = re.compile(r"!?\[\[([^\[\]|]{1,200})(?:\|([^\[\]]{1,200}))?\]\]")


def shown_control(found: re.Match[str]) -> str:
    """The code point of a direction control; of a long run the first and how many."""
    run = found.group()
    return CONTROLS[run] if len(run) == 1 else f"{CONTROLS[run[0]]}×{len(run)}"


def environment(assets: Assets) -> Environment:
    made = Environment(
        loader=PackageLoader("lithos.serving.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals.update(asset=assets.url, has_asset=assets.__contains__, version=__version__, nav=NAV, live=live)
    made.filters.update(ago=ago, left=left, size=size, number=number, plain=plain, path=path, short=short)
    made.filters.update(sentence=sentence, code_words=code_words, verb=verb, bare=bare, advice=advice)
    return made


@pass_context
def ago(context: Context, moment: str | datetime | None) -> Markup:
    """`<time>` relative to now, with the exact time as title; a script keeps it current."""
    at = _time(moment)
    if at is None:
        return Markup("<span class=quiet>–</span>")
    exact = rfc3339(at)
    text = relative((context["now"] - at).total_seconds())
    return Markup('<time datetime="{0}" title="{0}" data-ago>{1}</time>').format(exact, text)


@pass_context
def left(context: Context, moment: str | datetime | None) -> Markup:
    """Time until then, which a script counts down."""
    at = _time(moment)
    if at is None:
        return Markup("")
    seconds = (at - context["now"]).total_seconds()
    text = "over" if seconds <= 0 else f"{countdown(seconds)} left"
    return Markup('<time datetime="{0}" title="{0}" data-left>{1}</time>').format(rfc3339(at), text)


def live(kinds: str) -> str:
    """The htmx trigger of a part that is fetched again when anything of these kinds changes."""
    return ", ".join(f"live-{kind} from:body delay:300ms" for kind in kinds.split())


def relative(seconds: float) -> str:
    if seconds < -60:
        return f"in {span(-seconds)}"
    return "just now" if seconds < 60 else f"{span(seconds)} ago"


def span(seconds: float) -> str:
    for length, unit in UNITS:
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{int(seconds)} s"


def countdown(seconds: float) -> str:
    """By the second in the last ten minutes; `app.js` does the same."""
    return span(seconds) if seconds >= 600 else f"{int(seconds // 60)}:{int(seconds % 60):02}"


def size(count: float) -> str:
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= limit:
            return f"{count / limit:.1f} {unit}"
    return f"{int(count)} B"


def number(count: float) -> str:
    return f"{count:,}"


def plain(text: object) -> Markup:
    """Text of others with an isolated direction; direction controls are shown by their code point."""
    shown = str(escape("" if text is None else str(text)))
    if CONTROL.search(shown) is not None:
        shown = CONTROL.sub(lambda found: f'<span class="control">{shown_control(found)}</span>', shown)
    return Markup(f"<bdi>{shown}</bdi>")  # escaped above; `format` would take ten times as long


def bare(text: object) -> str:
    """Text of others where no markup can be: a title, an option, a label. Direction controls by their code point."""
    return CONTROL.sub(shown_control, "" if text is None else str(text))


def unlinked(text: str) -> str:
    """A passage without the brackets of its wiki-links: the words that a reader of the note sees."""
    return WIKI.sub(lambda found: found[2] or found[1], text)


def verb(operation: str) -> str:
    """An operation of the audit as a past tense."""
    return VERBS.get(operation, operation)


def sentence(text: str) -> str:
    """With a capital first letter, as people expect one."""
    return text[:1].upper() + text[1:]


def code_words(text: str) -> Markup:
    """`words` between back-ticks as code."""
    pieces = text.split("`")
    shown = (Markup("<code>{}</code>").format(each) if place % 2 else escape(each) for place, each in enumerate(pieces))
    return Markup("").join(shown)


def advice(hint: str) -> Markup:
    """The hint of an error for a person: without the sentences that name a tool, which only agents can call."""
    sentences = (each for each in SENTENCE_END.split(hint) if TOOL.search(each) is None)
    return code_words(bare(" ".join(sentences)))


def path(text: str) -> str:
    """As one segment of a URL's path."""
    return quote(text, safe="")


def short(text: str, length: int = 10) -> str:
    """The beginning of a hash or id."""
    return text.removeprefix("sha256:")[:length]


def _time(moment: str | datetime | None) -> datetime | None:
    if moment is None or isinstance(moment, datetime):
        return moment
    try:
        return parse_time(str(moment))
    except LithosError:
        return None
