"""The pages for people: every command is run in an empty home, every snippet is parsed. What cannot run says so."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lithos.cli.root import app
from lithos.settings import load_config
from tests.support import fork_server
from tests.support.guests import household

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("index", "tutorial", "clients", "backup", "import")),
    *sorted((ROOT / "docs/howto").glob("*.md")),
]
_BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
NOT_RUN = "# not run"
INSTALLERS = ("pip ", "pipx ", "uv ", "uvx ")  # `make wheel-test` runs them
FORMS = {"sh", "yaml", "json", "text", "toml"}


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(found[1], found[2]) for found in _BLOCK.finditer(page.read_text(encoding="utf-8"))]


def script(page: Path) -> str:
    """All commands of a page, in order; a block or a line that says "not run" is left out."""
    shell = [text for form, text in blocks(page) if form == "sh" and not text.startswith(NOT_RUN)]
    return "\n".join(line for text in shell for line in text.splitlines() if is_run(line))


def is_run(line: str) -> bool:
    return NOT_RUN not in line and not line.startswith(INSTALLERS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_says_what_it_is(page: Path) -> None:
    assert [form for form, _ in blocks(page) if form not in FORMS] == []


@pytest.mark.parametrize("page", [page for page in PAGES if "lithos" in script(page)], ids=lambda page: page.stem)
def test_the_commands_of_a_page_work_in_an_empty_home(page: Path, tmp_path: Path) -> None:
    path = f"{fork_server.commands()}:{Path(sys.executable).parent}:/usr/bin:/bin"
    environment = {"HOME": str(tmp_path), "PATH": path, "TMPDIR": os.environ.get("TMPDIR", "/tmp")}
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", f"trap 'lithos stop' EXIT\n{script(page)}"],  # a page may start a host
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_settings_and_json_of_a_page_are_what_lithos_reads(page: Path, tmp_path: Path) -> None:
    for form, text in blocks(page):
        if form == "yaml":
            (tmp_path / "config.yaml").write_text(text)
            assert load_config(config_file=tmp_path / "config.yaml", environ={}).warnings == ()
            assert yaml.safe_load(text)
        elif form == "json":
            json.loads(text)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "docs/concepts.md"], ids=lambda page: page.stem)
def test_every_verb_that_a_page_names_exists(page: Path) -> None:
    root = app()
    verbs = {each.name for each in root.registered_commands}
    groups = {
        group.name: {each.name for each in group.typer_instance.registered_commands}
        for group in root.registered_groups
        if group.typer_instance
    }
    named = re.findall(r"`lithos ([a-z-]+)(?: ([a-z-]+))?", page.read_text(encoding="utf-8"))
    assert [each for each in named if each[0] not in verbs and each[0] not in groups] == []
    assert [each for each in named if each[0] in groups and each[1] and each[1] not in groups[each[0]]] == []


def test_two_scripted_agents_share_work(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "examples/two_agents.py"), str(tmp_path / "data")]
    with household(tmp_path / "data") as everybody:
        everybody.guest().initialize()  # their host
        done = fork_server.run(command, timeout=280)
    assert done.returncode == 0, done.stderr
    assert "bob recalls: Why orders are sent twice" in done.stdout
    assert "ann reads: Fixed: the queue sends an idempotency key." in done.stdout
