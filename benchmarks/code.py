"""The code graph: building it, following it, asking it, and how right it is beside ctags, SCIP and go/types.

LITHOS_BENCH_REPOS names a folder with `django`, `consul`, `ui` (shadcn/ui) and `tokio`, each a checkout. Beside them
may be `<name>.scip` or `<name>.json` (calls as SCIP or a type checker sees them), `<name>.prefix` (the folder they were
made in) and `<name>.commit`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import _code_gold, _code_stages
from benchmarks.report import line, percentile
from lithos.core.call import Call
from lithos.core.clock import SystemClock
from lithos.graph import code as graph
from lithos.search import Embedding, HashedEmbedder, open_collection

REPOSITORIES = {"django": "Python", "consul": "Go", "ui": "TypeScript", "tokio": "Rust"}
GOALS = {"Python": (0.96, 0.93), "TypeScript": (0.95, 0.85), "Go": (0.95, 0.85), "Rust": (0.93, 0.75)}
ROUNDS = 300
OPERATOR = Call("benchmark", operator=True)


class _StillEmbedder(HashedEmbedder):
    """One vector for all texts: the hashed one takes 1 ms a card, more than parsing and full text together."""

    def embed(self, text: str) -> Any:
        import numpy

        vector = numpy.zeros(self.dimension, numpy.float32)
        vector[0] = 1.0
        return vector


def main() -> None:
    folder = os.environ.get("LITHOS_BENCH_REPOS", "")
    for name, language in REPOSITORIES.items():
        where = Path(folder) / name
        if not folder or not where.is_dir():
            print(f"{name}: not available (LITHOS_BENCH_REPOS names no folder that has it)")
            continue
        print(f"{name} at {_commit(where)}")
        _measure(name, language, where)


def _commit(where: Path) -> str:
    beside = where.with_name(f"{where.name}.commit")
    if beside.is_file():
        return beside.read_text().strip()
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=where, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "an unknown commit"


def _measure(name: str, language: str, where: Path) -> None:
    data = Path(tempfile.mkdtemp(prefix="lithos-bench-"))
    embedding = Embedding(_StillEmbedder())  # full text is measured, the model is not
    collection = open_collection(data, "code", embedding=embedding, keywords=graph.KEYWORDS, uncut=True)
    specs = (graph.RootSpec(name, str(where), configured=True),)
    code = graph.Code(graph.CodeOptions(data, data / ".lithos", specs, watch=False), SystemClock(), collection)
    try:
        code.open()
        root = code.roots()[0]
        _building(code, root)
        _asking(code, root)
        _following(root)
        _definitions(where, root, language)
        _calls(where, root, language)
    finally:
        code.close()
        embedding.close()
        shutil.rmtree(data)


def _building(code: graph.Code, root: graph.OpenRoot) -> None:
    """Usable: definitions, calls and full text. Vectors come later, at the model's rate, and are not in here."""
    print(f"  {_code_stages.machine()}")
    memory, children = _code_stages.forget_peak(), _code_stages.child_cpu()
    own, thread = time.process_time(), time.thread_time()
    with _code_stages.timed_stages() as times:
        root.index.reconcile()
        thread = time.thread_time() - thread
        child_memory = _code_stages.peak_memory(code.parsing_process() or "self")
        code.end_parsing()
        while code.collection.status().unindexed:
            time.sleep(0.5)  # a look counts every passage: 20 a second cost 1% of what is measured
    own, child = time.process_time() - own, _code_stages.child_cpu() - children
    stages = {**times.seconds, "parse (child)": child, "full text and catalogue": own - thread}
    stages["rest of the host's thread"] = thread - sum(times.seconds.values())
    status = graph.root_status(root)
    files = status["files"]
    print(f"  {files} files, {status['symbols']} symbols, {status['edges']} edges; {status['languages']}")
    for stage in _code_stages.ORDER:
        print(f"    {stage:32} {stages.get(stage, 0.0):8.2f} s of CPU")
    line("  usable: files per CPU second", files / (own + child), 200, "/s", more_is_better=True)
    line("  usable: CPU", own + child, 15, "s")
    used = _code_stages.peak_memory() - memory
    line("  peak memory above the start, child included", used + child_memory, 200, "MB")
    started = time.process_time()
    root.index.reconcile()
    line("  unchanged restart: CPU", time.process_time() - started, 2, "s")


