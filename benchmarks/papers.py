"""Papers that others wrote: questions that must find their page, and what reading them costs.

LITHOS_BENCH_PAPERS names a clone (bare or not) of papers-we-love/papers-we-love. 40 papers are those of a seed, and the
questions in `sets/paper_questions.tsv` were written from pages drawn at random, before any search was run.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.report import line
from lithos.app import Lithos, open_lithos
from lithos.settings import LithosConfig, ServerSettings, StorageSettings
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue

PAPERS, SEED, SHOWN = 40, 21, 5
QUESTIONS = Path(__file__).parent / "sets" / "paper_questions.tsv"
OPERATOR = Caller(operator=True, toolsets=("all",))


def main() -> None:
    where = os.environ.get("LITHOS_BENCH_PAPERS", "")
    if not where or not Path(where).is_dir():
        print("papers: not available (LITHOS_BENCH_PAPERS names no clone of papers-we-love)")
        return
    head = _git(where, "rev-parse", "HEAD").decode().strip()
    print(f"papers-we-love at {head[:12]}, {PAPERS} papers of seed {SEED}")
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        lithos = open_lithos(
            LithosConfig(storage=StorageSettings(data_dir=base / "data"), server=ServerSettings(watch_files=False))
        )
        try:
            lithos.embedding.start()
            paths = ingested(lithos, where, base)
            asked(lithos, paths)
        finally:
            lithos.close()


def _git(where: str, *command: str) -> bytes:
    return subprocess.run(["git", *command], cwd=where, capture_output=True, check=True).stdout


def chosen(where: str) -> list[tuple[str, str]]:
    """Path and blob of the papers, drawn at random."""
    rows = []
    for row in _git(where, "ls-tree", "-r", "-l", "-z", "HEAD").decode().split("\0"):
        about, _, path = row.partition("\t")
        if path.lower().endswith(".pdf"):
            mode, _, blob, size = about.split()
            if size != "BAD" and mode != "120000":
                rows.append((path, blob))
    random.Random(SEED).shuffle(rows)
    return rows[:PAPERS]


def ingested(lithos: Lithos, where: str, base: Path) -> dict[str, str]:
    """Id of the note → path of the paper."""
    known: dict[str, str] = {}
    counts: dict[str, int] = {}
    pages = 0
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for path, blob in chosen(where):
        file = base / Path(path).name
        file.write_bytes(_git(where, "cat-file", "blob", blob))
        found = catalogue().call(lithos, "lithos_ingest_source", {"source": str(file), "kind": "paper"}, OPERATOR)
        counts[found["status"]] = counts.get(found["status"], 0) + 1
        for each in found["sources"]:
            print(f"    {each['status']:8} {each['title']}  ({path})")
            if "id" in each:
                known[each["id"]] = path
                text = catalogue().call(lithos, "lithos_read", {"id": each["id"]}, OPERATOR)["content"]
                pages += text.count("\n## Page ")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"  read: {counts}, {pages:,} pages, {cpu:.1f} s CPU of the children with git")
    return known


def asked(lithos: Lithos, paths: dict[str, str]) -> None:
    rows = [each.split("\t") for each in QUESTIONS.read_text().splitlines() if not each.startswith("#")]
    while catalogue().call(lithos, "lithos_research", {"query": "warm up"}, OPERATOR)["degraded"]:
        time.sleep(0.5)
    at_page = at_paper = 0
    for path, page, question in rows:
        found = catalogue().call(lithos, "lithos_research", {"query": question, "depth": 1}, OPERATOR)["results"]
        places = [(paths.get(each["id"]), each["heading"]) for each in found[:SHOWN]]
        right = (path, f"Page {page}") in places
        at_page += right
        at_paper += any(place[0] == path for place in places)
        if not right and os.environ.get("LITHOS_BENCH_SAMPLES"):
            print(f"    missed: {question} ({Path(path).stem}, page {page}); shown {[each[1] for each in places]}")
    line(f"the page among the first {SHOWN} ({len(rows)} questions)", at_page / len(rows), 0.8, "", more_is_better=True)
    print(f"  the paper among the first {SHOWN}: {at_paper / len(rows):.3f}")
