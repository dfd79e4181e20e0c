"""`lithos service` and `lithos uninstall`: files in their documented form; the knowledge stays."""

from __future__ import annotations

import configparser
import json
import plistlib
from pathlib import Path

import pytest
import yaml

from lithos.cli.root import run
from lithos.clients.catalogue import Where
from lithos.clients.service import service_file
from lithos.settings import load_config

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path))  # no systemctl: nothing of this machine is touched
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "home"


def test_a_unit_is_written_explained_and_removed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unit = home / ".config/systemd/user/lithos.service"
    assert run(["service", "install", "--dry-run"]) == 0
    assert not unit.exists()
    assert run(["service", "status"]) == 3
    assert run(["service", "install", "--port", "9000"]) == 0
    told = capsys.readouterr().out
    assert "Run by hand: systemctl --user daemon-reload" in told
    parsed = configparser.ConfigParser(interpolation=None, strict=True)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read(unit)
    words = parsed["Service"]["ExecStart"].split()
    assert Path(words[0]).is_absolute()
    assert words[1:] == ["serve", "--transport", "http", "--data-dir", str(home / "lithos"), "--port", "9000"]
    assert parsed["Install"]["WantedBy"] == "default.target"
    assert run(["service", "remove"]) == 0 and not unit.exists()
    assert run(["service", "remove"]) == 0


def test_a_launch_agent_is_a_property_list(tmp_path: Path) -> None:
    made = service_file(Where(tmp_path, tmp_path, {}, "darwin"), ["/x y/lithos", "serve"], 501)
    facts = plistlib.loads(made.text.encode())
    assert facts["ProgramArguments"] == ["/x y/lithos", "serve"] and facts["Label"] == made.path.stem
    assert made.start == (("launchctl", "bootstrap", "gui/501", str(made.path)),)


def test_a_name_with_spaces_and_signs_survives_in_a_unit(tmp_path: Path) -> None:
    made = service_file(Where(tmp_path, tmp_path, {}, "linux"), ["/x y/lithos", "100%", "$HOME"], 1)
    assert "ExecStart='/x y/lithos' 100%% '$$HOME'\n" in made.text


def test_uninstall_leaves_the_knowledge_and_nothing_else(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["note", "write", "--title", "Retries", "--content", "x"]) == 0
    assert run(["setup", "--client", "cursor", "--client", "claude-code", "--hooks", "--instructions"]) == 0
    assert run(["service", "install"]) == 0
    capsys.readouterr()
    assert run(["uninstall", "--dry-run", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["files"]) == 5
    assert run(["uninstall"]) == 0
    assert "stays: it is your knowledge" in capsys.readouterr().out
    assert (home / "lithos/knowledge/retries.md").is_file()
    files = [path for path in (*home.rglob("*"), *Path.cwd().rglob("*")) if path.is_file()]
    mine = [path for path in files if home / "lithos" not in path.parents and ".before-lithos-" not in path.name]
    assert [path for path in mine if "lithos" in path.read_text().lower()] == []


def test_the_containers_use_settings_that_exist() -> None:
    """Neither file can be built here: what they say to Lithos is checked instead."""
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    docker = (ROOT / "Dockerfile").read_text()
    inside = dict(word.split("=", 1) for word in docker.split("ENV ")[1].split("\n")[0].split())
    environment = {**inside, **dict.fromkeys(compose["services"]["lithos"]["environment"], "x")}
    assert load_config(environ=environment).warnings == ()
    assert set(compose["services"]) == {"lithos", "postgres", "proxy"}
    copied = [name for line in docker.splitlines() if line.startswith("COPY p") for name in line.split()[1:-1]]
    assert all((ROOT / name).exists() for name in copied)
