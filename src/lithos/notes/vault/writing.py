"""The text that a write makes of a note, without I/O. `Vault` loads and stores."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from lithos.core.clock import micros, parse_time, rfc3339
from lithos.core.names import is_blank
from lithos.errors import InvalidInput, TooLarge
from lithos.notes.fields import BY_NAME, MERGED, checked_fields, in_order
from lithos.notes.format.document import Document
from lithos.notes.format.frontmatter import Frontmatter, edit_frontmatter, new_frontmatter
from lithos.notes.format.note import LONGEST_TITLE, Note, title_heading
from lithos.notes.lifecycle.decisions import OnConflict

LONGEST_TAG = 100
MOST_TAGS = 100
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)]|\||>)(?:\s|$)")
_SUCCESSION = ("superseded_by", "superseded_at")  # no part of a note that is active again


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """One call of `lithos_write`. None leaves a thing as it is; an empty value removes a field."""

    agent: str
    title: str | None = None
    content: str | None = None
    tags: Sequence[str] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)  # of the frontmatter, by the names in `notes/fields.py`
    id: str | None = None  # the note to update
    folder: str | None = None
    append: bool = False
    if_match: str | None = None
    claim_token: int | None = None
    on_conflict: OnConflict = "merge"
    superseded_by: str | None = None

    @property
    def is_repeatable(self) -> bool:
        """Whether it may be decided again on a text that was just saved: a new name can be found and an addition
        made on any text, but a replacement is the caller's to decide."""
        if self.superseded_by or self.fields.get("merge_key") or self.fields.get("supersedes"):
            return False
        return self.if_match is None and (self.id is None or self.append or self.content is None)


def checked_request(request: WriteRequest, largest: int) -> WriteRequest:
    """The request with its texts trimmed, or a refusal: bad input never reaches a file."""
    title = None if request.title is None else checked_title(request.title)
    tags = None if request.tags is None else checked_tags(request.tags)
    if request.content is not None:
        _check_content(request.content, largest)
    fields = checked_fields(request.fields)
    if request.superseded_by and fields.get("supersedes"):
        raise InvalidInput("supersedes and superseded_by exclude each other", hint="Make two calls.")
    if request.superseded_by and fields.get("status") not in (None, "superseded"):
        raise InvalidInput(f"a superseded note cannot be {fields['status']}", hint="Leave out status.")
    again = dict.fromkeys(_SUCCESSION) if fields.get("status") == "active" else {}
    return replace(request, title=title, tags=tags, fields={**fields, **again})


def merging(request: WriteRequest) -> WriteRequest:
    """A merging write changes title, text, provenance, claim and TTL of the active note, and nothing else.

    Those are the new text's own, also where it names none: it does not come from where the old one came, and must not
    expire with it.
    """
    return replace(request, tags=None, fields={name: request.fields.get(name) for name in MERGED})


def checked_title(text: str) -> str:
    title = text.strip()
    if is_blank(title):
        raise InvalidInput("title is empty", hint="Give the note a short title.")
    if len(title) > LONGEST_TITLE:
        raise InvalidInput(f"title has {len(title)} characters; {LONGEST_TITLE} is the most", hint="Shorten it.")
    if not _one_line(title):
        raise InvalidInput("title contains a line break or control character", hint="Use one line of plain text.")
    return title


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    cleaned = tuple(dict.fromkeys(tag.strip().removeprefix("#") for tag in tags))
    if len(cleaned) > MOST_TAGS:
        raise InvalidInput(f"there are {len(cleaned)} tags; {MOST_TAGS} are the most", hint="Keep the ones that help.")
    for tag in cleaned:
        if not tag or len(tag) > LONGEST_TAG or not _one_line(tag):
            raise InvalidInput(
                f"{tag[:40]!r} is no tag", hint=f"A tag is one line of up to {LONGEST_TAG} printable characters."
            )
    return cleaned


def _one_line(text: str) -> bool:
    return not any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text)


def _check_content(content: str, largest: int) -> None:
    if "\0" in content:
        raise InvalidInput("content contains a NUL character", hint="Send text; attach binary data elsewhere.")
    try:
        size = len(content.encode("utf-8"))
    except UnicodeEncodeError:
        raise InvalidInput("content contains a lone surrogate", hint="Send valid Unicode text.") from None
    if size > largest:
        raise TooLarge(f"content has {size} bytes; {largest} is the most", hint="Split it over several notes.")


def new_note(request: WriteRequest, note_id: str, now: datetime) -> Document:
    """The file of a note that does not exist yet."""
    if request.title is None or request.content is None:
        missing = "title" if request.title is None else "content"
        raise InvalidInput(f"a new note needs a {missing}", hint="Or give the id of the note to update.")
    moment = rfc3339(now)
    made = {"id": note_id, "title": request.title, "created_at": moment, "updated_at": moment, "author": request.agent}
    fields = {**made, "tags": list(request.tags or ()) or None, "confidence": 1.0, **request.fields}
    content = without_title(request.content, request.title)
    body = f"\n# {request.title}\n" + (f"\n{content}\n" if content else "")
    return Document(body, new_frontmatter(in_order(fields)))


