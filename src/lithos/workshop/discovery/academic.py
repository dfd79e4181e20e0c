"""The academic as discovery asks it: which sources speak of tools for a language."""

from __future__ import annotations

from lithos.core.clock import Clock
from lithos.graph.sources import Sources
from lithos.workshop.discovery.discovery import Academic
from lithos.workshop.discovery.values import AcademicSource

KEPT_SECONDS = 300.0  # a search costs more than the rest of an answer
SHOWN = 3


def read_about(sources: Sources, clock: Clock) -> Academic:
    held: dict[tuple[str, str], tuple[float, list[AcademicSource]]] = {}

    def ask(topic: str, technology: str) -> list[AcademicSource]:
        at, known = held.get((topic, technology), (0.0, []))
        now = clock.now().timestamp()
        if now - at > KEPT_SECONDS:
            page = sources.best_practices(topic, technology, SHOWN)
            known = [{"id": row["id"], "title": row["title"]} for row in page["results"]]
            held[topic, technology] = now, known
        return known

    return ask
