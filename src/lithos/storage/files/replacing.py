"""Replace, create, move and remove one file so that no save of another program at the same moment is lost.

With an exchange (Linux): the new file and the old one trade places in one step, then the replaced bytes are checked. If
they are not the expected version, they are exchanged back, and nothing has changed. A check before a rename cannot do
this: in a trial it lost 496 of 1,500 saves.

Without (PortableKernel): the file is renamed to a hidden name and checked, and the new file takes its name with a
no-replace rename. Nothing is lost either, but for some microseconds the file is missing; after a crash in that moment
`Root.recover` puts it back.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from lithos.core.canonical import version_of
from lithos.errors import LithosError
from lithos.storage.files.kernel import held_by_others
from lithos.storage.files.open_folder import OpenFolder
from lithos.storage.files.os_errors import changed
from lithos.storage.files.paths import conflict_name, joined
from lithos.storage.files.staged import HELD, OLD, StagedFile

_PUT_BACK_TRIES = 16  # each needs another save by a person within microseconds
_CLOSING_TRIES, _CLOSING_PAUSE = 50, 0.002  # 0.1 s in all: a save in place takes far less, `tail -f` never closes
_CONFLICT_NAMES = 1_000
_NO_EXCHANGE = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)
Watch = Callable[[str, StagedFile], None]  # (folder, what is left there)


@dataclass(frozen=True, slots=True)
class Replacement:
    """One file to replace: its folder and name, the expected version, the new bytes."""

    place: OpenFolder
    name: str
    before: str
    after: str
    root: int
    watch: Watch
    now: Callable[[], datetime]
    on_conflict_copy: Callable[[str], None]  # called with the path of a new conflict copy

    @property
    def path(self) -> str:
        return joined(self.place.folder, self.name)

    def staged(self, kind: str, before: str | None = None) -> StagedFile:
        return StagedFile.make(kind, before or self.before, self.after, self.name)


def put_new(place: OpenFolder, fresh: str, name: str, data: bytes, root: int) -> None:
    """Give the staged file `fresh` its name. FileExistsError if the name is taken."""
    _or_unlink(place, fresh, lambda: place.rename_new(fresh, name))
    try:
        place.must_be_at(root)
        place.flush()
    except Exception:
        if place.version(name) == version_of(data):
            place.unlink(name)
        raise


def put(change: Replacement, fresh: str) -> None:
    """Put the staged file `fresh` in the place of the old one. Conflict, and nothing changed, if that is not at version
    `before` at the moment of the exchange."""
    if change.place.kernel.exchanges:
        staged = change.staged(OLD)
        _or_unlink(change.place, fresh, lambda: change.place.rename(fresh, staged.name))
        try:
            _or_unlink(change.place, staged.name, lambda: change.place.exchange(staged.name, change.name), _NO_EXCHANGE)
        except FileNotFoundError:
            raise changed(change.path, None) from None
        except OSError as error:
            if error.errno not in _NO_EXCHANGE:
                raise
            fresh = staged.name
        else:
            return _after_exchange(change, staged)
    return _take_and_put(change, fresh)


def _after_exchange(change: Replacement, staged: StagedFile) -> None:
    place = change.place
    try:
        place.faults.at("check")
        found = place.version(staged.name)
        place.must_be_at(change.root)
        if found in (change.before, change.after):
            place.flush()
            change.watch(place.folder, staged)
            return
    except Exception:
        _put_back(change, staged)
        raise
    _put_back(change, staged)
    place.flush()
    raise changed(change.path, place.version(change.name))


def _put_back(change: Replacement, staged: StagedFile) -> None:
    try:
        _exchange_back(change, staged)
    except Exception:
        change.watch(
            change.place.folder, staged
        )  # the replaced bytes are still staged; sweep() makes them a conflict copy
        raise


def _exchange_back(change: Replacement, staged: StagedFile) -> None:
    """Exchange the replaced bytes back in. A save in between is the newest and stays; older ones are copied aside."""
    place, placed = change.place, change.after
    for _ in range(_PUT_BACK_TRIES):
        put = place.version(staged.name)
        _keep_aside(change, staged.name)
        try:
            place.exchange(staged.name, change.name)
        except FileNotFoundError:  # deleted in between; the last saved bytes come back
            place.rename_new(staged.name, change.name)
            return
        found = place.version(staged.name)
        if found == change.after:
            # Not deleted yet: an editor may have opened it while it had the file's name.
            change.watch(place.folder, staged)
            return
        if found == placed:
            break
        placed = put or ""
    _make_conflict_copy(change, staged.name)


def _keep_aside(change: Replacement, name: str) -> None:
    """Copy the other program's bytes, in case an editor that saw ours for a moment overwrites them."""
    copy = StagedFile.make(OLD, None, None, change.name)
    try:
        _wait_until_closed(change.place, name)
        foreign = change.place.read(name)
        if foreign.version in (change.before, change.after):
            return
        change.place.write_durably(copy.name, foreign.data, like=foreign.stat)
    except (OSError, LithosError):
        return  # a full disk or no regular file; exchanging it back matters more than this copy
    change.watch(change.place.folder, copy)


