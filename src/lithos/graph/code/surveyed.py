"""Surveyed: a survey's values for the files of a root, kept by version; only what changed is read again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from lithos.errors import Damaged, Forbidden, InvalidInput, NotFound, Unavailable
from lithos.graph.code.code import Code, OpenRoot
from lithos.graph.code.parser import Source
from lithos.storage import read_file

_log = logging.getLogger("lithos.code")
SURVEY = "4"  # other code of surveys never reads what this one kept
Chosen = Callable[[Iterable[tuple[str, str]]], Iterable[tuple[str, str]]]  # (path, language) → (path, name of survey)
Prepare = Callable[[str, bytes], bytes]


@dataclass(slots=True)
class FileSurvey:
    version: str
    values: dict[str, Any]


@dataclass(slots=True)
class _Held:
    changes: int = -1
    files: dict[str, FileSurvey] = field(default_factory=dict)


class Surveys:
    """Kept in memory and under `.graph/surveys/`; derived, and made again when missing or damaged."""

    def __init__(self, code: Code, folder: Path) -> None:
        self._code = code
        self._folder = folder
        self._lock = threading.Lock()
        self._held: dict[tuple[str, str], _Held] = {}

    def get(
        self, root: OpenRoot, what: str, chosen: Chosen, prepare: Prepare | None = None
    ) -> tuple[Mapping[str, FileSurvey], int]:
        """Values by path, and a number that changes with them."""
        with self._lock:
            key = (root.spec.name, what)
            held = self._held.get(key)
            if held is None:
                held = self._held[key] = _Held(files=self._load(*key))
            changes = root.store.changes
            if held.changes != changes:
                self._update(root, what, held, chosen, prepare)
                held.changes = changes
            return held.files, held.changes

    def _update(self, root: OpenRoot, what: str, held: _Held, chosen: Chosen, prepare: Prepare | None) -> None:
        rows = root.store.read(lambda tx: tx.all("SELECT path, language, version FROM files WHERE reason = ''"))
        versions = {row["path"]: row["version"] for row in rows}
        wanted = dict(chosen((row["path"], row["language"]) for row in rows))
        stale = [path for path in wanted if path not in held.files or held.files[path].version != versions[path]]
        fresh = {path: each for path, each in held.files.items() if path in wanted}
        for path, version, values in self._read(root, stale, wanted, prepare):
            fresh[path] = FileSurvey(version, values)
        if stale or len(fresh) != len(held.files):
            held.files = fresh
            self._save(root.spec.name, what, fresh)

    def _read(
        self, root: OpenRoot, paths: list[str], surveys: Mapping[str, str], prepare: Prepare | None
    ) -> Iterator[tuple[str, str, dict[str, Any]]]:
        versions: dict[str, str] = {}

        def sources() -> Iterator[Source]:
            for path in paths:
                try:
                    data, version, _ = root.index.tree.read(path)
                except (NotFound, Forbidden, InvalidInput, Unavailable):
                    continue
                versions[path] = version
                yield Source(path, surveys[path], prepare(path, data) if prepare is not None else data)

        for source, facts in self._code.surveyed(sources()):
            yield source.path, versions[source.path], {} if facts is None else facts.extra

    def _file(self, root: str, what: str) -> Path:
        return self._folder / f"{root}-{what}-{SURVEY}.json"

    def _load(self, root: str, what: str) -> dict[str, FileSurvey]:
        try:
            rows = orjson.loads(read_file(self._file(root, what)))
            return {path: FileSurvey(version, values) for path, (version, values) in rows.items()}
        except (OSError, Damaged, ValueError, AttributeError, TypeError):
            return {}

    def _save(self, root: str, what: str, files: Mapping[str, FileSurvey]) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            rows = {path: [each.version, each.values] for path, each in files.items()}
            temporary = self._folder / f".{root}-{what}"
            temporary.write_bytes(orjson.dumps(rows))
            temporary.replace(self._file(root, what))
        except OSError as error:
            _log.warning("a survey was not kept: %s", error.strerror)
