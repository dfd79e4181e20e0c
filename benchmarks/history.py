"""History: commits to the functions of today beside `git log -L`, fixes that are found, and the speed of questions.

LITHOS_BENCH_REPOS names a folder with checkouts of `flask` and `django`, with their history. FUNCTIONS (300) are
compared; THOUGHTS (100,000), SYMBOLS (50,000) and SOURCES (2,000) make the memory that is asked. Times are CPU times.
"""

from __future__ import annotations

import ast
import os
import random
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.report import line, percentile
from lithos.graph.git import Git
from lithos.graph.history.commits import CommitLog, Tracked, described, read_commits, track
from lithos.graph.history.commits.log import working_tree

REPOSITORIES = ("flask", "django")
COMMITS = int(os.environ.get("COMMITS", "5000"))
FUNCTIONS = int(os.environ.get("FUNCTIONS", "300"))
THOUGHTS = int(os.environ.get("THOUGHTS", "100000"))
SYMBOLS = int(os.environ.get("SYMBOLS", "50000"))
SOURCES = int(os.environ.get("SOURCES", "2000"))
MOST_FIXES = 300
WORDS = [
    "token",
    "cache",
    "retry",
    "session",
    "index",
    "lease",
    "queue",
    "parser",
    "worker",
    "schema",
    "commit",
    "branch",
    "merge",
    "budget",
    "stream",
]


def main() -> None:
    folder = os.environ.get("LITHOS_BENCH_REPOS", "")
    for name in REPOSITORIES:
        path = Path(folder) / name
        if not folder or not (path / ".git").exists():
            print(f"{name}: not available (LITHOS_BENCH_REPOS names no folder that has it)")
            continue
        of_repository(name, path)
    speeds()


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


def speeds() -> None:
    from lithos.app import open_lithos
    from lithos.core.call import Call
    from lithos.graph.history import HistoryQuestion
    from lithos.graph.knowledge import academic_for, code_for_history, history_for_code
    from lithos.ledger import Draft
    from lithos.settings import CodeRoot, CodeSettings, LithosConfig, SearchSettings, StorageSettings

    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        repository(base / "repo")
        lithos = open_lithos(
            LithosConfig(
                storage=StorageSettings(data_dir=base / "data"),
                code=CodeSettings(roots=(CodeRoot(name="repo", path=base / "repo"),)),
                search=SearchSettings(wait_seconds=0.1),
            )
        )
        call, chance = Call("benchmark", agent="bench"), random.Random(3)
        try:
            for root in lithos.code.roots():
                root.index.reconcile()
            for number in range(THOUGHTS):
                said = " ".join(chance.sample(WORDS, 5))
                concepts = [f"code:repo:m{chance.randrange(100)}.py#f{chance.randrange(SYMBOLS // 100)}"]
                kind = ("Decision", "Mistake", "ActionTaken")[number % 3]
                draft = Draft(kind, f"{said} {number} see RFC {number % SOURCES}", "bench", concepts=concepts)
                lithos.ledger.append(call, draft, chain_key="history")
            ingest(lithos, call, base)
            before = time.thread_time()
            lithos.graph.catch_up()
            rate = (THOUGHTS + SOURCES + SYMBOLS) / (time.thread_time() - before)
            line("rebuild of the graph, nodes per CPU second", rate, 5_000, "  ", more_is_better=True)
            ids = [row["id"] for row in lithos.history.recent(call, frozenset(), 50)]
            p50("history search", 10, lambda n: lithos.history.search(call, HistoryQuestion(" ".join(pick(chance)))))
            p50("search_all", 25, lambda n: lithos.everything.search_all(call, " ".join(pick(chance)), (), 5, None))
            p50(
                "get_history_for_code",
                5,
                lambda n: history_for_code(lithos.graph, call, f"repo:m{n}.py#f{n % (SYMBOLS // 100)}", 10),
            )
            p50("get_code_for_history", 5, lambda n: code_for_history(lithos.graph, call, ids[n % len(ids)]))
            p50("get_academic_for", 5, lambda n: academic_for(lithos.graph, call, ids[n % len(ids)], 5))
        finally:
            lithos.close()


def pick(chance: random.Random) -> Iterator[str]:
    return iter(chance.sample(WORDS, 3))


def ingest(lithos: object, call: object, base: Path) -> None:
    """Sources as files that the vault finds by itself: a thousand writes would measure the vault."""
    folder = base / "data" / "knowledge" / "academic"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(SOURCES):
        head = f"---\nid: {number:08d}-0000-4000-8000-000000000000\ntitle: RFC {number}\nkind: rfc\n---\n"
        (folder / f"rfc{number}.md").write_text(f"{head}# RFC {number}\n\n{WORDS[number % len(WORDS)]} {number}.\n")
    lithos.notes.ensure_scanned()  # type: ignore[attr-defined]


def repository(folder: Path) -> None:
    folder.mkdir(parents=True)
    each = SYMBOLS // 100
    for number in range(100):
        text = "\n\n".join(f"def f{n}(x):\n    return {n}" for n in range(each))
        (folder / f"m{number}.py").write_text(text + "\n")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
        subprocess.run(["git", *identity, *command], cwd=folder, check=True)


def p50(name: str, limit: float, work: Callable[[int], object]) -> None:
    """CPU milliseconds of this process: wall time on a shared machine says little."""
    work(0)
    spent = []
    for number in range(1, 60):
        before = time.thread_time()  # not of the threads that embed meanwhile
        work(number)
        spent.append((time.thread_time() - before) * 1000)
    line(f"{name}, CPU p50", percentile(spent, 0.5), limit, "ms")
