"""Watcher: follows people's edits. Events of the system are hints; periodic scans find what they miss."""

from __future__ import annotations

import logging
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from watchfiles import Change

_MOST_HINTS = 500  # beyond this a scan of everything costs less than looking at each
_FIRST_LOOK = 1.0  # seconds after the start in which calls wait for the first scan: 100,000 files take as long
_SHARE = 50  # a scan may take one fiftieth of the time: huge vaults are scanned less often
_AWAY = 1.0  # seconds between two looks for a folder that is gone
_log = logging.getLogger(__name__)


class Followed(Protocol):
    """An index that a watcher keeps up to date."""

    @property
    def progress(self) -> Any:
        """With `state` ("current" when all files were compared) and `total`, the files of the last change."""
        ...

    def reconcile(self, *, clear: bool = False) -> object:
        """Compare all files."""
        ...

    def follow(self, paths: list[str], /) -> object:
        """Look at these paths."""
        ...


def hidden(path: str) -> bool:
    """Dot names, our own temporary files among them."""
    return path.startswith(".") or "/." in path


class Watcher:
    """One thread that brings the index up to date, one that listens to the operating system."""

    def __init__(
        self,
        index: Followed,
        folder: Path,
        *,
        name: str = "notes",
        ignores: Callable[[str], bool] = hidden,
        watch: bool = True,
        debounce_ms: int = 500,
        scan_seconds: float = 60.0,
        clear: bool = False,
    ) -> None:
        self._index = index
        self.scan: Callable[..., object] = index.reconcile
        self._folder = folder
        self._name = name
        self._ignores = ignores
        self._watch = watch
        self._debounce_ms = debounce_ms
        self._scan_seconds = scan_seconds
        self._clear = clear
        self._hints: set[str] = set()
        self._asked: bool | None = None  # a scan is requested; True: with clear
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._started, self._pause = 0.0, scan_seconds
        self._looked = threading.Event()
        self.problem: str | None = None  # why nothing is heard; scans go on

    def start(self) -> None:
        if self._threads:
            return
        self._threads = [threading.Thread(target=self._follow, name=self._name, daemon=True)]
        if self._watch:
            self._threads.append(threading.Thread(target=self._listen, name=f"{self._name} watcher", daemon=True))
        self._started = time.monotonic()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        with self._changed:
            self._stopping.set()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        self._threads = []

    def ask(self, clear: bool = False) -> None:
        """Request a scan of everything; `clear` rebuilds the index."""
        with self._changed:
            self._asked = clear or bool(self._asked)
            self._changed.notify_all()

    @property
    def is_running(self) -> bool:
        return bool(self._threads)

    def wait_for_first_look(self) -> None:
        """So that the first call after a start finds what people saved while no host was running."""
        if not self._looked.is_set():
            self._looked.wait(max(0.0, self._started + _FIRST_LOOK - time.monotonic()))

    # WatchOptions

    def _follow(self) -> None:
        self._scan(clear=self._clear)
        self._looked.set()
        while not self._stopping.is_set():
            hints, clear = self._wait()
            if self._stopping.is_set():
                return
            if 0 < len(hints) <= _MOST_HINTS:
                self._look_at(hints)
            else:
                self._scan(clear=clear)

    def _look_at(self, hints: set[str]) -> None:
        try:
            self._index.follow(sorted(hints))
        except Exception:  # noqa: BLE001 - one failure must not end the watching
            _log.exception("following the files failed; the next scan tries again")

    def _scan(self, clear: bool = False) -> None:
        started = time.monotonic()
        try:
            self.scan(clear=clear)
        except Exception:  # noqa: BLE001 - as above
            _log.exception("comparing the files with the index failed; the next scan tries again")
        self._pause = self._until_next(time.monotonic() - started)

    def _until_next(self, took: float) -> float:
        """Soon after a burst: the system drops events when there are too many, and only a scan finds the rest."""
        progress = self._index.progress
        if progress.state == "current" and progress.total > _MOST_HINTS:
            return max(1.0, took)
        return max(self._scan_seconds, took * _SHARE)

    def _wait(self) -> tuple[set[str], bool]:
        """Hints, or none when a scan is due (and whether it clears). Without a watch only `ask` requests one."""
        pause = self._pause if self._watch else None
        with self._changed:
            self._changed.wait_for(lambda: self._hints or self._asked is not None or self._stopping.is_set(), pause)
            hints = self._hints if self._asked is None else set()
            clear = bool(self._asked)
            self._hints, self._asked = set(), None
            return hints, clear

    # Listening

    def _listen(self) -> None:
        """A watch belongs to a folder, not to its name: where another one took the place, it begins again."""
        missed = False
        try:
            while not self._stopping.is_set():
                place = _place(self._folder)
                if place is None:
                    missed = True
                    self._stopping.wait(_AWAY)
                    continue
                if missed:
                    self.ask()
                self._listen_at(place)
                missed = True
        except Exception as error:  # noqa: BLE001 - the limit of inotify watches: scans go on
            self.problem = f"changes are not heard ({error}); files are compared every {self._scan_seconds:.0f} s"
            _log.warning("%s", self.problem)

    def _listen_at(self, place: tuple[int, int]) -> None:
        folder = str(self._folder.resolve())
        for number, changes in enumerate(self._heard(folder)):
            if number == 0:  # what was saved between the first scan and the start of the watch
                self.ask()
            self._hint({path for _, name in changes if (path := self._relative(name, folder))})
            # A new folder may have the number of the one that is gone.
            if any(name == folder for _, name in changes) or _place(self._folder) != place:
                self.ask()
                return

    def _heard(self, folder: str) -> Iterator[set[tuple[Change, str]]]:
        """Yield changed paths, and every five seconds that nothing changed."""
        from watchfiles import watch

        quiet = max(self._debounce_ms, 50)
        return watch(
            folder,
            watch_filter=None,
            stop_event=self._stopping,
            raise_interrupt=False,
            ignore_permission_denied=True,
            step=quiet,
            debounce=quiet * 4,  # the longest wait
            rust_timeout=5_000,
            yield_on_timeout=True,
        )

    def _hint(self, paths: set[str]) -> None:
        if not paths:
            return
        with self._changed:
            self._hints |= paths
            self._changed.notify_all()

    def _relative(self, name: str, folder: str) -> str:
        """The path beneath the folder; empty for what is not followed."""
        path = name[len(folder) + 1 :] if name.startswith(folder) else ""
        return "" if not path or self._ignores(path) else path


def _place(folder: Path) -> tuple[int, int] | None:
    """Device and inode of a folder; None: there is none."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None
