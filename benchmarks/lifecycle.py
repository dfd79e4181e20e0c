"""The cost of the note lifecycle: on a write, on a search, and a run of decay; each beside the same without it."""

from __future__ import annotations

import random
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.report import line, milliseconds, percentile
from lithos.app import Lithos, open_lithos
from lithos.notes import ScopeRequest, WriteChecks
from lithos.search import Where
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.catalogue import catalogue

NOTES = 10_000
WRITES = 60
QUERIES = 120
WORDS = [f"{stem}{number}" for stem in ("alpha", "beta", "gamma", "delta", "sigma") for number in range(400)]


def text(chance: random.Random, words: int = 120) -> str:
    return " ".join(chance.choices(WORDS, k=words))


def fill(folder: Path, chance: random.Random) -> None:
    """Files as people would have them; a tenth has lifecycle fields."""
    top = folder / "knowledge"
    top.mkdir(parents=True)
    for number in range(NOTES):
        life = "status: superseded\nsuperseded_at: 2026-01-01\n" if number % 20 == 0 else ""
        life += "ttl_policy: decay\nexpires_at: 2999-01-01\n" if number % 20 == 1 else ""
        front = f"title: note {number}\ncreated_at: 2025-06-01\n{life}"
        (top / f"note-{number}.md").write_text(f"---\n{front}---\n\n# note {number}\n\n{text(chance)}\n")


def measure_writes(lithos: Lithos, chance: random.Random) -> None:
    """Turn about, so that all three see the same machine."""
    vault = lithos.notes.vault
    full = vault.checks
    kinds: dict[str, tuple[WriteChecks, dict[str, str]]] = {
        "plain": (replace(full, similar=lambda title, content, own_id: []), {}),
        "life": (replace(full, similar=lambda title, content, own_id: []), {"ttl_policy": "decay", "claim_id": "c"}),
        "alike": (full, {"ttl_policy": "decay", "claim_id": "c"}),
    }
    spent: dict[str, list[float]] = {kind: [] for kind in kinds}
    for number in range(WRITES):
        for kind, (checks, fields) in kinds.items():
            vault.checks = checks
            wish = {"title": f"{kind} {number}", "content": text(chance), "agent": "bench", **fields}
            wish |= {"merge_key": f"{kind} {number}"} if fields else {}
            spent[kind].append(milliseconds(lambda wish=wish: catalogue().call(lithos, "lithos_write", wish)))
    vault.checks = full
    plain, life, alike = (percentile(spent[kind], 0.5) for kind in ("plain", "life", "alike"))
    line("a write with fields of life, beside a plain one, p50", life, plain + 1, "ms")
    line(f"and with near-duplicates among {NOTES:,} notes, p50", alike, plain + 4, "ms")


def measure_search(lithos: Lithos, chance: random.Random) -> None:
    questions = [" ".join(chance.choices(WORDS, k=4)) for _ in range(QUERIES)]
    search, every = lithos.note_search, ScopeRequest(status="all")
    plain: list[float] = []
    filtered: list[float] = []
    then: list[float] = []
    for question in questions:
        plain.append(milliseconds(lambda: search.words(question, 10, Where(), every)))  # noqa: B023 run at once
        for spent, scope in ((filtered, ScopeRequest()), (then, ScopeRequest(as_of="2025-12-01"))):
            spent.append(milliseconds(lambda: search.words(question, 10, Where(), scope)))  # noqa: B023 run at once
    limit = percentile(plain, 0.5) * 1.2
    line("search of what counts now (≤ 120% of unfiltered), p50", percentile(filtered, 0.5), limit, "ms")
    line("search as of a day (≤ 120% of unfiltered), p50", percentile(then, 0.5), limit, "ms")


def measure_decay(lithos: Lithos) -> None:
    took = milliseconds(lambda: catalogue().call(lithos, "lithos_decay", {"dry_run": True, "agent": "bench"}))
    line(f"decay that finds nothing among {NOTES:,} notes", took, 1000 * NOTES / 100_000, "ms")
    later = {"as_of": "2999-06-01", "dry_run": True, "agent": "bench"}
    took = milliseconds(lambda: catalogue().call(lithos, "lithos_decay", later))
    line(f"decay that finds {NOTES // 20:,}", took, 1000 * NOTES / 100_000, "ms")


def main() -> None:
    folder, chance = Path(tempfile.mkdtemp(prefix="bench-life-")), random.Random(7)
    fill(folder, chance)
    lithos = open_lithos(LithosConfig(storage=StorageSettings(data_dir=folder)))
    try:
        lithos.embedding.pause()
        lithos.notes.reindex()
        lithos.note_search.words(WORDS[0], 10, Where())
        measure_search(lithos, chance)
        measure_writes(lithos, chance)
        measure_decay(lithos)
    finally:
        lithos.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
