"""Tokens and answers of lithos_ask beside search-and-read, per intent, cold and warm.

LITHOS_BENCH_REPOS names a folder with checkouts of `httpx`, `click` and `django`.
Tokens are counted with cl100k ranks from the
package rs-bpe (`pip install rs-bpe`; nothing is downloaded), else by four bytes, and the output says which.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from benchmarks._answer_sets import Asked, Grep, documents, headings, questions
from benchmarks._graph_memory import memory_of, settle
from benchmarks.report import line
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue

REPOSITORIES = {"httpx": ("httpx", 20), "click": ("src/click", 20), "django": ("django", 30)}  # package, questions each
PAST = ("ACTIVITY", "HISTORICAL")  # without a graph one searches `git log` for these
OPERATOR = Caller(operator=True)


def main() -> None:
    folder = os.environ.get("LITHOS_BENCH_REPOS", "")
    count, name = tokenizer()
    print(f"  tokens by {name}")
    for repository, (package, each_kind) in REPOSITORIES.items():
        where = Path(folder) / repository
        if not folder or not where.is_dir():
            print(f"{repository}: not available (LITHOS_BENCH_REPOS names no folder that has it)")
            continue
        _measure(where, package, each_kind, count)


def tokenizer() -> tuple[Callable[[str], int], str]:
    try:
        from rs_bpe.bpe import openai
    except ImportError:
        return (lambda text: -(-len(text.encode()) // 4)), "four bytes each (rs-bpe is not installed)"
    ranks = openai.cl100k_base()
    return (lambda text: int(ranks.count(text))), "cl100k_base of rs-bpe"


def _measure(where: Path, package: str, each_kind: int, tokens: Callable[[str], int]) -> None:
    asked = [*questions(where, package, each_kind), *headings(where, each_kind)]
    search = Search(Grep.of(where), Grep.of_log(where), tokens)
    with memory_of(where, model=package == "httpx") as lithos:
        for path in documents(where):
            given = {
                "source": str(path),
                "kind": "documentation",
                "title": str(path.relative_to(where)),
                "agent": "ann",
            }
            catalogue().call(lithos, "lithos_ingest_source", given, OPERATOR)
        settle(lithos)
        print(f"{where.name}: {len(asked)} questions")

        def ask(query: str) -> dict[str, Any]:
            return catalogue().call(lithos, "lithos_ask", {"query": query}, OPERATOR)

        _report(asked, ask, search, tokens)


class Search:
    """The way without a graph, and what it costs."""

    def __init__(self, files: Grep, log: Grep, tokens: Callable[[str], int]) -> None:
        self._files, self._log, self._tokens = files, log, tokens
        self._whole: dict[str, int] = {}

    def read(self, asked: Asked) -> tuple[str, int]:
        """What one reads, and the tokens of the whole files that it is from."""
        texts = self._log if asked.intent in PAST else self._files
        read, paths = texts.read(asked.question)
        for path in paths:
            if path not in self._whole:
                self._whole[path] = self._tokens("\n".join(texts.lines[path]))
        return read, sum(self._whole[path] for path in paths)


def _report(
    asked: list[Asked], ask: Callable[[str], dict[str, Any]], search: Search, tokens: Callable[[str], int]
) -> None:
    sums: dict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for each in asked:
        cold, warm = ask(each.question), ask(each.again)
        read, whole = search.read(each)
        row = sums[each.intent]
        row["questions"] += 1
        row["cold"] += tokens(orjson.dumps(cold).decode())  # as it is on the wire
        row["warm"] += tokens(orjson.dumps(warm).decode())
        row["hits"] += warm["level"] == "cache"
        row["read"] += tokens(read)
        row["whole"] += whole
        row["right"] += _holds(f"{cold['answer']}\n{cold['sources']}", each)
        row["right again"] += _holds(f"{warm['answer']}\n{warm['sources']}", each)
        row["right read"] += _holds(read, each)
        if os.environ.get("LITHOS_BENCH_SAMPLES") and not _holds(f"{cold['answer']}\n{cold['sources']}", each):
            print("    missed:", each.question, each.expected, "|", cold["answer"][:200].replace("\n", " / "))
    for intent, row in sums.items():
        number = row["questions"]
        per = {name: value / number for name, value in row.items()}
        print(
            f"  {intent:9} {int(number)} questions; answer {per['cold']:,.0f} tokens, again "
            f"{per['warm']:,.0f} ({per['hits']:.2f} from the cache); search and read "
            f"{per['read']:,.0f}, whole files {per['whole']:,.0f}; right {per['right']:.3f}, "
            f"again {per['right again']:.3f}, search and read {per['right read']:.3f}"
        )
        line(f"  {intent}: share of tokens saved, cold", 1 - row["cold"] / row["read"], 0.85, "", more_is_better=True)
        line(f"  {intent}: share of tokens saved, warm", 1 - row["warm"] / row["read"], 0.85, "", more_is_better=True)
        line(
            f"  {intent}: right answers",
            row["right"] / number,
            row["right read"] / number or 0.001,
            "",
            more_is_better=True,
        )


def _holds(text: str, asked: Asked) -> bool:
    plain = " ".join(text.split())
    return all(" ".join(each.split()) in plain for each in asked.expected)
