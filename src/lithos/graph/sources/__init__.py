"""Outside knowledge: papers, documentation, RFCs and pages as notes with a `kind`."""

from __future__ import annotations

from lithos.graph.sources.crawls import Crawls, SourceState
from lithos.graph.sources.ingest import Ingest, Ingested, IngestRequest, Places
from lithos.graph.sources.sources import (
    DEPTHS,
    Comparison,
    Prose,
    ScriptedProse,
    SourcePage,
    SourceRow,
    Sources,
    Synthesis,
)
from lithos.graph.sources.texts import KINDS, SourceKind, SourceText
from lithos.graph.sources.web import AllowedSource, Connect, Fetcher, Resolve

__all__ = [
    "DEPTHS",
    "KINDS",
    "AllowedSource",
    "Comparison",
    "Connect",
    "Crawls",
    "Fetcher",
    "Ingest",
    "IngestRequest",
    "Ingested",
    "Places",
    "Prose",
    "Resolve",
    "ScriptedProse",
    "SourceKind",
    "SourcePage",
    "SourceRow",
    "SourceState",
    "SourceText",
    "Sources",
    "Synthesis",
]
