"""Tools of a project: discovery in a repository of 50,000 files, cold and cached; 10,000 findings parsed. CPU time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.report import line, percentile
from lithos.app import Lithos, open_lithos
from lithos.core.call import Call
from lithos.settings import LithosConfig, StorageSettings, WorkshopSettings
from lithos.tools.catalogue import catalogue
from lithos.workshop.discovery import Wanted
from lithos.workshop.findings import LINTERS, SUITES, Place, ToolOutput, read_lint, read_suite

FILES, FINDINGS = 50_000, 10_000
COLD, CACHED = 5, 200


def cpu(work: Callable[[], object]) -> float:
    """Seconds of this process and of the git processes that it waited for."""
    before = os.times()
    work()
    after = os.times()
    return sum(after[:4]) - sum(before[:4])


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="lithos-bench-"))
    try:
        repo = _repository(folder / "repo")
        config = LithosConfig(
            storage=StorageSettings(data_dir=folder / "data"), workshop=WorkshopSettings(projects={"big": repo})
        )
        lithos = open_lithos(config)
        try:
            _discovery(lithos)
        finally:
            lithos.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _parsing()


def _repository(repo: Path) -> Path:
    for at in range(FILES):
        path = repo / f"src/pack{at % 200}/part{at % 7}/module_{at}.{('py', 'ts', 'go')[at % 3]}"
        if at < 1_400:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    for at in range(40):
        (repo / f"src/pack{at}/package.json").write_text('{"devDependencies": {"eslint": "9.0.0", "vitest": "3.0.0"}}')
    (repo / "pyproject.toml").write_text('[tool.ruff]\n[tool.mypy]\n[dependency-groups]\ndev = ["pytest==8.0"]\n')
    (repo / "Makefile").write_text("lint:\n\truff check .\n")
    (repo / ".golangci.yml").write_text("version: '2'\n")
    who = ["-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "gc.auto=0"]
    for arguments in (["init", "-qb", "main"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run(["git", *who, *arguments], cwd=repo, check=True, capture_output=True)
    return repo


def _discovery(lithos: Lithos) -> None:
    def ask(tool: str, **arguments: Any) -> Any:
        return catalogue().call(lithos, tool, {"agent": "bench", **arguments})

    session = ask("lithos_session_create", name="bench")["session_id"]
    ask("lithos_worktree_open", session_id=session)
    call = Call("lithos_tools_discover", agent="bench")
    worktree = lithos.workshop.worktree(call, session)
    inspection = lithos.workshop.inspection

    def discover(force: bool) -> None:
        found = inspection.discover(call, worktree, Wanted("linter"), force_refresh=force)
        assert found["cached"] is not force and len(found["tools"]) == 3

    cold = [cpu(lambda: discover(True)) for _ in range(COLD)]
    line(f"discovery, {FILES:,} files, cold: CPU with git, median", percentile(cold, 0.5), 0.5, "s ")
    own = []
    for _ in range(CACHED):
        started = time.process_time()
        discover(False)
        own.append((time.process_time() - started) * 1000)
    line("discovery, cached: CPU, median", percentile(own, 0.5), 2.0, "ms")


def _parsing() -> None:
    place = Place(Path("/w"))
    at = {"row": 7, "column": 3}
    ruff = [{"filename": f"/w/src/m{n}.py", "code": "F401", "message": "m", "location": at} for n in range(FINDINGS)]
    lines = "\n".join(json.dumps(each) for each in ruff).encode()
    eslint = [
        {"filePath": f"/w/m{n}.js", "messages": [{"ruleId": "x", "severity": 2, "message": "m", "line": n + 1}] * 1}
        for n in range(FINDINGS)
    ]
    mypy = "\n".join(
        json.dumps({"file": f"m{n}.py", "line": n, "column": 1, "message": "m", "code": "c", "severity": "error"})
        for n in range(FINDINGS)
    )
    cases = {
        ("ruff", "lint"): lines,
        ("eslint", "lint"): json.dumps(eslint).encode(),
        ("mypy", "type"): mypy.encode(),
        ("tsc", "type"): b"\n".join(b"src/m%d.ts(7,3): error TS2322: m" % n for n in range(FINDINGS)),
    }
    for (tool, category), output in cases.items():
        report = None

        def work(tool: str = tool, category: str = category, output: bytes = output) -> None:
            nonlocal report
            report = read_lint(LINTERS[tool, category], ToolOutput(1, output, b""), place)  # type: ignore[index]

        seconds = min(cpu(work) for _ in range(3))
        assert report is not None and len(report.issues) == FINDINGS
        line(f"parse {FINDINGS:,} findings of {tool}: CPU", seconds, 0.3, "s ")
    for tool, output in _failed_suites().items():
        suite = None

        def judge(tool: str = tool, output: ToolOutput = output) -> None:
            nonlocal suite
            suite = read_suite(SUITES[tool], output, place)

        seconds = min(cpu(judge) for _ in range(3))
        assert suite is not None and len(suite.failures) == FINDINGS, (tool, suite)
        line(f"parse {FINDINGS:,} failed tests of {tool}: CPU", seconds, 0.3, "s ")


def _failed_suites() -> dict[str, ToolOutput]:
    """10,000 failures each, as the tools write them."""
    case = (
        '<testcase classname="t.a" name="test_%d" file="t/a.py"><failure message="no">t/a.py:3: E</failure></testcase>'
    )
    xml = "<testsuites><testsuite>" + "".join(case % n for n in range(FINDINGS)) + "</testsuite></testsuites>"
    go = []
    for n in range(FINDINGS):
        key = {"Package": "example.com/m", "Test": f"TestAll/case_{n}"}
        go += [
            {"Action": "output", **key, "Output": f"    a_test.go:{n + 1}: got 1 want 2\n"},
            {"Action": "fail", **key},
        ]
    go.append({"Action": "fail", "Package": "example.com/m", "Test": "TestAll"})
    failed = {"status": "failed", "failureMessages": ["expected 1 to be 2 // Object.is\n    at /w/a.test.ts:3:5"]}
    cases = [{**failed, "fullName": f"case {n}"} for n in range(FINDINGS)]
    whole = {"testResults": [{"name": "/w/a.test.ts", "status": "failed", "assertionResults": cases}]}
    return {
        "pytest": ToolOutput(1, b"", b"", report=xml.encode()),
        "go test": ToolOutput(1, "\n".join(map(json.dumps, go)).encode(), b""),
        "vitest": ToolOutput(1, b"", b"", report=json.dumps(whole).encode()),
    }


if __name__ == "__main__":
    main()