def _wait_until_closed(place: OpenFolder, name: str) -> None:
    """Wait for a program that writes in place. It cannot be opened again under its hidden name, so then it is final."""
    for _ in range(_CLOSING_TRIES):
        with place.opened(name) as descriptor:
            if not held_by_others(descriptor):
                return
        time.sleep(_CLOSING_PAUSE)


def _take_and_put(change: Replacement, fresh: str) -> None:
    place = change.place
    try:
        held = take(change)
        if held is None:
            raise changed(change.path, place.version(change.name))
        _put(change, fresh, held)
    except Exception:
        place.unlink(fresh)
        raise


def _put(change: Replacement, fresh: str, held: StagedFile) -> None:
    place = change.place
    try:
        place.rename_new(fresh, change.name)
        place.flush()
        leave(change, held)
    except FileExistsError:
        leave(change, held)
        raise changed(change.path, place.version(change.name)) from None
    except Exception:
        _take_back(change)
        give_back(change, held)
        raise


def _take_back(change: Replacement) -> None:
    """Rename our new bytes away again, staged like any replaced file; a save over them stays."""
    ours = StagedFile.make(OLD, change.before, change.after, change.name)
    if change.place.version(change.name) == change.after:
        change.place.rename(change.name, ours.name)
        change.watch(change.place.folder, ours)


def take_away(change: Replacement) -> None:
    """Remove the file; it stays staged until it is due."""
    held = take(change)
    if held is None:
        raise changed(change.path, change.place.version(change.name))
    try:
        held = leave(change, held)
        change.place.flush()  # a held file that a power cut left would come back, although its removal was acknowledged
    except Exception:
        give_back(change, held)
        raise


def move(change: Replacement, there: OpenFolder, to_name: str) -> None:
    """FileExistsError, and it is back in its place, if the new name is taken."""
    held = take(change)
    if held is None:
        raise changed(change.path, change.place.version(change.name))
    try:
        change.place.rename_new(held.name, to_name, there)
    except Exception:
        give_back(change, held)
        raise
    try:
        there.flush()
        change.place.flush()
    except Exception:
        there.rename_new(to_name, change.name, change.place)
        raise


def take(change: Replacement) -> StagedFile | None:
    """Take the file away under a hidden name; None, and it is back, if its bytes are not the expected ones."""
    place, held = change.place, change.staged(HELD)
    try:
        # Not rename_new: without the kernel's own it is a link and an unlink, and a save in between would be unlinked.
        place.rename(change.name, held.name)
    except FileNotFoundError:
        return None
    try:
        place.faults.at("check")
        found = place.version(held.name)
        place.must_be_at(change.root)
    except Exception:
        give_back(change, held)
        raise
    if found == change.before:
        return held
    give_back(change, held)
    return None


def give_back(change: Replacement, held: StagedFile) -> None:
    try:
        change.place.rename_new(held.name, change.name)
    except FileExistsError:
        _make_conflict_copy(change, held.name)
    except Exception:
        change.watch(change.place.folder, held)
        raise


def leave(change: Replacement, held: StagedFile) -> StagedFile:
    """The taken file is no longer to come back: from now on it is only watched, under another name."""
    left = StagedFile(OLD, held.before, held.after, held.random, held.target)
    try:
        change.place.rename(held.name, left.name)
    except Exception:
        change.watch(change.place.folder, held)
        raise
    change.watch(change.place.folder, left)
    return left


def _make_conflict_copy(change: Replacement, name: str) -> None:
    copy = make_conflict_copy(change.place, name, change.name, change.now())
    change.on_conflict_copy(joined(change.place.folder, copy))


def make_conflict_copy(place: OpenFolder, name: str, target: str, now: datetime) -> str:
    """Give a hidden file the name of a conflict copy beside its target."""
    for attempt in range(1, _CONFLICT_NAMES):
        copy = conflict_name(target, now, attempt)
        try:
            place.rename_new(name, copy)
        except FileExistsError:
            continue
        place.flush()
        return copy
    raise OSError(errno.EEXIST, os.strerror(errno.EEXIST), target)


def _or_unlink(place: OpenFolder, name: str, act: Callable[[], None], unless: tuple[int, ...] = ()) -> None:
    try:
        act()
    except Exception as error:
        if not (isinstance(error, OSError) and error.errno in unless):
            place.unlink(name)
        raise
