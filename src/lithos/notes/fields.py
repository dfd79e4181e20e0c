"""The frontmatter fields that Lithos knows: one row each, in the order in which a new note has them.

Everything else about a field follows from its row: how `lithos_write` checks it, its column in the catalogue, whether
search filters by it, and what `lithos validate` says of a value that a person typed. A field that is not in this table
is the person's own: it is kept as it is and shown in `metadata`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from lithos.core.clock import parse_time
from lithos.core.names import is_blank, one_line
from lithos.errors import InvalidInput, TooLarge

Status = Literal["active", "superseded", "deprecated", "stale"]
TtlPolicy = Literal["ephemeral", "decay", "persistent"]
STATUSES: tuple[str, ...] = get_args(Status)
ENDED = ("superseded", "deprecated", "stale")  # every other status, a made-up one too, counts as active
TTL_POLICIES: tuple[str, ...] = get_args(TtlPolicy)

SOURCE_KINDS = ("paper", "documentation", "best_practice", "rfc", "stackoverflow", "blog", "tutorial")

LONGEST_KEY = 500
LONGEST_SOURCE = 2_000
LONGEST_PROVENANCE = 2_000
MOST_SOURCES = 100
_PROVENANCE = re.compile(
    r"(?:file:[^#\n]+(?:#L\d+(?:-L\d+)?)?|url:[^ \n]+|cmd:[^ \n]+|commit:[a-f0-9]+|event:[A-Z0-9_]+)"
)

FieldType = Literal["text", "texts", "time", "number"]
Check = Callable[[str, Any], Any]  # (name, value as a tool got it) → the value to store; raises InvalidInput


@dataclass(frozen=True, slots=True)
class NoteField:
    """One frontmatter field."""

    name: str
    type: FieldType = "text"
    column: str = ""  # its name in the catalogue; empty: only the file has it
    indexed: bool = False  # notes are looked up by its column
    filtered: bool = False  # search filters by its column
    check: Check | None = None  # of what a tool writes; None: no tool writes it as a field
    if_wrong: str = ""  # what a value counts as that a person typed and `check` refuses; empty: it is not checked
    merged: bool = False  # a merging write replaces it, also by nothing


def _key(name: str, value: Any) -> str:
    return one_line(str(value), name, LONGEST_KEY)


def _number(name: str, value: Any) -> float:
    return float(value)


def _one_of(known: Sequence[str]) -> Check:
    def check(name: str, value: Any) -> str:
        if value in known:
            return str(value)
        raise InvalidInput(f"{name} {str(value)[:40]!r} is unknown", hint=f"One of: {', '.join(known)}.")

    return check


def _time(name: str, value: Any) -> str:
    parse_time(str(value), name)
    return str(value).strip()


def _source(name: str, value: Any) -> str:
    # Frontmatter above 64 KiB is not read again, so that no field may be endless.
    if len(str(value)) > LONGEST_SOURCE:
        raise TooLarge(
            f"source_task has more than {LONGEST_SOURCE} characters", hint="Long text goes into the content."
        )
    return str(value)


def _provenance(name: str, value: Any) -> str:
    text = str(value)
    if len(text) <= LONGEST_PROVENANCE and _PROVENANCE.fullmatch(text):
        return text
    raise InvalidInput(
        f"{name} {text[:80]!r} has no known form",
        hint="Use file:PATH#L1-L9, url:ADDRESS, cmd:COMMAND (no spaces), commit:HEX or event:ID.",
    )


def _note_ids(name: str, value: Any) -> list[str]:
    if len(value) > MOST_SOURCES:
        raise InvalidInput(f"{name} names {len(value)} notes; {MOST_SOURCES} are the most")
    return list(dict.fromkeys(one_line(each, name, LONGEST_KEY) for each in value))


def _texts(name: str, value: Any) -> list[str]:
    return list(dict.fromkeys(one_line(str(each), name, LONGEST_KEY) for each in value[:MOST_SOURCES]))


FIELDS = (
    NoteField("id"),
    NoteField("title"),
    NoteField("created_at", "time", column="created", filtered=True),
    NoteField("updated_at", "time"),  # its column also holds the date of a file that names no time
    NoteField("author", column="author", indexed=True),
    NoteField("contributors", "texts"),
    NoteField("tags", "texts"),
    NoteField("confidence", "number", column="confidence", check=_number),
    NoteField("aliases", "texts"),
    NoteField("source", column="source", indexed=True, check=_source),
    NoteField("provenance", column="provenance", check=_provenance, if_wrong="it names no source", merged=True),
    NoteField("claim_id", column="claim_id", indexed=True, filtered=True, check=_key, merged=True),
    NoteField("merge_key", column="merge_key", indexed=True, check=_key),
    NoteField("status", column="status", check=_one_of(STATUSES), if_wrong="it counts as active"),
    NoteField(
        "ttl_policy", column="ttl_policy", check=_one_of(TTL_POLICIES), if_wrong="it counts as persistent", merged=True
    ),
    NoteField(
        "expires_at", "time", column="expires", indexed=True, check=_time, if_wrong="it never expires", merged=True
    ),
    NoteField("supersedes", column="supersedes", check=_key),
    NoteField("superseded_by", column="superseded_by", indexed=True),
    NoteField("superseded_at", "time"),
    NoteField("derived_from", "texts", column="derived_from", check=_note_ids),
    # Of outside sources. A person's own `kind: meeting` is none of ours: it makes no source and is no problem.
    NoteField("kind", column="kind", indexed=True, filtered=True, check=_one_of(SOURCE_KINDS)),
    NoteField("url", column="url", indexed=True, check=_source),
    NoteField("authors", "texts", column="authors", check=_texts),
    NoteField("published_at", "time", column="published", filtered=True, check=_time),
    NoteField("venue", column="venue", check=_key),
    NoteField("library", column="library", indexed=True, check=_key),
    NoteField("modules", "texts", column="modules", check=_texts),
    NoteField("content_hash", column="content_hash", indexed=True, check=_key),
    NoteField("etag", column="etag", check=_key),
)
BY_NAME = {field.name: field for field in FIELDS}
MERGED = tuple(field.name for field in FIELDS if field.merged)
COLUMNS = tuple(field for field in FIELDS if field.column)
# The filter fields of the notes' collection; `status`, `updated` and `ends` are computed from several fields.
SEARCH_KEYWORDS = ("status", *(field.column for field in COLUMNS if field.filtered and field.type == "text"))
SEARCH_NUMBERS = (*(field.column for field in COLUMNS if field.filtered and field.type == "time"), "updated", "ends")


def checked_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a tool as frontmatter values: None is left out, an empty value removes the field."""
    checked: dict[str, Any] = {}
    for name, value in given.items():
        check = BY_NAME[name].check
        if value is not None and check is not None:
            empty = isinstance(value, (str, list, tuple)) and not value
            checked[name] = None if empty else check(name, value)
    return checked


def problem_of(field: NoteField, value: str | None) -> str | None:
    """Why a value that a person typed is wrong, and what it counts as; None: it is not."""
    if value is None or is_blank(value) or not field.if_wrong or field.check is None:
        return None
    try:
        field.check(field.name, value)
    except InvalidInput as error:
        return f"{error.message}; {field.if_wrong}"
    return None


def in_order(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Known fields in the order of the table, then all others."""
    return {name: fields[name] for name in BY_NAME if name in fields} | dict(fields)
