"""Files confined beneath one folder, replaced durably, with nothing of anybody's lost."""

from lithos.storage.files.durable import (
    clear_place,
    flush_path,
    make_folder,
    open_file,
    read_file,
    replace_file,
    restore_access_below,
)
from lithos.storage.files.folder_events import WatchedFolder, gather_events, watch_folder
from lithos.storage.files.kernel import Kernel, LinuxKernel, PortableKernel, best_kernel
from lithos.storage.files.paths import checked, checked_new, copied_from, is_conflict_copy
from lithos.storage.files.root import Root
from lithos.storage.files.values import File, FileEntry, KeptVersion, Limits, Replaced
from lithos.storage.files.watcher import Watcher

__all__ = [
    "File",
    "FileEntry",
    "KeptVersion",
    "Kernel",
    "Limits",
    "LinuxKernel",
    "PortableKernel",
    "Replaced",
    "Root",
    "WatchedFolder",
    "Watcher",
    "best_kernel",
    "checked",
    "checked_new",
    "clear_place",
    "copied_from",
    "flush_path",
    "gather_events",
    "is_conflict_copy",
    "make_folder",
    "open_file",
    "read_file",
    "replace_file",
    "restore_access_below",
    "watch_folder",
]
