"""Rank tools for a query: by the embedding model over phrases of each tool, and by shared words."""

from __future__ import annotations

import hashlib
import logging
import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from lithos.tools.dispatch.dispatch import OPERATOR
from lithos.tools.dispatch.toolsets import CORE
from lithos.tools.find.phrases import phrases

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
_FURTHER = 0.8  # of the mean of the next best phrases: several that fit say more than one
_NEXT = 3
_WORDS = 0.4  # of words shared with all texts of a tool, beside the cosine
_PHRASE = 0.2  # of words shared with one phrase
_DAILY = 0.08  # a tool of daily work is meant more often
_OPERATORS = 0.05  # less for a tool that no agent may call


def ranked(lithos: Lithos, registry: Registry, pool: list[Tool], query: str) -> tuple[list[Tool], bool]:
    """The pool, best first, and whether the model took part. A name in the query comes first."""
    names = {each.name: each for each in pool}
    asked = next((names[word] for word in query.split() if word in names), None)
    scores = _by_words(tuple(pool), query)
    meaning = _by_meaning(lithos, registry, tuple(names), query)
    for name, each in names.items():
        scores[name] += meaning.get(name, 0.0) + _DAILY * (name in CORE) - _OPERATORS * (each.toolset == OPERATOR)
    order = sorted(pool, key=lambda each: -scores[each.name])
    if asked is not None:
        order = [asked, *(each for each in order if each is not asked)]
    return order, bool(meaning) or not pool


def texts_of(tool: Tool) -> tuple[str, ...]:
    """The texts of a tool that a query is compared with."""
    plain = " ".join(tool.name.split("_")[1:])
    return (plain, *phrases().get(tool.name, ()), " ".join(tool.description.split()).partition(". ")[0])


# ------------------------------------------------------------------- words
def _by_words(tools: tuple[Tool, ...], query: str) -> dict[str, float]:
    """The query's words that a tool's texts have, all of them and the closest one; rare words count more."""
    known, weights = _vocabulary(tools)
    rarest = math.log(1 + len(tools))
    asked = _stems(query)
    total = sum(weights.get(word, rarest) for word in asked) or 1.0
    meant = sum(weights.get(word, 0.0) for word in asked)  # words that no tool has say what it is about, not what to do
    scores = {}
    for name, (every, own) in known.items():
        shared = sum(weights[word] for word in asked & every) / total
        best = max(2 * sum(weights[word] for word in asked & stems) / (meant + weight) for stems, weight in own)
        scores[name] = _WORDS * shared + _PHRASE * best
    return scores


_Stems = frozenset[str]
_Known = dict[str, tuple[_Stems, tuple[tuple[_Stems, float], ...]]]


@lru_cache(maxsize=16)
def _vocabulary(tools: tuple[Tool, ...]) -> tuple[_Known, dict[str, float]]:
    """The stems of each tool, together and by phrase with their weight; and how much each stem counts."""
    every = {each.name: _stems(" ".join((*texts_of(each), each.description))) for each in tools}
    spread = Counter(stem for stems in every.values() for stem in stems)
    weights = {stem: math.log(1 + len(tools) / count) for stem, count in spread.items()}
    own = {each.name: [stems for text in texts_of(each) if (stems := _stems(text))] for each in tools}
    known = {
        name: (stems, tuple((each, sum(weights[stem] for stem in each)) for each in own[name]))
        for name, stems in every.items()
    }
    return known, weights


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
        further = best[1 : 1 + _NEXT] or best
        scores[name] = best[0] + _FURTHER * sum(further) / len(further)
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
    """From the derived file of these texts and this model, or made and kept there: 4 s become 1 ms."""
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
