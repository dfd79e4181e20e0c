"""A second judgement of the best hits: a cross-encoder that reads question and passage together. Off by default."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from lithos.errors import ConfigInvalid
from lithos.search.embedding.onnx_model import missing_from, opened_session, opened_tokenizer, typed_inputs

_log = logging.getLogger(__name__)
LONGEST = 512  # tokens of question and passage together
# What answers say; the reason may name a folder of this machine, so it goes to the log.
RERANKER_UNUSABLE = "the reranker cannot be used; the host's log says why"
_HINT = "The folder needs a cross-encoder as model.onnx, and its tokenizer.json; leave search.reranker empty for none."


class Reranker:
    """Gives one number for a pair, higher for a better answer. Loaded at the first question; safe from threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loading = threading.Lock()
        self.failure = ""

    @cached_property
    def _model(self) -> tuple[Any, Any, dict[str, str]]:
        tokenizer = opened_tokenizer(self._folder)
        tokenizer.enable_truncation(LONGEST, strategy="only_second")
        session = opened_session(self._folder)
        return tokenizer, session, typed_inputs(session, "search.reranker", self._folder)

    def scores(self, question: str, passages: Sequence[str]) -> list[float] | None:
        """None where the model cannot be used: the hits then keep their order."""
        try:
            with self._loading:
                tokenizer, session, kinds = self._model
            found = [self._score(tokenizer, session, kinds, question, each) for each in passages]
        except Exception as error:  # noqa: BLE001 both libraries raise their own; a question is answered without it
            _log.warning("search.reranker: %s: %s", self._folder, error)
            self.failure = str(error)[:200]
            return None
        self.failure = ""
        return found

    def _score(self, tokenizer: Any, session: Any, kinds: dict[str, str], question: str, passage: str) -> float:
        import numpy as np

        # A question may fill all that the model reads: then its beginning counts.
        read = tokenizer.encode(question[: 2 * LONGEST], passage)
        given = {"input_ids": read.ids, "attention_mask": read.attention_mask, "token_type_ids": read.type_ids}
        fed = {name: np.array([given[name]], kind) for name, kind in kinds.items()}
        return float(np.asarray(session.run(None, fed)[0]).reshape(-1)[-1])


def open_reranker(folder: str) -> Reranker | None:
    """By the setting `search.reranker`; empty: none. Nothing is loaded before the first use."""
    if not folder:
        return None
    place = Path(folder).expanduser()
    if not place.is_dir():
        raise ConfigInvalid(f"search.reranker: {place} is not a folder", hint=_HINT)
    if missing := missing_from(place):
        raise ConfigInvalid(f"search.reranker: {place} has no {missing}", hint=_HINT)
    return Reranker(place)
