"""The browser libraries in the wheel are the files that `scripts/vendor_web.py` names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from scripts import vendor_web


def test_every_vendored_file_is_listed_and_unchanged() -> None:
    assert vendor_web.check() == []


def test_a_changed_a_missing_and_an_unlisted_file_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(vendor_web.TARGET, tmp_path / "vendor")
    monkeypatch.setattr(vendor_web, "TARGET", tmp_path / "vendor")
    (tmp_path / "vendor" / "htmx.min.js").write_text("changed")
    (tmp_path / "vendor" / "htmx.LICENSE.txt").unlink()
    (tmp_path / "vendor" / "other.js").touch()
    assert sorted(vendor_web.check()) == [
        "htmx.LICENSE.txt is missing",
        "htmx.min.js was changed",
        "other.js is not listed",
    ]
