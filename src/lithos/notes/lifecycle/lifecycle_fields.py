"""What a write may say of a note's life, checked and made into fields of the frontmatter. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lithos.core.clock import parse_time
from lithos.core.names import one_line
from lithos.core.secrets import find as find_secrets
from lithos.errors import InvalidInput, SecretRefused
from lithos.notes.lifecycle.decisions import STATUSES, TTL_POLICIES, OnConflict, Wish, check_provenance, trusted
from lithos.notes.vault.writing import Request

LONGEST_KEY = 500
MOST_SOURCES = 100
_SUCCESSION = ("superseded_by", "superseded_at")  # no part of a note that is active again
_MERGED = ("provenance", "claim_id", "ttl_policy", "expires_at")  # of the fields; title and content besides


@dataclass(frozen=True, slots=True)
class Life:
    """The arguments of `lithos_write` about a note's life; None leaves a field as it is, empty removes it."""

    provenance: str | None = None
    claim_id: str | None = None
    merge_key: str | None = None
    on_conflict: OnConflict = "merge"
    status: str | None = None
    ttl_policy: str | None = None
    expires_at: str | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    derived_from: Sequence[str] | None = None

    def wish(self, note_id: str | None) -> Wish:
        return Wish(note_id, self.merge_key or None, self.on_conflict)

    def fields(self) -> dict[str, Any]:
        """As the frontmatter has them; a refusal names the field. Successors are the vault's to mark."""
        self._check_succession()
        checked: dict[str, Any] = {
            "provenance": self.provenance and check_provenance(self.provenance),
            "claim_id": self.claim_id and one_line(self.claim_id, "claim_id", LONGEST_KEY),
            "merge_key": self.merge_key and one_line(self.merge_key, "merge_key", LONGEST_KEY),
            "status": self.status and _one_of("status", self.status, STATUSES),
            "ttl_policy": self.ttl_policy and _one_of("ttl_policy", self.ttl_policy, TTL_POLICIES),
            "expires_at": self.expires_at and _time(self.expires_at),
            "supersedes": self.supersedes and one_line(self.supersedes, "supersedes", LONGEST_KEY),
            "derived_from": None if self.derived_from is None else _sources(self.derived_from),
        }
        again = dict.fromkeys(_SUCCESSION) if self.status == "active" else {}
        return {**{name: value or None for name, value in checked.items() if value is not None}, **again}

    def _check_succession(self) -> None:
        if self.superseded_by and self.supersedes:
            raise InvalidInput("supersedes and superseded_by exclude each other", hint="Make two calls.")
        if self.superseded_by and self.status not in (None, "superseded"):
            raise InvalidInput(f"a note that is superseded is not {self.status}", hint="Leave out status.")


NO_LIFE = Life()


def _one_of(field: str, word: str, known: Sequence[str]) -> str:
    if word in known:
        return word
    raise InvalidInput(f"{field} {word[:40]!r} is unknown", hint=f"One of: {', '.join(known)}.")


def _time(text: str) -> str:
    parse_time(text, "expires_at")
    return text.strip()


def _sources(ids: Sequence[str]) -> list[str]:
    if len(ids) > MOST_SOURCES:
        raise InvalidInput(f"derived_from names {len(ids)} notes; {MOST_SOURCES} are the most")
    return list(dict.fromkeys(one_line(each, "derived_from", LONGEST_KEY) for each in ids))


def merging(request: Request) -> Request:
    """A write that is merged changes title, text, provenance, claim and TTL of the active note, and nothing else.

    Those are the new text's own, also where it names none: it did not come from where the old one came, and must not
    expire with it.
    """
    fields = {name: request.fields.get(name) for name in _MERGED}
    return replace(request, tags=None, fields=fields)


def limited_trust(fields: Mapping[str, Any], own: float, sources: Sequence[float]) -> tuple[dict[str, Any], str | None]:
    """The fields with no more confidence than the least trusted source has, and what to tell of it."""
    most = trusted(own, sources)
    if most == own:
        return dict(fields), None
    told = f"confidence is {most}, that of its least trusted source, and not {own}"
    return {**fields, "confidence": most}, told


def check_secrets(text: str, *, refuse: bool) -> list[str]:
    """A warning for each thing that looks like a credential, never with its value; or a refusal."""
    found = find_secrets(text)
    warnings = [f"line {each.line} holds what looks like a {each.kind}" for each in found]
    if warnings and refuse:
        raise SecretRefused(
            f"the note was not stored: {warnings[0]}",
            hint="Take it out; name where it is kept instead.",
            found=warnings,
        )
    return warnings
