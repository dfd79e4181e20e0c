"""`make wheel-test`: the wheel from pip, pipx, uvx and uv, each in an empty home; `wheel_test.py pipx` tries one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIRST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "wheel-test", "version": "1"},
    },
}


def run(home: Path, *words: str | Path, given: str | None = None) -> str:
    """With HOME and PATH alone: nothing of the environment that started this helps."""
    started = time.monotonic()
    environment = {"HOME": str(home), "PATH": f"{Path(words[0]).parent}:/usr/bin:/bin", **package_index()}
    done = subprocess.run(
        [*map(str, words)], env=environment, cwd=home, input=given, capture_output=True, text=True, timeout=900
    )
    shown = " ".join(str(word) for word in words)[-100:]
    print(f"{time.monotonic() - started:6.1f} s  {shown}", flush=True)
    if done.returncode:
        raise SystemExit(f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def package_index() -> dict[str, str]:
    """The settings of pip and uv in the environment. uv does not read pip's files: it gets the index that they name."""
    given = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_CERT_"))}
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True
    )
    index = given.get("PIP_INDEX_URL", asked.stdout.strip())
    return {**({"UV_DEFAULT_INDEX": index} if index else {}), **given}


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        home, wheels = Path(folder) / "home", Path(folder) / "wheels"
        home.mkdir()
        pip_wheel = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(wheels), str(ROOT)]
        subprocess.run(pip_wheel, check=True, cwd=folder)
        [wheel] = wheels.glob("lithos_memory-*.whl")
        print(f"{wheel.stat().st_size / 1e6:6.1f} MB {wheel.name}")
        installers = Path(folder) / "installers"
        venv.create(installers, with_pip=True)
        run(home, installers / "bin/python", "-m", "pip", "install", "-q", "pipx", "uv")
        for name in sys.argv[1:] or INSTALLERS:
            own = Path(folder) / f"{name}-home"
            own.mkdir()
            INSTALLERS[name](installers / "bin", wheel, own)
    return 0


def with_pip(tools: Path, wheel: Path, home: Path) -> None:
    environment = home / ".environment"
    venv.create(environment, with_pip=True)
    run(home, environment / "bin/python", "-m", "pip", "install", "-q", wheel)
    first_minutes(home, environment / "bin")


def with_pipx(tools: Path, wheel: Path, home: Path) -> None:
    run(home, tools / "pipx", "install", "-q", wheel)
    first_minutes(home, home / ".local/bin")


def with_uv(tools: Path, wheel: Path, home: Path) -> None:
    """`uvx lithos-memory` without an installation, then `uv tool install`."""
    assert run(home, tools / "uvx", "-q", "--from", wheel, "lithos-memory", "--version").startswith("lithos ")
    run(home, tools / "uv", "tool", "install", "-q", wheel)
    first_minutes(home, home / ".local/bin")


INSTALLERS = {"pip": with_pip, "pipx": with_pipx, "uv": with_uv}


def first_minutes(home: Path, commands: Path) -> None:
    version = run(home, commands / "lithos", "--version")
    assert run(home, commands / "lithos-memory", "--version") == version
    run(home, commands / "lithos", "note", "write", "--title", "Retries", "--content", "Retry three times.")
    assert (home / "lithos/knowledge/retries.md").is_file()
    assert "Retries" in run(home, commands / "lithos", "search", "retry")
    assert "Retries" in run(home, commands / "lithos", "search", "how often to try again", "--semantic")
    answer = run(home, commands / "lithos", "serve", given=json.dumps(FIRST) + "\n")
    assert json.loads(answer.splitlines()[0])["result"]["serverInfo"]["name"]
    run(home, commands / "lithos", "stop")
    assert [each.name for each in home.iterdir() if not each.name.startswith(".")] == ["lithos"]


if __name__ == "__main__":
    raise SystemExit(main())
