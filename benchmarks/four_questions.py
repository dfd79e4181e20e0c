"""The four questions across domains (specification, 5294 to 5370) on a real repository, without a model's answer.

LITHOS_BENCH_REPOS names a folder with a checkout of `flask` with its history. The truth is what git and the files say;
the decision and the RFC's text are written here.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from lithos.app import Lithos, open_lithos
from lithos.settings import AcademicSettings, CodeRoot, CodeSettings, LithosConfig, ServerSettings, StorageSettings
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue

ANN = Caller(toolsets=("all",), agent="ann")
RFC = "# RFC 822: Text Messages\n\nDates have a day, a month and a year.\n"
COMMITS = 5_000  # that history reads
FILE, FUNCTION = "src/flask/app.py", "Flask.full_dispatch_request"


def main() -> None:
    path = Path(os.environ.get("LITHOS_BENCH_REPOS", "")) / "flask"
    if not (path / ".git").exists():
        print("flask: not available (LITHOS_BENCH_REPOS names no folder that has it)")
        return
    print(f"flask at {_git(path, 'rev-parse', 'HEAD')[:12]}")
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (base / "rfc822.md").write_text(RFC)
        lithos = open_lithos(
            LithosConfig(
                storage=StorageSettings(data_dir=base / "data"),
                server=ServerSettings(watch_files=False),
                code=CodeSettings(roots=(CodeRoot(name="flask", path=path),)),
                academic=AcademicSettings(inbox=base),
            )
        )
        try:
            for root in lithos.code.roots():
                root.index.reconcile()
            _ask(lithos, "ingest_source", source="rfc822.md")
            said = "JWT over sessions, because a stateless API scales; see RFC 822 for dates."
            _ask(lithos, "store_entry", category="decision", content=said)
            questions(lithos, path)
        finally:
            lithos.close()


def questions(lithos: Lithos, path: Path) -> None:
    code = _ask(lithos, "search_all", query="serialize data to JSON with a provider", domains=["code"])["code"]
    joined = {row["title"]: [each["title"] for each in row["related"]["academic"]] for row in code}
    print(
        f"  which patterns does our code implement: {_judged(any('RFC 822' in str(each) for each in joined.values()))}"
    )
    best = _ask(lithos, "get_decisions", query="Why did we choose JWT over sessions?")["results"][0]
    is_right = best.get("rationale", "").startswith("because a stateless") and bool(best.get("sources"))
    print(f"  why did we choose JWT over sessions: {_judged(is_right)}")
    since = _git(path, "log", "-1", "--skip=30", "--format=%cI")[:10]
    found = _ask(lithos, "search_history", query="session context", since=since, sources=["git"], limit=50)["results"]
    wanted = set(_git(path, "log", f"--since={since}T00:00:00Z", "--format=%H").split())
    shas = {row["id"].rpartition(":")[2] for row in found}
    changed = _ask(lithos, "get_code_for_history", history_id=found[0]["id"])["results"] if found else []
    print(
        f"  what changed since {since}: {len(shas)} commits, {_judged(bool(shas) and shas <= wanted and bool(changed))}"
    )
    history = _ask(lithos, "get_history_for_code", symbol_id=FUNCTION, limit=200)
    start, end = history["of"]["start_line"], history["of"]["end_line"]
    read = set(_git(path, "log", f"-{COMMITS}", "--format=%H").split())
    logged = read & set(_git(path, "log", "-s", "--format=%H", f"-L{start},{end}:{FILE}").split())
    shas = {row["id"].rpartition(":")[2] for row in history["results"]}
    same = shas == logged
    bugs = [row["title"] for row in history["results"] if row["was_bug"]]
    print(f"  have we had issues with {FUNCTION}: {len(shas)} commits, git log -L {len(logged)}, {_judged(same)}")
    print(f"    {len(bugs)} of them fixes: {'; '.join(bugs[:3])}")


def _judged(is_right: bool) -> str:
    return "right" if is_right else "WRONG"


def _ask(lithos: Lithos, tool: str, **arguments: Any) -> Any:
    started = time.process_time()
    answer = catalogue().call(lithos, f"lithos_{tool}", arguments, ANN)
    print(f"    {tool}: {(time.process_time() - started) * 1000:.0f} ms CPU")
    return answer


def _git(path: Path, *command: str) -> str:
    return subprocess.run(["git", *command], cwd=path, capture_output=True, check=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