def changed_note(note: Note, request: WriteRequest, note_id: str, now: datetime) -> Document | None:
    """The file after an update; None when there is nothing to change."""
    title = request.title or note.title
    document = replace(note.document, body=_body(note, request, title))
    fields = _asked(note, request, document, title)
    if not fields and document == note.document:
        return None
    if note.front.problem is not None and not fields:
        return document  # broken frontmatter is left for its owner to repair; the text can still be written
    fields |= _contributor(note, request.agent)
    return with_fields(document, {**fields, **_missing_id(note, note_id), "updated_at": rfc3339(now)})


def marked_note(note: Note, fields: Mapping[str, Any], note_id: str, now: datetime) -> Document:
    """The file with these fields and nothing else changed; marking a note makes no contributor."""
    return with_fields(note.document, {**fields, **_missing_id(note, note_id), "updated_at": rfc3339(now)})


def _missing_id(note: Note, note_id: str) -> dict[str, str]:
    return {} if note.has_id else {"id": note_id}


def with_fields(document: Document, changes: Mapping[str, Any]) -> Document:
    if not changes:
        return document
    if document.front is None:
        # The empty line keeps the content apart, as it is behind every frontmatter; the body stays as it was.
        return replace(document, front=new_frontmatter(changes), body=f"\n{document.body}")
    return replace(document, front=edit_frontmatter(document.front, changes))


def without_title(content: str, title: str) -> str:
    heading = title_heading(content, title)
    return content[heading.end() :].removeprefix("\n") if heading else content


def _body(note: Note, request: WriteRequest, title: str) -> str:
    body = note.document.body
    if note.heading and title != note.title:
        start, end = note.heading.span(1)
        body = body[:start] + title + body[end:]
    if request.content is None:
        return body
    if request.append and not request.content.strip():
        return body
    sent = without_title(request.content, title) if note.heading else request.content
    content = _appended(note.content, sent) if request.append else sent
    if any(_equal(note.content, each) for each in (content, request.content)):
        return body
    heading = title_heading(body, title) if note.heading else None
    return _joined(body[: heading.end()] if heading else "", content, _is_separated(note, content))


def _equal(old: str, new: str) -> bool:
    """Empty lines around it, and how a line ends, are no content."""
    return old == new or _lines(old) == _lines(new)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").strip("\n")


def _is_separated(note: Note, content: str) -> bool:
    """Whether an empty line comes before the content: as before, and where reading would else take one away."""
    had = note.content_start > (note.heading.end() if note.heading else 0)
    if note.document.front is None and not note.heading:
        return False
    return had or not note.content or content.startswith("\n")


def _joined(head: str, content: str, separated: bool) -> str:
    if not content:
        return head
    if head and not head.endswith("\n"):
        head += "\n"
    return head + ("\n" if separated else "") + content + "\n"


def _appended(old: str, addition: str) -> str:
    """A new paragraph, but the next item where a list (or table, or quotation) goes on."""
    if not old.strip():
        return addition
    lines = old.rstrip("\n")
    goes_on = _ITEM.match(lines.rpartition("\n")[2]) and _ITEM.match(addition)
    missing = (1 if goes_on else 2) - (len(old) - len(lines))
    return old + "\n" * missing + addition


def _asked(note: Note, request: WriteRequest, document: Document, title: str) -> dict[str, Any]:
    """The fields that the request changes; the title only where the text does not already say it."""
    fields = {name: value for name, value in request.fields.items() if not _is_set(note, request, name, value)}
    if request.tags is not None and list(request.tags) != note.tags:
        fields["tags"] = list(request.tags)
    seen = Note(note.path, document, Frontmatter(note.fields), "").title
    if seen != title:
        fields["title"] = title
    return fields


def _is_set(note: Note, request: WriteRequest, name: str, value: Any) -> bool:
    """Whether the note has this value: as it is written, as the same instant, or as the one that counts by default."""
    known = note.fields.get(name)
    if known == value:
        return True
    if BY_NAME[name].type == "time" and known is not None and value is not None:
        return note.moment(name) == micros(parse_time(str(value), name))
    if known is None or (isinstance(known, str) and not known.strip()):
        expires = request.fields.get("expires_at", note.fields.get("expires_at"))
        defaults = {"status": "active", "confidence": 1.0, "ttl_policy": "decay" if expires else "persistent"}
        return value is None or defaults.get(name) == value
    return False


def _contributor(note: Note, agent: str) -> dict[str, Any]:
    if agent == note.text("author") or agent in note.contributors:
        return {}
    return {"contributors": [*note.contributors, agent]}
