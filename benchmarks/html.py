"""Main text of web pages: our extractor on selectolax beside trafilatura (where it is installed).

LITHOS_BENCH_HTML names a clone (bare or not) of adbar/trafilatura, whose `tests/evaldata.json` says of many pages
which texts belong to them and which do not. It is trafilatura's own set: it was tuned on it, ours was not.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from lithos.graph.sources.html_reader import read


def main() -> None:
    where = os.environ.get("LITHOS_BENCH_HTML", "")
    if not where or not Path(where).is_dir():
        print("pages: not available (LITHOS_BENCH_HTML names no clone of adbar/trafilatura)")
        return
    pages = judged(where)
    print(f"adbar/trafilatura at {_git(where, 'rev-parse', 'HEAD').decode()[:12]}: {len(pages)} pages")
    judge("ours, on selectolax", pages, lambda data: read(data)["pages"][0])
    try:
        import trafilatura
    except ImportError:
        print("  trafilatura: not available")
        return
    for favour in ("precision", "recall"):
        options: dict[str, Any] = {"output_format": "markdown", "include_tables": True, f"favor_{favour}": True}
        judge(f"trafilatura, {favour}", pages, lambda data, given=options: trafilatura.extract(data, **given) or "")


def _git(where: str, *command: str) -> bytes:
    return subprocess.run(["git", *command], cwd=where, capture_output=True, check=True).stdout


def judged(where: str) -> list[tuple[bytes, list[str], list[str]]]:
    """Page, texts that belong to it, texts that do not."""
    rows = orjson.loads(_git(where, "show", "HEAD:tests/evaldata.json"))
    there = set(_git(where, "ls-tree", "-r", "--name-only", "HEAD", "tests/eval").decode().splitlines())
    found = []
    for row in rows.values():
        path = f"tests/eval/{row['file']}"
        if path in there:
            found.append((_git(where, "show", f"HEAD:{path}"), row["with"], row["without"]))
    return found


def judge(name: str, pages: list[tuple[bytes, list[str], list[str]]], extract: Callable[[bytes], str]) -> None:
    right = missing = extra = failed = 0
    before = time.process_time()
    for data, wanted, unwanted in pages:
        try:
            text = " ".join(extract(data).split())
        except Exception:  # a judged extractor may fail in any way
            text, failed = "", failed + 1
        right += sum(" ".join(each.split()) in text for each in wanted)
        missing += sum(" ".join(each.split()) not in text for each in wanted)
        extra += sum(" ".join(each.split()) in text for each in unwanted)
    took = time.process_time() - before
    precision, recall = right / max(1, right + extra), right / max(1, right + missing)
    fair = 2 * precision * recall / max(1e-9, precision + recall)
    print(
        f"  {name:28} precision {precision:.3f}, recall {recall:.3f}, F1 {fair:.3f}, "
        f"{len(pages) / took:,.0f} pages per CPU second, {failed} failed"
    )


if __name__ == "__main__":
    main()
