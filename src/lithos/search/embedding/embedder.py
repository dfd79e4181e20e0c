"""Text to vector: the model of the package, one from a folder, any of sentence-transformers; and a fake for tests."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections import Counter
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lithos.core.text import estimate_tokens
from lithos.errors import ConfigInvalid
from lithos.search.embedding.onnx_model import (
    TEXT_INPUT,
    missing_from,
    opened_session,
    opened_tokenizer,
    typed_inputs,
)
from lithos.search.malloc import give_back_memory
from lithos.search.text.analysis import readable_share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

PACKAGED = "all-MiniLM-L6-v2"
FOLDER = Path(__file__).parent / "model"
_SIGNS = r"!-/:-@\[-`{-~"  # ASCII punctuation: a separate token to every BERT tokenizer
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

    def readable(self, text: str) -> float:
        """How much of a text the model can read, 0 to 1: full text carries the rest of a question."""
        ...

    def give_back(self) -> None:
        """Memory that many texts took and the next question does not need."""
        ...


def open_embedder(model: str) -> Embedder:
    """By the setting `search.embedding_model`. Nothing is loaded before the first use; nothing is ever downloaded."""
    if model == PACKAGED:
        return _packaged()
    folder = Path(model).expanduser()
    if not folder.is_dir():
        return _by_name(model)
    if (folder / "modules.json").is_file() and not (folder / "model.onnx").is_file():
        return _of_sentence_transformers(str(folder), f"{folder.name}/{_state_of(folder)}")
    return _from_folder(folder)


@cache
def _packaged() -> OnnxEmbedder:
    """One for the process: it changes nothing that it was given, and all threads share it anyway."""
    return OnnxEmbedder(FOLDER, f"{PACKAGED}/int8/3d6e6ff2")


def _from_folder(folder: Path) -> Embedder:
    missing = missing_from(folder)
    reads_text = missing == "tokenizer.json" and find_spec("onnxruntime_extensions") is not None
    if missing and not reads_text:
        raise ConfigInvalid(f"search.embedding_model: {folder} has no {missing}", hint=_FOLDER_HINT)
    with open(folder / "model.onnx", "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    id = f"{folder.name}/{digest[:16]}"
    return TextOnnxEmbedder(folder, id) if reads_text else OnnxEmbedder(folder, id)


def _by_name(name: str) -> SentenceTransformersEmbedder:
    embedder = _of_sentence_transformers(name, name)
    from huggingface_hub import try_to_load_from_cache

    full = name if "/" in name else f"sentence-transformers/{name}"
    if not any(isinstance(try_to_load_from_cache(full, file), str) for file in ("modules.json", "config.json")):
        raise ConfigInvalid(
            f"search.embedding_model: {full} is not on this machine",
            hint=f"Lithos downloads nothing by itself. Run `hf download {full}` once, or name a folder.",
        )
    return embedder


def _of_sentence_transformers(model: str, id: str) -> SentenceTransformersEmbedder:
    if find_spec("sentence_transformers") is None:
        raise ConfigInvalid(
            f"search.embedding_model: {model!r} is neither {PACKAGED!r} nor a folder with model.onnx",
            hint="For a model of sentence-transformers install lithos-memory[models].",
        )
    return SentenceTransformersEmbedder(model, f"sentence-transformers/{id}")


def _state_of(folder: Path) -> str:
    """Another string for other files: their contents, up to gigabytes, are too much to read at each start."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    files_seen = [f"{path.relative_to(folder)} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files]
    return hashlib.sha256("\n".join(files_seen).encode("utf-8", "surrogateescape")).hexdigest()[:16]


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
        return opened_tokenizer(self._folder)

    @cached_property
    def _session(self) -> Any:
        return opened_session(self._folder)

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
        if len(word) <= 40 and not word.isdecimal():  # numbers recur seldom
            self._tokens_of[word] = tokens
        return tokens

    def embed(self, text: str) -> Floats:
        return _unit(self._run(text)[0][0])

    def readable(self, text: str) -> float:
        return readable_share(text) if self._folder == FOLDER else _known_share(self._loaded("_tokenizer"), text)

    def give_back(self) -> None:
        if "_session" in self.__dict__:
            import onnxruntime

            shrinking = onnxruntime.RunOptions()
            shrinking.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
            self._run("", shrinking)  # 10 MB for each thread that has embedded a long text
        give_back_memory()

    def _run(self, text: str, options: Any = None) -> Any:
        import numpy as np

        ids = np.array([_bounded(self._loaded("_tokenizer").encode(text).ids, self.longest)], np.int64)
        session = self._loaded("_session")
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        return session.run(None, {name: given[name].astype(kind) for name, kind in self._inputs.items()}, options)

    @cached_property
    def _inputs(self) -> dict[str, str]:
        return typed_inputs(self._session, "search.embedding_model", self._folder)

    def _loaded(self, part: str) -> Any:
        """Load once; concurrent callers wait."""
        if part not in self.__dict__:
            with self._loading:
                return self._load(part)
        return self.__dict__[part]

    def _load(self, part: str) -> Any:
        try:
            loaded = getattr(self, part)
            give_back_memory()  # 20 MB that loading the model took and nothing needs any more
            return loaded
        except Exception as error:  # both libraries raise their own, which name no setting
            raise _unusable(self._folder, error) from error


