"""Markdown texts for properties."""

from __future__ import annotations

from hypothesis import strategies as st

BLOCKS = st.sampled_from(
    [
        "plain text", "- one\n- two\n  continued", "```\n## not a heading\n```", "| a | b |\n|---|---|\n| 1 | 2 |",
        "> quoted\n> ## inside", "<!-- a comment\n## hidden\n-->", "1. first\n\n   more", "",
        "***bold***", "text\nof two",
    ]
)  # fmt: skip


NAMES = st.sampled_from(["Concerns", "Evidence", "Change Log", "Strengths", "Notes"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    parts = [draw(st.sampled_from(["", "---\nid: x\n---\n", "# Title\n\n", "\ufeff# Title\n"]))]
    for number in range(draw(st.integers(1, 5))):
        level = draw(st.integers(2, 4))
        parts.append(f"{'#' * level} {draw(NAMES)} {number}\n")
        if draw(st.booleans()):
            parts.append(f"<!-- @anchor: a{number} v1 -->\n")
        parts += [draw(BLOCKS) + "\n" for _ in range(draw(st.integers(0, 3)))]
        parts.append(draw(st.sampled_from(["", "\n"])))
    text = "".join(parts)
    text = text.rstrip("\n") if draw(st.booleans()) else text
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text