def _asking(code: graph.Code, root: graph.OpenRoot) -> None:
    sql = (
        "SELECT f.path, n.local FROM nodes n JOIN files f ON f.number = n.file "
        "WHERE n.type IN (2, 3, 4) ORDER BY n.number"
    )
    rows = root.store.read(lambda tx: tx.all(sql))
    ids = [f"{root.spec.name}:{row['path']}#{row['local']}" for row in rows[:: max(1, len(rows) // ROUNDS)]]
    words = [row["local"].replace("_", " ").replace(".", " ") for row in rows[:: max(1, len(rows) // ROUNDS)]]
    symbol = [_took(lambda each=each: graph.symbol(code, OPERATOR, each, False)) for each in ids]  # type: ignore[misc]
    line("  get a symbol, p50", percentile(symbol, 0.5), 1, "ms")
    walks = [_took(lambda each=each: _dependents(code, each)) for each in ids]  # type: ignore[misc]
    line("  dependents to depth 3, p50", percentile(walks, 0.5), 5, "ms")
    finds = [_took(lambda each=each: graph.search(code, OPERATOR, each, 10, "any", None, None)) for each in words]  # type: ignore[misc]
    line(f"  search over {len(rows)} functions and classes, p50", percentile(finds, 0.5), 8, "ms")


def _dependents(code: graph.Code, id: str) -> dict[str, Any]:
    asked = {"edge_type": "all", "depth": 3, "uncertain": False, "backwards": True}
    return graph.dependencies(code, OPERATOR, symbol_id=id, path=None, **asked)  # type: ignore[arg-type]


def _took(work: Any) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def _following(root: graph.OpenRoot) -> None:
    """One file's text changes: its stamp is forgotten, so that it is read, parsed and resolved again."""
    sql = "SELECT path FROM files WHERE parsed = 1 AND lines > 20 ORDER BY number LIMIT 20"
    paths = [row["path"] for row in root.store.read(lambda tx: tx.all(sql))]
    root.index.reparse(paths[:1])
    took = []
    for path in paths[1:]:
        before = time.process_time()
        root.index.reparse([path])
        took.append((time.process_time() - before) * 1000)
    line("  one changed file, p50 (CPU of the host)", percentile(took, 0.5), 100, "ms")


def _definitions(where: Path, root: graph.OpenRoot, language: str) -> None:
    counts = _code_gold.definitions(where, root.store)
    if language not in counts:
        print("  definitions: not available (ctags is not installed)")
        return
    defined, found = counts[language]
    line(f"  definitions of {defined} that ctags finds", found / defined, 0.99, "", more_is_better=True)


def _calls(where: Path, root: graph.OpenRoot, language: str) -> None:
    scip, dump = where.with_name(f"{where.name}.scip"), where.with_name(f"{where.name}.json")
    if not scip.is_file() and not dump.is_file():
        print(f"  calls: not available (no {scip.name}, no {dump.name})")
        return
    beside = where.with_name(f"{where.name}.prefix")
    prefix = beside.read_text().strip() if beside.is_file() else ""
    gold, covered = _code_gold.scip_gold(scip, prefix) if scip.is_file() else _code_gold.json_gold(dump)
    score = _code_gold.judged(root.store, gold, covered)
    precision, recall = GOALS[language]
    line(
        f"  calls: precision, {sum(score.judged.values())} judged", score.precision, precision, "", more_is_better=True
    )
    line(f"  calls: recall of {score.relevant} into the project", score.recall, recall, "", more_is_better=True)
    how, gap = score.worst_calibration()
    line(f"  confidence: largest gap ({how})", gap, 0.05, "")
    for each, count in score.judged.most_common():
        print(f"    {each:16} {count:7} judged, {score.right[each] / count:.3f} right")
    if os.environ.get("LITHOS_BENCH_SAMPLES"):
        for title, rows in (("wrong", score.wrong), ("missed", score.missed)):
            print(f"  {title}: {len(rows)}", *_code_gold.samples(rows, 12), sep="\n    ")
