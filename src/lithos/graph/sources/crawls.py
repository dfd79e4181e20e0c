"""When each allowed source was last asked: one row per source in the database's `meta`."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from lithos.core.clock import Clock, rfc3339
from lithos.graph.sources.web import AllowedSource
from lithos.storage import Database

_PREFIX = "academic.crawled."
_SET = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


class SourceState(TypedDict):
    """One of `academic.sources`, and when it last answered."""

    name: str
    base_url: str
    api_endpoint: NotRequired[str]
    rate_limit_per_min: int
    requires_auth: bool
    last_crawled_at: str | None


class Crawls:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def mark(self, name: str) -> None:
        """The source answered now, with a page or with the word that the page is unchanged."""
        now = rfc3339(self._clock.now())
        self._database.write(lambda tx: tx.put(_SET, f"{_PREFIX}{name}", now))

    def states(self, sources: tuple[AllowedSource, ...]) -> list[SourceState]:
        rows = self._database.read(lambda tx: tx.all("SELECT name, value FROM meta"))
        known = {row["name"]: row["value"] for row in rows}
        return [_state(each, known.get(f"{_PREFIX}{each.name}")) for each in sources]


def _state(source: AllowedSource, crawled: str | None) -> SourceState:
    shown: SourceState = {
        "name": source.name,
        "base_url": source.base_url,
        "rate_limit_per_min": source.rate_limit_per_min,
        "requires_auth": source.requires_auth,
        "last_crawled_at": crawled,
    }
    return {**shown, "api_endpoint": source.api_endpoint} if source.api_endpoint else shown
