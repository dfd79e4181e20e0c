"""Rank tools for a query: by the embedding model over phrases of each tool, and by shared words."""

from __future__ import annotations

import hashlib
import logging
import math
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from lithos.tools.phrases import PHRASES
from lithos.tools.toolsets import CORE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lithos.app import Lithos
    from lithos.search import Embedding
    from lithos.tools.registry import Registry, Tool

    Floats = NDArray[np.float32]

_log = logging.getLogger(__name__)
_WORD = re.compile(r"[a-z0-9]+")
_STOP = frozenset(
    _WORD.findall(
        """a all an and any are as at be by can could did do does for from had has have here how i if in is it its let
        like me my need no not of on one or our please should so some that the their them there they this to us use
        want was we were what when where which who why will with would you your"""
    )
)
_ENDINGS = ("ing", "ies", "ed", "es", "s")
_SHORTEST_STEM = 3
# Fitted on the odd lines of tests/fixtures/tool_wishes.tsv, held against the even ones.
_SECOND = 0.15  # of the second best phrase: two that fit say more than one
_WORDS = 0.4  # of shared words beside the cosine
_DAILY = 0.04  # a tool of daily work is meant more often


def ranked(lithos: Lithos, registry: Registry, pool: list[Tool], query: str) -> tuple[list[Tool], bool]:
    """The pool, best first, and whether the model took part. A name in the query comes first."""
    names = {each.name: each for each in pool}
    asked = next((names[word] for word in query.split() if word in names), None)
    scores = _by_words(tuple(pool), query)
    meaning = _by_meaning(lithos, registry, tuple(names), query)
    for name in names:
        scores[name] = _WORDS * scores[name] + meaning.get(name, 0.0) + _DAILY * (name in CORE)
    order = sorted(pool, key=lambda each: -scores[each.name])
    if asked is not None:
        order = [asked, *(each for each in order if each is not asked)]
    return order, bool(meaning)


def texts_of(tool: Tool) -> tuple[str, ...]:
    """The texts of a tool that a query is compared with."""
    plain = " ".join(tool.name.split("_")[1:])
    return (plain, *PHRASES.get(tool.name, ()), " ".join(tool.description.split()).partition(". ")[0])


# ------------------------------------------------------------------- words
def _by_words(tools: tuple[Tool, ...], query: str) -> dict[str, float]:
    """The share of the query's words that a tool's texts have; rare words count more."""
    known, spread = _vocabulary(tools)
    asked = _stems(query)
    weights = {word: math.log(1 + len(tools) / spread.get(word, 1)) for word in asked}
    total = sum(weights.values()) or 1.0
    return {name: sum(weights[word] for word in asked & stems) / total for name, stems in known.items()}


@lru_cache(maxsize=16)
def _vocabulary(tools: tuple[Tool, ...]) -> tuple[dict[str, frozenset[str]], dict[str, int]]:
    known = {each.name: _stems(" ".join((*texts_of(each), each.description))) for each in tools}
    spread: dict[str, int] = {}
    for stems in known.values():
        for stem in stems:
            spread[stem] = spread.get(stem, 0) + 1
    return known, spread


def _stems(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word[: -len(ending)]
    return word


# ------------------------------------------------------------------- meaning
@dataclass(frozen=True, eq=False)
class _Vectors:
    rows: Floats
    spans: dict[str, tuple[int, int]]


_made: WeakKeyDictionary[Embedding, _Vectors] = WeakKeyDictionary()


def _by_meaning(lithos: Lithos, registry: Registry, names: tuple[str, ...], query: str) -> dict[str, float]:
    """Empty when the model cannot be loaded: words alone still find most."""
    try:
        vectors = _made.get(lithos.embedding) or _vectors(lithos, registry)
        likeness = vectors.rows @ lithos.embedding.question(query)
    except Exception as error:  # noqa: BLE001 - a missing or broken model must not end the way to every tool
        _log.warning("tools are found by words only: %s", error)
        return {}
    scores = {}
    for name in names:
        start, end = vectors.spans[name]
        best = sorted(likeness[start:end].tolist(), reverse=True)
        scores[name] = best[0] + _SECOND * (best[1] if len(best) > 1 else 0.0)
    return scores


def _vectors(lithos: Lithos, registry: Registry) -> _Vectors:
    texts: list[str] = []
    spans: dict[str, tuple[int, int]] = {}
    for each in registry:
        own = texts_of(each)
        spans[each.name] = (len(texts), len(texts) + len(own))
        texts += own
    made = _Vectors(_cached(lithos, texts), spans)
    _made[lithos.embedding] = made
    return made


def _cached(lithos: Lithos, texts: list[str]) -> Floats:
    """From the derived file of these texts and this model, or made and kept there: 2 s become 1 ms."""
    import numpy as np

    embedder = lithos.embedding.embedder
    digest = hashlib.sha256("\0".join((embedder.id, *texts)).encode()).hexdigest()[:16]
    folder = lithos.storage.data_dir / ".vectors"
    path = folder / f"tools-{digest}.npy"
    kept = _load(path, (len(texts), embedder.dimension))
    if kept is not None:
        return kept
    rows = np.stack([embedder.embed(text) for text in texts]).astype(np.float32)
    folder.mkdir(mode=0o700, exist_ok=True)
    for old in folder.glob("tools-*.npy"):
        old.unlink(missing_ok=True)
    part = path.with_suffix(".part")
    with open(part, "wb") as file:
        np.save(file, rows)
    part.replace(path)
    return rows


def _load(path: Path, shape: tuple[int, int]) -> Floats | None:
    import numpy as np

    try:
        rows: Floats = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    sound = rows.shape == shape and rows.dtype == np.float32 and bool(np.isfinite(rows).all())
    return rows if sound else None
