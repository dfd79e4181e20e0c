"""History: commits to the functions of today beside `git log -L`, and fixes that are found.

LITHOS_BENCH_REPOS names a folder with checkouts of `flask` and `django`, with their history. FUNCTIONS (300) are
compared. Times are CPU times; `graph_scale` has the speed of questions.
"""

from __future__ import annotations

import ast
import os
import random
import resource
import subprocess
import time
from pathlib import Path

from benchmarks.report import line
from lithos.graph.git import Git
from lithos.graph.history.commits import CommitLog, Tracked, described, read_commits, track
from lithos.graph.history.commits.log import working_tree

REPOSITORIES = ("flask", "django")
COMMITS = int(os.environ.get("COMMITS", "5000"))
FUNCTIONS = int(os.environ.get("FUNCTIONS", "300"))
MOST_FIXES = 300


def main() -> None:
    folder = os.environ.get("LITHOS_BENCH_REPOS", "")
    for name in REPOSITORIES:
        path = Path(folder) / name
        if not folder or not (path / ".git").exists():
            print(f"{name}: not available (LITHOS_BENCH_REPOS names no folder that has it)")
            continue
        of_repository(name, path)


def functions(text: str) -> dict[str, tuple[int, int]]:
    """Qualified name → first line and one past the last."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return {}
    found: dict[str, tuple[int, int]] = {}

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}.{child.name}" if prefix else child.name
                if not isinstance(child, ast.ClassDef):
                    found.setdefault(name, (child.lineno, (child.end_lineno or child.lineno) + 1))
            walk(child, name)

    walk(tree, "")
    return found


def of_repository(name: str, path: Path) -> None:
    git = Git.find(path)
    assert git is not None
    head = git.run("rev-parse", "HEAD").decode().strip()
    print(f"{name} at {head[:12]}, newest {COMMITS:,} commits")
    before, children = time.process_time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    log = read_commits(git, COMMITS, {})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    of_git = after.ru_utime + after.ru_stime - children.ru_utime - children.ru_stime
    hunks = sum(len(diff.hunks) for each in log.commits for diff in each.files)
    print(f"  read: {time.process_time() - before:.2f} s CPU, git {of_git:.2f} s; {hunks:,} hunks")
    listed = _python_files(path)
    files = [Tracked(each, functions((path / each).read_text(errors="replace"))) for each in listed]
    before = time.process_time()
    touched: dict[tuple[str, str], set[str]] = {}
    for touch in track(log.commits, working_tree(git), files):
        if touch.symbol:
            touched.setdefault((touch.path, touch.symbol), set()).add(touch.sha)
    count = sum(len(each.symbols) for each in files)
    print(f"  carried back: {time.process_time() - before:.2f} s CPU; {len(files):,} files, {count:,} functions")
    beside_log(path, log, files, touched)
    fixes(path, log, files, touched)


def _python_files(path: Path) -> list[str]:
    done = subprocess.run(["git", "ls-files", "-z", "--", "*.py"], cwd=path, capture_output=True, check=True)
    return [each for each in done.stdout.decode().split("\0") if each]


def _parents(path: Path) -> set[str]:
    command = ["git", "log", f"-n{COMMITS}", "--topo-order", "--format=%P", "HEAD"]
    return set(subprocess.run(command, cwd=path, capture_output=True, text=True, check=True).stdout.split())


def beside_log(path: Path, log: CommitLog, files: list[Tracked], touched: dict[tuple[str, str], set[str]]) -> None:
    known = {each.sha for each in log.commits}
    every = [(each.path, name, span) for each in files for name, span in each.symbols.items() if span[1] - span[0] > 3]
    chosen = random.Random(1).sample(every, min(FUNCTIONS, len(every)))
    older = _parents(path) - known  # where the history that is compared ends: git would walk on to the first commit
    right = extra = missing = 0
    for file, name, (start, end) in chosen:
        command = ["git", "log", "-s", "--format=%H", f"-L{start},{end - 1}:{file}", "HEAD", "--not", *older]
        done = subprocess.run(command, cwd=path, capture_output=True, text=True, check=True)
        said, ours = set(done.stdout.split()) & known, touched.get((file, name), set())
        right, extra, missing = right + len(said & ours), extra + len(ours - said), missing + len(said - ours)
    label = f"  commit → function beside git log -L ({len(chosen)})"
    line(f"{label}, precision", right / max(1, right + extra), 0.95, "  ", more_is_better=True)
    line(f"{label}, recall", right / max(1, right + missing), 0.95, "  ", more_is_better=True)


def fixes(path: Path, log: CommitLog, files: list[Tracked], touched: dict[tuple[str, str], set[str]]) -> None:
    """Commits that close an issue: is the fix in the history of the functions whose lines it changed?"""
    today = {each.path: each.symbols for each in files}
    closing = [each for each in log.commits if not each.is_merge and described(each.subject, each.body).closes]
    chosen = random.Random(2).sample(closing, min(MOST_FIXES, len(closing)))
    asked = found = 0
    for commit in chosen:
        for diff in commit.files:
            if diff.new not in today or not diff.new.endswith(".py"):
                continue
            shown = subprocess.run(
                ["git", "show", f"{commit.sha}:{diff.new}"], cwd=path, capture_output=True, check=True
            )
            for name, (start, end) in functions(shown.stdout.decode("utf-8", "replace")).items():
                changed = any(hunk.new_start < end and hunk.new_end > start for hunk in diff.hunks)
                if changed and name in today[diff.new]:
                    asked += 1
                    found += commit.sha in touched.get((diff.new, name), ())
    line(
        f"  fixes in the history of their functions ({len(chosen)} fixes, {asked})",
        found / max(1, asked),
        0.9,
        "  ",
        more_is_better=True,
    )
