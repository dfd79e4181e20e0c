"""`lithos setup` in an empty home: each client's own file, shown, backed up, taken out again."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from lithos.cli.root import run
from lithos.clients import jsonc
from tests.support import fork_server
from tests.support.guests import LITHOS

# Client → (file below the home, file below the project, where its servers are): from each one's documentation.
DOCUMENTED = {
    "claude-code": (".claude.json", ".mcp.json", "mcpServers"),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", None, "mcpServers"),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", ".vscode/mcp.json", "servers"),
    "codex": (".codex/config.toml", ".codex/config.toml", "mcp_servers"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json", "mcpServers"),
    "windsurf": (".codeium/windsurf/mcp_config.json", None, "mcpServers"),
    "zed": (".config/zed/settings.json", ".zed/settings.json", "context_servers"),
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "home"


def servers(file: Path, key: str) -> Any:
    text = file.read_text()
    return (tomllib.loads(text) if file.suffix == ".toml" else jsonc.plain(jsonc.parse(text)))[key]


@pytest.mark.parametrize("client", DOCUMENTED)
def test_each_client_gets_its_own_file_and_form(client: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    user, project, key = DOCUMENTED[client]
    assert run(["setup", "--client", client, "--dry-run"]) == 0
    assert [*home.iterdir()] == []
    assert run(["setup", "--client", client]) == 0
    assert f"+++ {home / user}" in capsys.readouterr().out
    entry = servers(home / user, key)["lithos"]
    assert Path(entry["command"]).is_absolute() and os.access(entry["command"], os.X_OK)
    assert entry["args"] == ["serve", "--data-dir", str(home / "lithos"), "--agent", client]
    assert entry.get("type") == ("stdio" if client in ("claude-code", "vscode") else None)
    if project is not None:
        assert run(["setup", "--client", client, "--project", "--data-dir", "memory"]) == 0
        assert servers(Path(project), key)["lithos"]["args"][2] == str(Path("memory").absolute())
    assert run(["setup", "--client", client, "--remove"]) == 0
    assert "lithos" not in servers(home / user, key) if (home / user).suffix == ".json" else True
    assert "lithos" not in (home / user).read_text()


def test_everything_that_is_found_is_set_up_and_taken_out_with_nothing_else_touched(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".cursor").mkdir()
    (home / ".config/zed").mkdir(parents=True)
    mine = '// mine\n{\n  "theme": "One", // nice\n}\n'
    (home / ".config/zed/settings.json").write_text(mine)
    (home / ".config/zed/settings.json").chmod(0o640)
    Path("AGENTS.md").write_text("# Ours\n")
    assert run(["setup", "--instructions", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)["files"]
    assert {each["what"] for each in done} == {
        "Cursor",
        "Zed",
        "instructions in AGENTS.md",
        "instructions in lithos.mdc",
    }
    [backup] = [each["backup"] for each in done if each["what"] == "Zed"]
    assert Path(backup).read_text() == mine
    assert (home / ".config/zed/settings.json").stat().st_mode & 0o777 == 0o640
    assert run(["stats"]) == 0, "setup has made the memory"
    assert run(["setup"]) == 0
    assert "nothing to change" in capsys.readouterr().out
    assert run(["setup", "--remove"]) == 0
    assert "lithos" not in (home / ".config/zed/settings.json").read_text()
    assert Path("AGENTS.md").read_text() == "# Ours\n"


def test_a_file_that_cannot_be_parsed_is_left_alone_and_the_others_are_written(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").write_text('{"mcpServers": {')
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text("[mcp_servers\n")
    assert run(["setup", "--client", "cursor", "--client", "gemini", "--client", "codex"]) == 1
    out, told = capsys.readouterr()
    assert "Gemini CLI: Start a new session" in out, "what to do next, only for a client that was connected"
    assert "Cursor: Restart" not in out and "Codex: Start" not in out
    pasted = told[told.index("[mcp_servers.lithos]") :]
    assert tomllib.loads(pasted)["mcp_servers"]["lithos"]["args"][0] == "serve"
    assert "is left as it is: line 1" in told and "add by hand" in told and "Traceback" not in told
    assert (home / ".cursor/mcp.json").read_text() == '{"mcpServers": {'
    assert "lithos" in servers(home / ".gemini/settings.json", "mcpServers")


def test_a_link_is_followed_and_a_home_that_is_read_only_is_refused(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles/mcp.json").write_text("{}")
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").symlink_to(tmp_path / "dotfiles/mcp.json")
    assert run(["setup", "--client", "cursor"]) == 0
    assert (home / ".cursor/mcp.json").is_symlink()
    assert "lithos" in servers(tmp_path / "dotfiles/mcp.json", "mcpServers")
    (home / ".gemini").write_text("a file where a folder should be")
    assert run(["setup", "--client", "gemini"]) == 1
    assert "Nothing was changed there" in capsys.readouterr().err


def test_a_fifo_or_folder_in_place_of_a_configuration_is_refused_at_once(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".gemini").mkdir()
    os.mkfifo(home / ".gemini/settings.json")
    (home / ".cursor/mcp.json").mkdir(parents=True)
    command = [*LITHOS, "setup", "--client", "gemini", "--client", "cursor"]
    done = fork_server.run(command, timeout=60)
    assert done.returncode == 1
    assert done.stderr.count("it is no file") == 2


def test_line_ends_of_windows_stay(home: Path) -> None:
    for name, text in ((".cursor/mcp.json", '{\r\n  "theme": 1\r\n}\r\n'), (".codex/config.toml", 'model = "o3"\r\n')):
        (home / name).parent.mkdir()
        (home / name).write_bytes(text.encode())
        client = name[1:].partition("/")[0]
        assert run(["setup", "--client", client]) == 0
        written = (home / name).read_bytes()
        assert b"lithos" in written and written.count(b"\n") == written.count(b"\r\n")


def test_a_mistyped_client_is_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["setup", "--client", "cursr"]) == 2
    assert "Did you mean cursor?" in capsys.readouterr().err
    assert run(["setup"]) == 2
    assert "no client was found" in capsys.readouterr().err


def test_a_vault_is_named_in_the_settings_of_the_memory(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "Vault").mkdir()
    (home / "Vault/Pasta.md").write_text("Boil spaghetti for nine minutes.\n")
    (home / "lithos").mkdir()
    (home / "lithos/config.yaml").write_text("# mine\nsearch:\n  max_results: 7\n")
    assert run(["setup", "--client", "cursor", "--vault", "~/Vault"]) == 0
    assert (home / "lithos/config.yaml").read_text().startswith("# mine\nsearch:\n  max_results: 7\nstorage:\n")
    capsys.readouterr()
    assert run(["search", "spaghetti"]) == 0
    assert "Pasta" in capsys.readouterr().out
    assert run(["setup", "--client", "cursor", "--vault", str(home / "typo")]) == 2


def test_doctor_looks_into_the_clients(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def found() -> dict[str, str]:
        run(["doctor", "--json"])
        findings = json.loads(capsys.readouterr().out)["findings"]
        return {each["message"]: each["severity"] for each in findings if each["part"] == "clients"}

    assert run(["setup", "--client", "claude-code", "--client", "codex", "--client", "cursor", "--hooks", "--yes"]) == 0
    capsys.readouterr()
    assert set(found().values()) == {"ok"} and len(found()) == 4
    hooks = home / ".claude/settings.json"
    hooks.write_text(hooks.read_text().replace("/lithos hook", "/gone/lithos hook"))
    file = home / ".cursor/mcp.json"
    file.write_text(file.read_text().replace('"command": "', '"command": "/gone'))
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").write_text("{")
    Path(".mcp.json").write_text(json.dumps({"mcpServers": {"lithos": {"command": "/bin/true", "args": ["-d", "/x"]}}}))
    assert sorted(found().values()) == ["error", "error", "ok", "ok", "warning", "warning"]


def test_setups_at_once_leave_whole_files(home: Path) -> None:
    (home / ".claude.json").write_text('{"mine": 1}')
    started = [
        fork_server.Popen([*LITHOS, "setup", "--client", client, "--agent", f"agent-{number}", "--json"])
        for number in range(4)
        for client in ("cursor", "claude-code")
    ]
    codes = {each.wait(60) for each in started}
    assert codes <= {0, 1}  # 1: another one changed the file in the same moment, and said so
    assert json.loads((home / ".claude.json").read_text())["mine"] == 1
    assert json.loads((home / ".cursor/mcp.json").read_text())["mcpServers"]["lithos"]["args"][-1].startswith("agent-")


def test_a_file_that_is_the_users_and_the_projects_is_checked_once(tmp_path: Path) -> None:
    from lithos.clients.catalogue import Where
    from lithos.clients.check import check_clients

    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor/mcp.json").write_text("{")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text("{")
    at_home = Where(tmp_path, tmp_path, {})
    files = [finding.message.split(" ")[0] for finding in check_clients(at_home, tmp_path / "lithos")]
    assert files == [str(tmp_path / ".cursor/mcp.json"), str(tmp_path / ".claude/settings.json")]
