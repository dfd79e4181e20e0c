"""How right the firewall is: verdicts on statements whose truth `ast`, jedi and git decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks._claim_sets import Statement
from lithos.graph.trust import CodeFacts, Verdict, check, claims_in


def verdict_of(text: str, facts: CodeFacts) -> str:
    found = [check(claim, facts) for claim in claims_in(text)]
    for verdict in (Verdict.CONTRADICTED, Verdict.CONFIRMED):
        if any(each.verdict is verdict for each in found):
            return str(verdict)
    return str(Verdict.UNKNOWN) if found else "no claim"


def commit_statements(repository: str, file: str) -> list[Statement]:
    """Statements after real commit messages, labelled by hand; every second one is held out."""
    lines = (Path(__file__).parent / "sets" / file).read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [
        Statement(kind="commit message", text=text, label=label, held=place % 2 == 1)
        for place, (name, label, text) in enumerate(rows)
        if name == repository
    ]


def judge(statements: Sequence[Statement], facts: CodeFacts) -> tuple[Counter[tuple[str, str, str]], list[str]]:
    """(kind, label, verdict) → how often; and the wrong ones."""
    counts: Counter[tuple[str, str, str]] = Counter()
    wrong = []
    for each in statements:
        verdict = verdict_of(each.text, facts)
        counts[each.kind, each.label, verdict] += 1
        if (verdict == "contradicted") != (each.label == "false"):
            wrong.append(f"{each.label} {verdict} {'held' if each.held else 'seen'} {each.kind}: {each.text}")
    return counts, wrong


def scores(counts: Counter[tuple[str, str, str]]) -> tuple[float, float]:
    """Precision and recall of `contradicted`."""
    alarms = sum(count for (_, _, verdict), count in counts.items() if verdict == "contradicted")
    right = sum(
        count for (_, label, verdict), count in counts.items() if verdict == "contradicted" and label == "false"
    )
    false = sum(count for (_, label, _), count in counts.items() if label == "false")
    return right / max(1, alarms), right / max(1, false)
