"""Code: all roots of a data directory; opens, follows and closes their graphs. The part that tools ask."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lithos.core.call import Call
from lithos.core.clock import Clock
from lithos.core.part import Part
from lithos.errors import InvalidInput, LithosError, NotFound, Unavailable
from lithos.graph.code.index import CodeIndex, Progress
from lithos.graph.code.languages import language_of
from lithos.graph.code.parser import Parser, Source
from lithos.graph.code.roots.roots import Roots, RootSpec, unknown
from lithos.graph.code.roots.rule import SKIPPED_FOLDERS
from lithos.graph.code.roots.tree import Tree
from lithos.graph.code.store import open_store
from lithos.graph.code.values import Facts
from lithos.search import Collection, ComparedFeed, DocumentChange, Projector, Remove
from lithos.storage import Watcher, folder_size

KEYWORDS = ("root", "type", "language", "file")


@dataclass(frozen=True, slots=True)
class CodeOptions:
    data_dir: Path
    state: Path  # .lithos/
    roots: tuple[RootSpec, ...] = ()
    watch: bool = True
    debounce_ms: int = 100
    scan_seconds: float = 60.0


class OpenRoot:
    """One root with its graph and its watcher."""

    def __init__(
        self, spec: RootSpec, options: CodeOptions, clock: Clock, parser: Parser, projector: Projector
    ) -> None:
        self.spec = spec
        self.file = options.data_dir / ".graph" / "code" / f"{spec.name}.db"
        self.store = open_store(self.file, clock)
        self.index = CodeIndex(spec.name, Tree(Path(spec.path), spec.rule), self.store, parser, projector)
        self.watcher = Watcher(
            self.index,
            Path(spec.path),
            name=f"code {spec.name}",
            ignores=_ignored,
            watch=options.watch,
            debounce_ms=options.debounce_ms,
            scan_seconds=options.scan_seconds,
        )

        self._whole_after = 0  # restarts of the graph before the last whole comparison
        self.store.on_lost(self._lost)

    def _lost(self) -> None:
        self.index.progress = Progress()
        self.watcher.ask()

    def is_rebuilding(self) -> bool:
        """Whether damage made the graph start empty, and the files were not all read since."""
        if self.index.progress.state == "current":
            self._whole_after = self.store.restarts
        return self._whole_after < self.store.restarts

    def behind(self) -> str:
        """Why answers about this root may be incomplete; empty when they are not."""
        progress, name = self.index.progress, self.spec.name
        if progress.state == "unavailable":
            said = progress.problem.replace(f"{self.spec.path}/", "")
            why = f" ({said})" if said.startswith("git ") else ""
            return f"the root {name} cannot be read{why}; this is what was known of it"
        if progress.state == "starting":
            return f"the files of {name} were not compared yet"
        if progress.state == "indexing":
            return f"{name} is being indexed: {progress.done} of {progress.total} files"
        if self.watcher.problem is not None:
            return f"changes in {name} are found by scans only"
        return ""

    def not_settled(self, path: str) -> LithosError:
        """The error of a question about a file that the graph does not have as it is now."""
        if reason := self.behind():
            return Unavailable(f"{path[:200]!r} waits to be indexed: {reason}", hint="Call again in a few seconds.")
        return NotFound(f"{path[:200]!r} changes too quickly to be read", hint="Call again.")

    def close(self) -> None:
        self.watcher.stop()
        self.store.close()


def _ignored(path: str) -> bool:
    return not SKIPPED_FOLDERS.isdisjoint(path.split("/"))


class Code(Part):
    def __init__(
        self, options: CodeOptions, clock: Clock, collection: Collection, parser: Parser | None = None
    ) -> None:
        self.collection = collection
        self._options = options
        self._clock = clock
        self._lock = threading.RLock()
        self._started = False
        self._roots = Roots(options.state / "code-roots.json", options.data_dir, options.roots)
        self._parser = parser or Parser()
        self.projector = Projector(collection, _CodeFeed(self), "code", compares=False)
        self._open: dict[str, OpenRoot] = {}
        self._listeners: list[Callable[[str, Sequence[str]], None]] = []

    def listen(self, tell: Callable[[str, Sequence[str]], None]) -> None:
        """Call `tell` with a root and the paths that changed in it, after each change; it must return at once."""
        self._listeners.append(tell)

    def _tell(self, root: str, paths: Sequence[str]) -> None:
        for tell in self._listeners:
            tell(root, paths)

    # Part

    def open(self) -> None:
        with self._lock:
            for spec in self._roots.all().values():
                self._open_root(spec)

    def start(self) -> None:
        self._started = True
        self.projector.start()
        if self._open:
            self.projector.wake()
        for root in self.roots():
            root.watcher.start()

    def busy(self) -> bool:
        indexing = any(root.index.progress.state in ("starting", "indexing") for root in self.roots() if self._started)
        return indexing or self.collection.busy()

    def problem(self) -> str | None:
        if any(root.is_rebuilding() for root in self.roots()):
            return "a graph of code was damaged and is being rebuilt"
        return self.collection.problem()

    def sizes(self) -> Mapping[str, int]:
        return {"code": folder_size(self._options.data_dir / ".graph" / "code") + self.collection.size()}

    def close(self) -> None:
        self.projector.close()
        with self._lock:
            for root in self._open.values():
                root.close()
            self._open = {}
        self._parser.close()
        self.collection.close()

    def many_facts(self, files: Sequence[tuple[str, bytes]]) -> Iterator[tuple[str, Facts | None]]:
        """Facts of texts that are in no root, such as earlier versions. Those without a grammar are left out."""
        sources = [Source(path, language_of(path), data) for path, data in files if language_of(path)]
        for source, facts in self._parser.parse(sources):
            yield source.path, facts

    def rest(self) -> None:
        """End the parsing process while nothing changes."""
        self._parser.rest()

    def parsing_process(self) -> int | None:
        """The id of the parsing process while there is one."""
        return self._parser.process

    def end_parsing(self) -> None:
        """End the parsing process now; the next change starts another."""
        self._parser.close()

    def facts(self, path: str, language: str, data: bytes) -> Facts | None:
        """Parse a text that is in no file, or one of other facts (`what:language`); None where the grammar failed."""
        return next((facts for _, facts in self._parser.parse([Source(path, language, data)])), None)

    def surveyed(self, sources: Iterable[Source]) -> Iterator[tuple[Source, Facts | None]]:
        """As `facts`, for many texts: the child reads ahead."""
        return self._parser.parse(sources)

    # Roots

    def roots(self) -> list[OpenRoot]:
        with self._lock:
            return list(self._open.values())

    def one(self, call: Call, name: str | None) -> OpenRoot:
        """The root of this name, or the only one that the caller may see."""
        roots = self.visible(call, name)
        if not roots:
            raise NotFound("there is no code root", hint="The operator adds one: lithos code add PATH.")
        if len(roots) > 1 and name is None:
            names = [root.spec.name for root in roots]
            raise InvalidInput("there are several roots", hint=f"Send root: {', '.join(names)}.", candidates=names)
        return roots[0]

    def visible(self, call: Call, name: str | None = None) -> list[OpenRoot]:
        """The roots that this caller may see; with a name that one, or NotFound."""
        seen = [root for root in self.roots() if root.spec.visible_to(call)]
        for root in seen:
            if root.watcher.is_running:
                root.watcher.wait_for_first_look()
        if name is None:
            return seen
        found = [root for root in seen if root.spec.name == name]
        if not found:
            raise unknown(name, (root.spec.name for root in seen))
        return found

    def add(self, spec: RootSpec) -> OpenRoot:
        """Index another folder from now on. Without a running host it is indexed before this returns."""
        with self._lock:
            root = self._open_root(self._roots.add(spec))
        if self._started:
            root.watcher.start()
        else:
            root.index.reconcile()
        return root

    def remove(self, name: str) -> RootSpec:
        """Forget a root and everything derived from it; its files are never touched."""
        with self._lock:
            spec = self._roots.remove(name)
            root = self._open.pop(name, None)
        if root is not None:
            root.close()
            for tail in ("", "-wal", "-shm"):
                root.file.with_name(root.file.name + tail).unlink(missing_ok=True)
        self.collection.apply(Remove(id) for id in self.collection.known() if id.startswith(f"{name}:"))
        return spec

    def rebuild(self, name: str | None) -> list[OpenRoot]:
        """Parse every file again."""
        chosen = [root for root in self.roots() if name in (None, root.spec.name)]
        if name is not None and not chosen:
            raise unknown(name, (root.spec.name for root in self.roots()))
        for root in chosen:
            if root.watcher.is_running:
                root.watcher.ask(clear=True)
            else:
                root.index.reconcile(clear=True)
        return chosen

    def _open_root(self, spec: RootSpec) -> OpenRoot:
        root = OpenRoot(spec, self._options, self._clock, self._parser, self.projector)
        root.index.on_change = self._tell
        self._open[spec.name] = root
        return root


class _CodeFeed(ComparedFeed):
    """Symbols that search lacks: cards are not stored, so files that hold a missing one are parsed again."""

    def __init__(self, code: Code) -> None:
        super().__init__()
        self._code = code

    def _missing(self, known: dict[str, str]) -> Iterator[list[DocumentChange]]:
        by_root: dict[str, dict[str, str]] = {}
        for id, digest in known.items():
            name, _, rest = id.partition(":")
            by_root.setdefault(name, {})[rest] = digest
        for root in self._code.roots():
            yield from root.index.missing_cards(by_root.pop(root.spec.name, {}))
        yield [Remove(f"{name}:{rest}") for name, held in by_root.items() for rest in held]


def one_of(values: Sequence[str], given: str, what: str) -> str:
    if given not in values:
        raise InvalidInput(f"{given[:40]!r} is no {what}", hint=f"Use one of: {', '.join(values)}.")
    return given
