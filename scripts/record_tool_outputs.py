"""Record what real tools print for the planted projects, as tests/fixtures/tool_outputs/*.json.

Run it with the tools on PATH (`node_modules/.bin` of a scratch folder, go, cargo, shellcheck …); a tool that is not
there is left out and keeps its record. NODE_MODULES names the folder to link into the planted projects.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support import planted

from lithos.workshop.findings import LINTERS, SUITES, Request

OUT = Path(__file__).resolve().parents[1] / "tests/fixtures/tool_outputs"
PY, JS = (planted.PYTHON, ["app.py"]), (planted.SCRIPT, ["bad.js", "syntax.js"])
LINT = {
    ("ruff", "lint"): PY,
    ("ruff", "format"): PY,
    ("mypy", "type"): PY,
    ("pyright", "type"): PY,
    ("eslint", "lint"): JS,
    ("oxlint", "lint"): JS,
    ("biome", "lint"): JS,
    ("biome", "format"): (planted.SCRIPT, ["bad.js"]),
    ("prettier", "format"): JS,
    ("tsc", "type"): (planted.SCRIPT, ["types.ts"]),
    ("go vet", "type"): (planted.GO, ["./", "./broken"]),
    ("gofmt", "format"): (planted.GO, ["sub/sub.go"]),
    ("clippy", "lint"): (planted.RUST, []),
    ("cargo check", "type"): (planted.RUST, []),
    ("rustfmt", "format"): (planted.RUST, []),
    ("shellcheck", "lint"): (planted.SHELL, ["a.sh"]),
}
TESTS = {
    "pytest": (planted.PYTHON, ["test_app.py"]),
    "vitest": (planted.VITEST, []),
    "jest": (planted.JEST, []),
    "go test": (planted.GO, []),
    "cargo test": (planted.RUST, []),
}


def record(name: str, files, vector) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = planted.plant(Path(folder) / "w", files)
        if "package.json" in files:
            (root / "node_modules").symlink_to(os.environ["NODE_MODULES"])
        report = Path(folder) / "report"
        argv = vector(str(report))
        program = shutil.which(argv[0])
        if program is None:
            print(f"{name}: {argv[0]} is not installed")
            return
        env = {**os.environ, "NO_COLOR": "1", "RUST_BACKTRACE": "0", "CARGO_NET_OFFLINE": "true"}
        done = subprocess.run([program, *argv[1:]], cwd=root, capture_output=True, env=env, timeout=900)
        kept = {
            "exit_code": done.returncode,
            "stdout": clean(done.stdout, folder),
            "stderr": clean(done.stderr, folder),
        }
        if report.is_file():
            kept["report"] = clean(report.read_bytes(), folder)
        OUT.mkdir(parents=True, exist_ok=True)
        (OUT / f"{name.replace(' ', '-')}.json").write_text(json.dumps(kept, indent=1) + "\n")
        print(f"{name}: exit {done.returncode}")


def clean(data: bytes, folder: str) -> str:
    """Without the names of this machine."""
    text = data.decode().replace(folder, "/planted").replace(os.environ.get("NODE_MODULES", "\0"), "/node_modules")
    return text.replace(str(Path.home()), "/home").replace(os.uname().nodename, "machine")


def main() -> None:
    chosen = sys.argv[1:]
    for (tool, category), (files, paths) in LINT.items():
        if not chosen or tool in chosen:
            adapter = LINTERS[tool, category]
            record(f"{tool}-{category}", files, lambda _, a=adapter, p=paths: a.vectors[0](Request(p, "tsconfig.json")))
    for tool, (files, paths) in TESTS.items():
        if not chosen or tool in chosen:
            adapter = SUITES[tool]
            record(tool, files, lambda out, a=adapter, p=paths: a.vectors[0](Request(p, report=out)))


if __name__ == "__main__":
    main()
