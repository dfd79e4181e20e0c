"""The pages hold together: what they point to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)  # examples point nowhere on purpose
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    prose = _CODE.sub("", page.read_text(encoding="utf-8"))
    links = [link for link in _LINK.findall(prose) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_architecture_names_only_files_that_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.py)?)`", text))
    packages = [ROOT / "src" / "lithos", *(ROOT / "src" / "lithos").glob("*/"), ROOT]  # "index/scan_diff.py" of notes
    missing = [name for name in sorted(named) if not any((folder / name).exists() for folder in packages)]
    assert named
    assert missing == []
