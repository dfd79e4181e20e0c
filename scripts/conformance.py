"""`make conformance`: the official MCP suite and the inspector, as foreign clients, against our transport and adapter.

Needs npm and the network once: the suite, a node new enough for it and the inspector go into `.conformance/`.
docs/conformance.md says what is not applicable and why; the same list is here, and a scenario of it that passes fails
the run, so that the list stays true.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".conformance"
PACKAGES = (
    "node@22",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
)
REVISIONS = ("2025-11-25", "2026-07-28")
TIMEOUT_MS = 10_000
_TIME = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z?$")
ERAS = ("legacy", "modern")
TOOL_ERROR = 5  # the inspector's exit code for a result with isError

# Scenario → why it cannot apply to a server that offers tools alone and never asks its client for anything.
ASKS_BACK = "Lithos asks its clients for nothing: no sampling, no elicitation, no roots"
TELLS_NOTHING = "Lithos sends nothing while a call runs: answers are plain JSON, not event streams"
EXTENSION = "an extension that Lithos does not announce"
NOT_APPLICABLE = {
    "tools-call-with-logging": TELLS_NOTHING,
    "tools-call-with-progress": TELLS_NOTHING,
    "tools-call-sampling": ASKS_BACK,
    "tools-call-elicitation": ASKS_BACK,
    "elicitation-sep1034-defaults": ASKS_BACK,
    "elicitation-sep1330-enums": ASKS_BACK,
    "input-required-result-basic-elicitation": ASKS_BACK,
    "input-required-result-basic-sampling": ASKS_BACK,
    "input-required-result-basic-list-roots": ASKS_BACK,
    "input-required-result-request-state": ASKS_BACK,
    "input-required-result-multiple-input-requests": ASKS_BACK,
    "input-required-result-multi-round": ASKS_BACK,
    "input-required-result-non-tool-request": ASKS_BACK,
    "input-required-result-result-type": ASKS_BACK,
    "input-required-result-tampered-state": ASKS_BACK,
    "input-required-result-capability-check": ASKS_BACK,
    "tasks-lifecycle": EXTENSION,
    "tasks-capability-negotiation": EXTENSION,
    "tasks-wire-fields": EXTENSION,
    "tasks-request-state-removal": EXTENSION,
    "tasks-mrtr-input": EXTENSION,
    "tasks-request-headers": EXTENSION,
    "tasks-dispatch-and-envelope": EXTENSION,
    "tasks-required-task-error": EXTENSION,
    "tasks-mrtr-composition": EXTENSION,
}


def main() -> int:
    set_up()
    with tempfile.TemporaryDirectory() as home:
        environment = {
            **os.environ,
            "HOME": home,
            "PATH": f"{FOLDER / 'node_modules/.bin'}{os.pathsep}{os.environ['PATH']}",
        }
        with fixture_server() as url:
            wrong = [line for revision in REVISIONS for line in judge(revision, url, environment)]
            wrong += inspect_http(url, environment)
        wrong += inspect_stdio(home, environment)
    print("\n".join(wrong) if wrong else "conformance: all applicable scenarios pass; the inspector lists and calls")
    return 1 if wrong else 0


def set_up() -> None:
    """Once; `.conformance/packages` says what is there."""
    mark = FOLDER / "packages"
    wanted = "\n".join(PACKAGES)
    if mark.is_file() and mark.read_text() == wanted:
        return
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("make conformance needs npm")
    FOLDER.mkdir(exist_ok=True)
    home = FOLDER / "home"
    home.mkdir(exist_ok=True)
    command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(FOLDER), *PACKAGES]
    subprocess.run(command, check=True, cwd=FOLDER, env={**os.environ, "HOME": str(home)})
    mark.write_text(wanted)


@contextmanager
def fixture_server() -> Iterator[str]:
    command = [sys.executable, "-m", "scripts.conformance_server"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/mcp"
        finally:
            server.terminate()


def judge(revision: str, url: str, environment: dict[str, str]) -> list[str]:
    """Sentences about what is not as it should be."""
    with tempfile.TemporaryDirectory() as results:
        command = ["conformance", "server", "--url", url, "--requirements", revision, "-o", results]
        subprocess.run(
            [*command, "--timeout", str(TIMEOUT_MS)], env=environment, cwd=FOLDER, capture_output=True, timeout=600
        )
        failed = dict(scenarios(Path(results)))
    if not failed:
        return [f"{revision}: the suite gave no results"]
    passed = [name for name, checks in failed.items() if not checks]
    skipped = [name for name, checks in failed.items() if checks and name in NOT_APPLICABLE]
    print(f"{revision}: {len(passed)} scenarios pass, {len(skipped)} are not applicable, of {len(failed)}")
    wrong = [
        f"{revision}: {name} fails: {'; '.join(checks)}"
        for name, checks in failed.items()
        if checks and name not in NOT_APPLICABLE
    ]
    return wrong + [
        f"{revision}: {name} passes but is listed as not applicable" for name in passed if name in NOT_APPLICABLE
    ]


def scenarios(results: Path) -> Iterator[tuple[str, list[str]]]:
    """Scenario → its failed checks, from the files that the suite writes: `server-<scenario>-<time>/checks.json`."""
    for path in sorted(results.rglob("checks.json")):
        name = _TIME.sub("", path.parent.name.removeprefix("server-"))
        checks = json.loads(path.read_text(encoding="utf-8"))
        yield name, [f"{check['id']} ({check.get('errorMessage')})" for check in checks if check["status"] == "FAILURE"]


def inspect_http(url: str, environment: dict[str, str]) -> list[str]:
    return [line for era in ERAS for line in _inspect([url], f"HTTP, {era}", era, environment)]


def inspect_stdio(home: str, environment: dict[str, str]) -> list[str]:
    data = f"{home}/data"
    command = [sys.executable, "-m", "lithos.cli.entry"]
    serve = [*command, "serve", "--data-dir", data]
    try:
        return [line for era in ERAS for line in _inspect(serve, f"stdio, {era}", era, environment)]
    finally:
        subprocess.run([*command, "stop", "--data-dir", data], capture_output=True)


def _inspect(target: list[str], what: str, era: str, environment: dict[str, str]) -> list[str]:
    """A foreign client lists (judging our schemas strictly), calls, and sees a refusal as a refusal."""
    listed = _inspector(target, era, environment, "tools/list", "--strict")
    called = _inspector(target, era, environment, "tools/call", "--tool-name", "lithos_stats")
    refused = _inspector(
        target, era, environment, "tools/call", "--tool-name", "lithos_agent_info", "--tool-arg", "id=unknown-agent"
    )
    expected = ((listed, 0, "lithos_stats"), (called, 0, "documents"), (refused, TOOL_ERROR, "not_found"))
    wrong = [
        f"inspector over {what}: {done.args[-4:]} ended with {done.returncode}: {(done.stderr or done.stdout)[-400:]}"
        for done, code, text in expected
        if done.returncode != code or text not in done.stdout
    ]
    if not wrong:
        print(f"inspector over {what}: lists, calls, sees a refusal")
    return wrong


def _inspector(
    target: list[str], era: str, environment: dict[str, str], method: str, *more: str
) -> subprocess.CompletedProcess[str]:
    command = ["mcp-inspector", "--cli", "--protocol-era", era, "--method", method, *more, "--", *target]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


if __name__ == "__main__":
    raise SystemExit(main())
