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

from tests.flows.test_docs_run import NOT_RUN, ROOT, blocks, is_run
from tests.support import fork_server
from tests.support.doc_calls import Conversation
from tests.support.guests import GuestProcess, Household, household

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
    "messages": "lithos call lithos_agent_register id=bob",
    "search": """
        lithos note write --agent ann --title 'Retry policy' \
            --content $'# Retry policy\\n\\n## Limits\\n\\nBack off exponentially; give up after 5 tries.'
    """,
    "sources": """
        mkdir -p ~/papers && echo 'A token expires after an hour.' > ~/papers/rfc7519.txt
        SITE=~/work/auth/.venv/lib/python3.11/site-packages/httpx-0.28.0.dist-info
        mkdir -p $SITE && git -C ~/work/auth init -q && echo 'import httpx' > ~/work/auth/login.py
        printf 'Metadata-Version: 2.1\nName: httpx\nVersion: 0.28.0\n\nA client.\n' > $SITE/METADATA
        lithos code add ~/work/auth
    """,
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
    runs = [f"{line.split('#')[0]}|| [ $? -eq 1 ]" if "# exit code 1" in line else line for line in lines]
    script = "\n".join(line for line in runs if is_run(line))
    for name, real in NAMES.get(page.stem, {}).items():
        script = script.replace(name, real)
    return script


def conversations(page: Path) -> list[tuple[str, str]]:
    return [
        (form, text) for form, text in blocks(page) if form == "calls" or (form == "json" and '{"tool"' in text[:8])
    ]


class Home:
    """A home with a host; each name of a conversation has a connection of its own."""

    def __init__(self, folder: Path, everybody: Household) -> None:
        self.folder, self._everybody = folder, everybody
        self._guests: dict[str, GuestProcess] = {}

    def call(self, who: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if who not in self._guests:
            named = ("--agent", who) if who else ()
            self._guests[who] = self._everybody.guest("--toolsets", "all", *named, env=environment(self.folder))
            self._guests[who].initialize()
        return self._guests[who].call(tool, **arguments)


@pytest.fixture
def at_home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Home]:
    settings = SETTINGS.get(request.getfixturevalue("page").stem, "")
    (tmp_path / "lithos").mkdir()
    (tmp_path / "lithos/config.yaml").write_text(settings)
    with household(tmp_path / "lithos") as everybody:
        home = Home(tmp_path, everybody)
        home.call("", "lithos_stats", {})  # starts the host
        yield home


def environment(home: Path) -> dict[str, str]:
    path = f"{fork_server.commands()}:{Path(sys.executable).parent}:/usr/bin:/bin"
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
def test_what_a_page_shows_is_what_happens(page: Path, at_home: Home) -> None:
    run(BEFORE.get(page.stem, "true"), at_home.folder)
    conversation = Conversation(at_home.call)
    for form, text in conversations(page):
        conversation.run(text) if form == "calls" else conversation.run_json(text)
    run(commands(page) or "true", at_home.folder)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_a_page_says_what_it_is(page: Path) -> None:
    known = {*RUNS, "yaml", "toml", "text", "markdown", "python", "sql"}
    assert [text[:60] for form, text in blocks(page) if form not in known] == []
    for form, text in blocks(page):
        if form == "json" and not text.startswith('{"tool"'):
            json.loads(re.sub(r"…", "", text))