def _unusable(model: object, error: Exception) -> ConfigInvalid:
    return ConfigInvalid(f"search.embedding_model: {model} cannot be loaded: {str(error)[:200]}", hint=_FOLDER_HINT)


_UNKNOWN = ("[UNK]", "<unk>", "<UNK>")
_FOLDER_HINT = (
    "The folder needs a sentence embedding model as model.onnx, and its tokenizer.json; a model that reads text itself "
    "needs onnxruntime-extensions instead."
)


def _bounded(ids: list[int], longest: int) -> list[int]:
    """A question may be longer than the model reads: its beginning, and the closing mark."""
    return ids if len(ids) <= longest else [*ids[: longest - 1], ids[-1]]


def _known_share(tokenizer: Any, text: str) -> float:
    """The share of a text's tokens that are in the vocabulary."""
    tokens = tokenizer.encode(text, add_special_tokens=False).tokens
    return 1.0 - sum(token in _UNKNOWN for token in tokens) / len(tokens) if tokens else 1.0


def _unit(output: Any) -> Floats:
    """A vector as it is; the states of all tokens as their mean."""
    import numpy as np

    vector = np.asarray(output, np.float32)
    vector = vector.mean(axis=0) if vector.ndim == 2 else vector
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length > 0 else vector


class TextOnnxEmbedder:
    """A model that reads text itself, such as a universal sentence encoder: `model.onnx` with one input of strings and
    its own tokenizer inside, run with the package onnxruntime-extensions. What it counts as a token is estimated."""

    longest = 256

    def __init__(self, folder: Path, id: str) -> None:
        self.id = id
        self._folder = folder
        self._loading = threading.Lock()

    @cached_property
    def _session(self) -> Any:
        from onnxruntime_extensions import get_library_path

        session = opened_session(self._folder, get_library_path())
        kinds = [put.type for put in session.get_inputs()]
        if kinds != [TEXT_INPUT]:
            raise ConfigInvalid(f"it asks for {kinds}, and there is no tokenizer.json", hint=_FOLDER_HINT)
        return session

    def _loaded(self) -> Any:
        with self._loading:
            try:
                return self._session
            except Exception as error:  # the library raises its own, which name no setting
                raise _unusable(self._folder, error) from error

    @cached_property
    def dimension(self) -> int:
        return len(self.embed("dimension"))

    def count(self, text: str) -> int:
        return estimate_tokens(text)

    def embed(self, text: str) -> Floats:
        session = self._loaded()
        return _unit(session.run(None, {session.get_inputs()[0].name: [text]})[0][0])

    def readable(self, text: str) -> float:
        return 1.0  # it has its own tokenizer, which leaves nothing out

    def give_back(self) -> None:
        give_back_memory()


class SentenceTransformersEmbedder:
    """A model of sentence-transformers, with the extra `lithos-memory[models]`: torch, 6 s to load, 1 GB of memory."""

    def __init__(self, model: str, id: str) -> None:
        self.id = id
        self._name = model
        self._loading = threading.RLock()

    @cached_property
    def _model(self) -> Any:
        os.environ.setdefault("TQDM_DISABLE", "1")  # it draws progress bars on the caller's terminal
        try:
            from sentence_transformers import SentenceTransformer

            return SentenceTransformer(self._name, device="cpu", local_files_only=True)
        except Exception as error:  # a missing file, a format of another version, an import that fails
            raise _unusable(self._name, error) from error

    def _loaded(self) -> Any:
        with self._loading:  # two at once would load it twice
            return self._model

    @property
    def longest(self) -> int:
        return int(self._loaded().max_seq_length or 256)

    @cached_property
    def dimension(self) -> int:
        return len(self.embed("dimension"))

    def count(self, text: str) -> int:
        return len(self._loaded().tokenizer.encode(text, add_special_tokens=False))

    def embed(self, text: str) -> Floats:
        with self._loading:
            return _unit(self._loaded().encode(text, show_progress_bar=False))

    def readable(self, text: str) -> float:
        tokenizer = self._loaded().tokenizer
        ids = tokenizer.encode(text, add_special_tokens=False)
        return 1.0 - ids.count(tokenizer.unk_token_id) / len(ids) if ids else 1.0

    def give_back(self) -> None:
        give_back_memory()


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

    def readable(self, text: str) -> float:
        return readable_share(text)

    def give_back(self) -> None:
        """It takes none."""
