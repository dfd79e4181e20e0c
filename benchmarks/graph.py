"""The graph: how right the firewall is, and what an answer costs in time.

LITHOS_BENCH_REPOS names a folder with checkouts of `django`, `httpx`, `click`, `requests` and `werkzeug`.
Statements and questions come from `ast`, jedi
(where it is installed) and git; see `_claim_sets` and `_answer_sets`.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

from benchmarks._answer_sets import questions
from benchmarks._claim_sets import Statement, statements
from benchmarks._claims import commit_statements, judge, scores
from benchmarks._graph_memory import memory_of
from benchmarks.report import line, milliseconds, percentile
from lithos.app import Lithos
from lithos.core.call import Call
from lithos.graph import code as code_graph
from lithos.graph import trust
from lithos.search import open_embedder
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue

REPOSITORIES = {"httpx": "httpx", "django": "django"}
BLIND = (
    ("click", "commit_statements_3.tsv"),
    ("requests", "commit_statements_4.tsv"),
    ("werkzeug", "commit_statements_5.tsv"),
)
STATEMENTS = 200
OPERATOR = Caller(operator=True)


def main() -> None:
    folder = os.environ.get("LITHOS_BENCH_REPOS", "")
    for name, package in REPOSITORIES.items():
        where = Path(folder) / name
        if not folder or not where.is_dir():
            print(f"{name}: not available (LITHOS_BENCH_REPOS names no folder that has it)")
            continue
        with memory_of(where, model=False) as lithos:
            status = code_graph.root_status(lithos.code.roots()[0])
            print(f"{name}: {status['symbols']} symbols, {status['edges']} edges")
            _firewall(lithos, statements(where, package, STATEMENTS), "from ast, jedi and git")
            _firewall(lithos, commit_statements(name, "commit_statements.tsv"), "after commit messages")
            _firewall(lithos, commit_statements(name, "commit_statements_2.tsv"), "after other commit messages")
            _firewall(
                lithos, commit_statements(name, "commit_statements_5.tsv"), "after commit messages, not by the author"
            )
            _times(lithos, [each.question for each in questions(where, package, 20)])
            _conflicts(lithos)
    _blind(folder)


def _blind(folder: str) -> None:
    """Repositories that no rule was fitted to before their statements were written."""
    for name, file in BLIND:
        where = Path(folder) / name
        if folder and where.is_dir():
            with memory_of(where, model=False) as lithos:
                print(name)
                _firewall(lithos, commit_statements(name, file), "after commit messages")


def _firewall(lithos: Lithos, said: list[Statement], origin: str) -> None:
    facts = code_graph.GraphFacts(lithos.code, lithos.code.roots())
    for held in (False, True):
        part = [each for each in said if each.held is held]
        if not part:
            continue
        before = time.process_time()
        counts, wrong = judge(part, facts)
        spent = (time.process_time() - before) * 1000 / len(part)
        precision, recall = scores(counts)
        name = "held out" if held else "looked at"
        labels = Counter(each.label for each in part)
        print(f"  firewall, {origin}, {name}: {len(part)} statements {dict(labels)}, {spent:.2f} ms CPU each")
        line(f"  firewall, {name}: precision of contradicted", precision, 0.97, "", more_is_better=True)
        line(f"  firewall, {name}: recall of contradicted", recall, 0.8, "", more_is_better=True)
        if os.environ.get("LITHOS_BENCH_SAMPLES") and not held:
            print(*(f"    {each}" for each in wrong), sep="\n")


def _times(lithos: Lithos, asked: list[str]) -> None:
    """Cold: the cache is cleared before. Warm: the same question again. Beside the bare model's time for a question."""

    spent: list[float] = []

    def ask(query: str) -> float:
        before = time.process_time()
        took = milliseconds(lambda: catalogue().call(lithos, "lithos_ask", {"query": query}, OPERATOR))
        spent.append((time.process_time() - before) * 1000)
        return took

    for query in asked[:5]:
        ask(query)
    lithos.answers.cache.clear()
    spent.clear()
    cold = [ask(query) for query in asked]
    print(f"  a whole answer: CPU p50 {percentile(spent, 0.5):.1f} ms, p95 {percentile(spent, 0.95):.1f} ms")
    warm, levels = [], Counter[str]()
    call = Call("benchmark", operator=True)
    for query in asked:
        levels[lithos.answers.ask(call, query, 1_500, None, allow_llm=False, explain=False)["level"]] += 1
        warm.append(ask(query))
    embedder = open_embedder("all-MiniLM-L6-v2")
    embedder.embed("warm up")
    print(f"  from the cache: CPU p50 {percentile(spent[len(cold) :], 0.5):.2f} ms")
    bare = percentile([milliseconds(embedder.embed, query) for query in asked], 0.5)
    print(f"  again: {dict(levels)}; the bare model takes {bare:.2f} ms for a question")
    line("  a whole answer, p50", percentile(cold, 0.5), 25, "ms")
    line("  a whole answer, p95", percentile(cold, 0.95), 60, "ms")
    line("  a whole answer, multiple of the bare model", percentile(cold, 0.5) / bare, 280 / 3.5, "x")
    line("  an answer from the cache, with the tool call, p50", percentile(warm, 0.5), 1, "ms")


def _conflicts(lithos: Lithos) -> None:
    tools = ("Redis", "Memcached", "Valkey", "DynamoDB", "etcd")
    said = [
        trust.Statement(
            f"t{n}", "history", f"We use {tools[n % 5]} for job{n % 10}. It went well in week {n}.", n * 1e5
        )
        for n in range(50)
    ]
    facts = code_graph.GraphFacts(lithos.code, lithos.code.roots())
    first = milliseconds(lambda: trust.detect_conflicts(said, facts))
    checks = {each.id: [trust.check(claim, facts) for claim in trust.claims_in(each.text)] for each in said}
    took = [milliseconds(lambda: trust.detect_conflicts(said, facts, checks)) for _ in range(20)]
    print(f"  conflicts among 50 nodes that were never read: {first:.1f} ms")
    line("  conflicts among 50 nodes with stored verdicts, p50", percentile(took, 0.5), 5, "ms")
