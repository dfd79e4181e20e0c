"""Backups: one file with everything that cannot be derived, and the way back."""

from __future__ import annotations

from lithos.backup.archive import Manifest, verify_backup
from lithos.backup.export import export_memory
from lithos.backup.make import SUFFIX, MemoryPlaces, default_name, make_backup
from lithos.backup.restore import Restored, RestoreOptions, restore
from lithos.backup.scheduled import backup_if_due

__all__ = [
    "SUFFIX",
    "Manifest",
    "MemoryPlaces",
    "RestoreOptions",
    "Restored",
    "backup_if_due",
    "default_name",
    "export_memory",
    "make_backup",
    "restore",
    "verify_backup",
]
