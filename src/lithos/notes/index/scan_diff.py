"""Compares a scan of the folder with what is known of it, without I/O. `Index` carries the result out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from lithos.notes.format.naming import folder_of, is_note_path
from lithos.notes.index.catalogue import KnownFile
from lithos.notes.index.note_rule import NoteRule
from lithos.storage import FileEntry

_LISTED_KINDS = ("conflict", "link", "special", "name")


@dataclass(slots=True)
class ScanDiff:
    changed: list[str] = field(default_factory=list)  # to be read
    dated: list[KnownFile] = field(default_factory=list)  # what is known of them holds, their date or place is new
    listed: list[KnownFile] = field(default_factory=list)  # no notes, with the reason
    gone: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)  # not there, and still believed in: their disk or folder is away
    problem: str | None = None  # why nothing at all was decided


def diff_scan(
    entries: Iterable[FileEntry],
    known: Mapping[str, KnownFile],
    rule: NoteRule,
    device_of: Callable[[str], int | None],
) -> ScanDiff:
    """`device_of` names the file system of a folder now; None where it does not exist."""
    found, closed = ScanDiff(), list[str]()
    present: set[str] = set()
    for entry in entries:
        if entry.kind == "unreadable" and not entry.path:
            return ScanDiff(problem=f"the vault cannot be read: {entry.reason}")
        if rule and entry.path in rule:
            continue
        seen = known.get(entry.path)
        if seen is None and not (is_note_path(entry.path) or entry.kind in ("link", "unreadable")):
            continue
        present.add(entry.path)
        if entry.kind == "unreadable":
            closed.append(entry.path)
        if seen is None or not _is_unchanged(entry, seen):
            _compare(entry, seen, found)
    missing = [path for path in known if path not in present]
    _judge_missing(missing, known, closed, device_of, found)
    return found


def _is_unchanged(entry: FileEntry, seen: KnownFile) -> bool:
    """Most files of most scans, so that nothing is made for them."""
    return (
        entry.mtime_ns == seen.mtime_ns
        and entry.ctime_ns == seen.ctime_ns
        and entry.size == seen.size
        and entry.inode == seen.inode
        and entry.device == seen.device
        and entry.kind == "file"
    )


def _compare(entry: FileEntry, seen: KnownFile | None, found: ScanDiff) -> None:
    now = KnownFile(entry.path, entry.size, entry.mtime_ns, entry.ctime_ns, entry.inode, entry.device, "", entry.reason)
    if entry.kind in _LISTED_KINDS:
        if seen is None or seen._replace(device=now.device) != now:
            found.listed.append(now)
    elif entry.kind == "unreadable":
        known = seen or now
        if known.reason != entry.reason or seen is None:
            found.dated.append(known._replace(reason=entry.reason, mtime_ns=-1))
    elif seen is None or seen[1:5] != now[1:5]:
        found.changed.append(entry.path)
    elif seen.device != now.device:
        found.dated.append(seen._replace(device=now.device))


def _judge_missing(
    missing: list[str],
    known: Mapping[str, KnownFile],
    closed: list[str],
    device_of: Callable[[str], int | None],
    found: ScanDiff,
) -> None:
    """Files behind a closed folder or on a disk that is no longer mounted are out of reach, not gone.

    A disk counts as away when nothing that was on it is seen any more; a new number after a reboot is no such case.
    """
    lost = set(missing)
    alive = {seen.device for path, seen in known.items() if path not in lost}
    prefixes = tuple(f"{folder}/" for folder in closed)
    for path in missing:
        device = known[path].device
        away = device not in alive and device != 0 and _device_above(path, device_of) != device
        (found.held if away or path.startswith(prefixes) else found.gone).append(path)


def _device_above(path: str, device_of: Callable[[str], int | None]) -> int | None:
    folder = path
    while folder:
        folder = folder_of(folder)
        device = device_of(folder)
        if device is not None:
            return device
    return None
