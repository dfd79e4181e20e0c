"""Pieces: what the graph found, with where it came from, how old and trusted it is, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lithos.core.text import estimate_tokens
from lithos.graph.trust import (
    Age,
    Decay,
    Standing,
    freshness,
    quality,
    trust_level,
    trust_name,
    trust_warning,
)
from lithos.graph.trust.freshness import ACADEMIC, CODE, DECAYS, HISTORY

DAY = 86_400.0
RECENT_DAYS = 30
_WORDS = {"rfc": "(authoritative)", "documentation": "(official docs)"}


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing that the graph found, before it is judged."""

    id: str
    domain: str  # code, history, academic
    kind: str
    title: str
    text: str
    similarity: float
    path: str = ""
    start_line: int = 0
    end_line: int = 0
    url: str = ""
    time: datetime | None = None  # written, or published
    version: str = ""
    file_bytes: int = 0  # of the whole file: what reading it would have cost
    verified: bool = False
    unchecked: bool = False
    was_true_until: str = ""
    warnings: tuple[str, ...] = ()
    confidence: float = 1.0
    ceiling: int = 100
    superseded_by: str = ""
    expired: bool = False
    changed: bool = False  # code: the file is no longer the one that was indexed
    lost: str = ""  # why a resolved conflict went against it
    whole: str = ""  # the text that was checked, where `text` is only a part of it
    also: tuple[str, ...] = ()  # commits that say the same: a merge and what it merged


@dataclass(frozen=True, slots=True)
class ScoredPiece:
    piece: Piece
    trust: int
    freshness: float
    quality: float
    tokens: int
    warnings: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"{self.piece.title}\n{self.piece.text}"

    @property
    def trust_name(self) -> str:
        return trust_name(self.trust, unchecked=self.piece.unchecked)

    @property
    def notable(self) -> tuple[str, ...]:
        """Warnings beyond the age and kind, which the line of the source says."""
        plain = trust_warning(self.trust, unchecked=self.piece.unchecked)
        return tuple(each for each in self.warnings if "⚠️" in each and each != plain and " days old - " not in each)

    @property
    def quoted(self) -> frozenset[str]:
        """Warnings that quote a retrieved text, or a field of a note that a person may have typed."""
        heir = self.piece.superseded_by
        typed = (each for each in self.warnings if heir and heir in each)
        return frozenset((*self.piece.warnings, f"⚠️ {self.piece.lost}", *typed))

    def shown(self, number: int, now: datetime) -> dict[str, Any]:
        """For `explain`: every number that decided."""
        piece = self.piece
        row: dict[str, Any] = {
            "n": number,
            "id": piece.id,
            "source": source_line(number, piece, now),
            "trust": self.trust,
            "trust_name": self.trust_name,
            "freshness": round(self.freshness, 4),
            "similarity": round(piece.similarity, 4),
            "quality": round(self.quality, 4),
            "tokens": self.tokens,
        }
        return {**row, "warnings": list(self.warnings)} if self.warnings else row


def days_old(piece: Piece, now: datetime) -> float:
    return 0.0 if piece.time is None else max(0.0, (now - piece.time).total_seconds() / DAY)


def scored(piece: Piece, now: datetime, decays: Mapping[str, Decay] = DECAYS) -> ScoredPiece:
    days = days_old(piece, now)
    is_code = piece.domain == CODE
    verified = is_code or piece.verified
    fresh = freshness(Age(piece.domain, days, not piece.changed, piece.superseded_by, piece.expired), decays)
    trust = trust_level(
        Standing(
            piece.domain,
            verified,
            piece.unchecked,
            piece.kind,
            days,
            piece.confidence,
            piece.ceiling,
            bool(piece.lost),
        )
    )
    found = [trust_warning(trust, unchecked=piece.unchecked) if trust < 100 else "", fresh.warning, *piece.warnings]
    if piece.was_true_until:
        found.append(f"⚠️ was true until {piece.was_true_until}")
    if piece.lost:
        found.append(f"⚠️ {piece.lost}")
    warnings = tuple(dict.fromkeys(each for each in found if each))
    tokens = estimate_tokens(piece.title) + estimate_tokens(piece.text) + 20  # its line in the list of sources
    score = quality(piece.similarity, trust, fresh.score, verified)
    return ScoredPiece(piece, trust, fresh.score, score, tokens, warnings)


def source_line(number: int, piece: Piece, now: datetime) -> str:
    """`[1] Code: path:12-40 (verified, current)`, in the specification's form."""
    days = days_old(piece, now)
    if piece.domain == CODE:
        lines = _lines(piece)
        state = "⚠️ changed since it was read" if piece.changed else "(verified, current)"
        return f"[{number}] Code: {piece.path}{lines} {state}"
    if piece.domain == ACADEMIC:
        where = f"Academic: {piece.title}" + (f" ({piece.url})" if piece.url else "")
        state = _WORDS.get(piece.kind, "(external)")
    else:
        where = f"History: {piece.time:%Y-%m-%d}" if piece.time else "History"
        where += f" {piece.path}" if piece.path else ""
        if piece.kind == "commit":
            where += " " + " also ".join(each.rpartition(":")[2][:8] for each in (piece.id, *piece.also))
        state = f"({int(days)} days old)" if days > RECENT_DAYS else "(recent)"
    if not piece.verified:
        state = "(unchecked)" if piece.unchecked else "⚠️ UNVERIFIED"
    return f"[{number}] {where} {state}"


def _lines(piece: Piece) -> str:
    if not piece.start_line:
        return ""
    return f":{piece.start_line}" + (f"-{piece.end_line}" if piece.end_line != piece.start_line else "")


def source_name(piece: Piece) -> str:
    """The name before trust and score in a prompt. A title is retrieved text: it is inside the fence."""
    if piece.domain == CODE:
        return f"Code: {piece.path}{_lines(piece)}"
    if piece.domain == HISTORY:
        date = f" ({piece.time:%Y-%m-%d})" if piece.time else ""
        return f"History: {piece.kind}{date}"
    return f"Academic: {piece.kind}"
