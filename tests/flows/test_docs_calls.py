"""The pages of single parts: every command, and every call of a tool with its answer, is made at a host."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.flows.test_docs_run import NOT_RUN, ROOT, blocks
from tests.support.doc_calls import Conversation
from tests.support.guests import GuestProcess, household

# What a page takes for granted, as commands.
BEFORE = {
    "code": "mkdir -p ~/work/shop && echo 'def check_stock(): ...' > ~/work/shop/cart.py && git -C ~/work/shop init -q",
    "garden": """
        lithos call lithos_fs_write user_id=ana agent=gardener path=users/ana/parts/critic/profile.md rationale=start \
            content=$'# Critic\\n\\n## Concerns\\n<!-- @anchor: concerns v1 -->\\nDeadlines.\\n\\n### Work\\n'
        lithos call lithos_fs_write user_id=ana agent=gardener path=users/ana/notes.md rationale=start content=one
        lithos call lithos_fs_append user_id=ana agent=gardener path=users/ana/notes.md rationale=theme text=two
    """,
    "ledger": """
        echo '{"content": "It works.", "thought_type": "Insight", "chain_key": "atlas", "agent_id": "astro"}' \
            > arguments.json
    """,
    "search": """
        lithos note write --agent ann --title 'Retry policy' \
            --content $'# Retry policy\\n\\n## Limits\\n\\nBack off exponentially; give up after 5 tries.'
    """,
    "sources": "mkdir -p ~/papers && echo 'A token expires after an hour. Abstract. RFC 7519' > ~/papers/rfc7519.txt",
    "trust": """
        mkdir -p ~/work/shop && git -C ~/work/shop init -q
        printf 'def check_stock(): ...\\n\\nclass Cart:\\n    def add_item(self):\\n        check_stock()\\n' \
            > ~/work/shop/cart.py
        lithos code add ~/work/shop
    """,
}
SETTINGS = {"sources": "academic:\n  inbox: ~/papers\n"}
# Names of the page that the host gives otherwise.
NAMES = {
    "garden": {"01M7H2QFXW0SJ6JHCVVCX2HY5Y": "$(lithos events list --json | grep -o '01[0-9A-Z]\\{24\\}' | head -1)"}
}
GENERATED = ("cli", "tools", "settings", "errors")
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if page.stem not in GENERATED]
RUNS = ("sh", "console", "calls", "json")


def commands(page: Path) -> str:
    lines: list[str] = []
    for form, text in blocks(page):
        if form == "console":
            lines += [line[2:] for line in text.splitlines() if line.startswith("$ ")]
        elif form == "sh" and not text.startswith(NOT_RUN):
            lines += text.splitlines()
    script = "\n".join(line for line in lines if NOT_RUN not in line)
    for name, real in NAMES.get(page.stem, {}).items():
        script = script.replace(name, real)
    return script


def conversations(page: Path) -> list[tuple[str, str]]:
    return [
        (form, text) for form, text in blocks(page) if form == "calls" or (form == "json" and '{"tool"' in text[:8])
    ]


@pytest.fixture
def at_home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, GuestProcess]]:
    """A home with a host, and the settings that the page asks for."""
    settings = SETTINGS.get(request.getfixturevalue("page").stem, "")
    (tmp_path / "lithos").mkdir()
    (tmp_path / "lithos/config.yaml").write_text(settings)
    with household(tmp_path / "lithos") as everybody:
        guest = everybody.guest("--toolsets", "all", env=environment(tmp_path))
        guest.initialize()
        yield tmp_path, guest


def environment(home: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    return {"HOME": str(home), "PATH": path, "TMPDIR": os.environ.get("TMPDIR", "/tmp")}


def run(script: str, home: Path) -> None:
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", script],
        cwd=home,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=280,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"


OWN_TEST = {"index", "tutorial", "clients", "backup", "import"}  # test_docs_run.py, in an empty home
SHOWN = [page for page in PAGES if page.stem not in OWN_TEST and (commands(page) or conversations(page))]


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.stem)
def test_what_a_page_shows_is_what_happens(page: Path, at_home: tuple[Path, GuestProcess]) -> None:
    home, guest = at_home
    run(BEFORE.get(page.stem, "true"), home)

    def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return guest.call(tool, **arguments)

    conversation = Conversation(call)
    for form, text in conversations(page):
        conversation.run(text) if form == "calls" else conversation.run_json(text)
    run(commands(page) or "true", home)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_a_page_says_what_it_is(page: Path) -> None:
    known = {*RUNS, "yaml", "toml", "text", "markdown", "python", "sql"}
    assert [text[:60] for form, text in blocks(page) if form not in known] == []
    for form, text in blocks(page):
        if form == "json" and not text.startswith('{"tool"'):
            json.loads(re.sub(r"…", "", text))
