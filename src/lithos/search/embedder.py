"""Text to vector: the model of the package, one from a folder, any of sentence-transformers; and a fake for tests."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lithos.errors import ConfigInvalid
from lithos.search.memory import give_back

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

PACKAGED = "all-MiniLM-L6-v2"
FOLDER = Path(__file__).parent / "model"
_SIGNS = r"!-/:-@\[-`{-~"  # ASCII punctuation: a token of its own to every BERT tokenizer
_WORDS = re.compile(rf"[^\s{_SIGNS}]+|[{_SIGNS}]")
WORDS_REMEMBERED = 20_000  # token counts of words: 3 MB, and a text is counted in the time of its split


class Embedder(Protocol):
    id: str  # names the model in every index: vectors of different models never meet

    @property
    def dimension(self) -> int: ...

    @property
    def longest(self) -> int:
        """Tokens that the model reads, its two marks included."""
        ...

    def count(self, text: str) -> int:
        """Tokens of a text, without marks."""
        ...

    def embed(self, text: str) -> Floats:
        """A vector of length one. Safe from several threads at once."""
        ...

    def give_back(self) -> None:
        """Memory that many texts took and the next question does not need."""
        ...


def open_embedder(model: str) -> Embedder:
    """By the setting `search.embedding_model`. Nothing is loaded before the first use."""
    if model == PACKAGED:
        return OnnxEmbedder(FOLDER, f"{PACKAGED}/int8/3d6e6ff2")
    folder = Path(model).expanduser()
    if folder.is_dir():
        return _from_folder(folder)
    return SentenceTransformersEmbedder(model)


def _from_folder(folder: Path) -> OnnxEmbedder:
    missing = [name for name in ("model.onnx", "tokenizer.json") if not (folder / name).is_file()]
    if missing:
        raise ConfigInvalid(
            f"search.embedding_model: {folder} has no {' and no '.join(missing)}",
            hint="The folder needs a sentence embedding model as model.onnx, and its tokenizer.json.",
        )
    with open(folder / "model.onnx", "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return OnnxEmbedder(folder, f"{folder.name}/{digest[:16]}")


class OnnxEmbedder:
    """One text at a time: dynamic 8-bit arithmetic depends on what else is in a batch, and is slower in one.

    One session serves all threads; each run uses the thread that calls it.
    """

    def __init__(self, folder: Path, id: str, longest: int = 256) -> None:
        self.id = id
        self.longest = longest
        self._folder = folder
        self._loading = threading.Lock()
        self._tokens_of: dict[str, int] = {}

    @property
    def dimension(self) -> int:
        return 384 if self._folder == FOLDER else len(self.embed("dimension"))

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(
            str(self._folder / "model.onnx"),
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=["SkipLayerNormFusion"],  # a quarter slower than what it replaces
        )

    def count(self, text: str) -> int:
        """Word by word, each remembered; exact, as the tokenizer never joins across a space or a sign."""
        total = 0
        for word in _WORDS.findall(text):
            tokens = self._tokens_of.get(word)
            total += self._count_word(word) if tokens is None else tokens
        return total

    def _count_word(self, word: str) -> int:
        tokens = len(self._loaded("_tokenizer").encode(word, add_special_tokens=False).ids)
        if len(self._tokens_of) >= WORDS_REMEMBERED:
            self._tokens_of.clear()
        if len(word) <= 40:
            self._tokens_of[word] = tokens
        return tokens

    def embed(self, text: str) -> Floats:
        return _unit(self._run(text)[0][0])

    def give_back(self) -> None:
        if "_session" in self.__dict__:
            import onnxruntime

            shrinking = onnxruntime.RunOptions()
            shrinking.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
            self._run("", shrinking)  # 10 MB for each thread that has embedded a long text
        give_back()

    def _run(self, text: str, options: Any = None) -> Any:
        import numpy as np

        ids = np.array([_bounded(self._loaded("_tokenizer").encode(text).ids, self.longest)], np.int64)
        session = self._loaded("_session")
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        return session.run(None, {name: given[name].astype(kind) for name, kind in self._inputs.items()}, options)

    @cached_property
    def _inputs(self) -> dict[str, str]:
        wanted = {put.name: _KINDS.get(put.type, "") for put in self._session.get_inputs()}
        if not all(name in _TAKEN and kind for name, kind in wanted.items()):
            raise ConfigInvalid(
                f"search.embedding_model: the model in {self._folder} asks for {sorted(wanted)}", hint=_ASKED
            )
        return wanted

    def _loaded(self, part: str) -> Any:
        """Loaded once, by whoever comes first; the others wait."""
        if part not in self.__dict__:
            with self._loading:
                return self._load(part)
        return self.__dict__[part]

    def _load(self, part: str) -> Any:
        try:
            loaded = getattr(self, part)
            give_back()  # 20 MB that reading the model took and nobody needs any more
            return loaded
        except Exception as error:  # both libraries raise their own, which name no setting
            raise ConfigInvalid(
                f"search.embedding_model: {self._folder} cannot be loaded: {str(error)[:200]}",
                hint="The folder needs a sentence embedding model as model.onnx, and its tokenizer.json.",
            ) from error


_TAKEN = ("input_ids", "attention_mask", "token_type_ids")
_ASKED = f"It must take {', '.join(_TAKEN)}, or some of them, as integers."
_KINDS = {"tensor(int32)": "int32", "tensor(int64)": "int64"}


def _bounded(ids: list[int], longest: int) -> list[int]:
    """A question may be longer than the model reads: its beginning, and the closing mark."""
    return ids if len(ids) <= longest else [*ids[: longest - 1], ids[-1]]


def _unit(output: Any) -> Floats:
    """A vector as it is; the states of all tokens as their mean."""
    import numpy as np

    vector = np.asarray(output, np.float32)
    vector = vector.mean(axis=0) if vector.ndim == 2 else vector
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length > 0 else vector


class SentenceTransformersEmbedder:
    """Any model of sentence-transformers, with the extra `lithos-memory[models]`; never downloads by itself."""

    def __init__(self, name: str) -> None:
        self.id = f"sentence-transformers/{name}"
        self._name = name
        self._loading = threading.Lock()

    @cached_property
    def _model(self) -> Any:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise ConfigInvalid(
                f"search.embedding_model: {self._name!r} is neither {PACKAGED!r} nor a folder",
                hint="For a model of sentence-transformers install lithos-memory[models].",
            ) from None
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        return SentenceTransformer(self._name, device="cpu")

    @property
    def longest(self) -> int:
        return int(self._model.max_seq_length or 256)

    @property
    def dimension(self) -> int:
        return int(self._model.get_sentence_embedding_dimension())

    def count(self, text: str) -> int:
        return len(self._model.tokenizer.encode(text, add_special_tokens=False))

    def embed(self, text: str) -> Floats:
        with self._loading:
            return _unit(self._model.encode(text, show_progress_bar=False))

    def give_back(self) -> None:
        give_back()


class HashedEmbedder:
    """A fake of equal rank: each word has a fixed random direction, a text is the sum of its words'. Loads nothing."""

    def __init__(self, dimension: int = 64, id: str = "hashed/1", longest: int = 256) -> None:
        self.id = id
        self.longest = longest
        self._dimension = dimension

    @property
    def dimension(self) -> int:
        return self._dimension

    def count(self, text: str) -> int:
        return len(re.findall(r"\w{1,4}|[^\w\s]", text))

    def embed(self, text: str) -> Floats:
        import numpy as np

        total = np.zeros(self._dimension, np.float32)
        for word, times in Counter(re.findall(r"\w+", text.lower())).items():
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
            total += times * np.random.default_rng(seed).standard_normal(self._dimension).astype(np.float32)
        return _unit(total)

    def give_back(self) -> None:
        """It takes none."""
