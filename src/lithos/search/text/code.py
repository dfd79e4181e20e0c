"""How much of a text is program code. In code the words of a question meet names and keywords by chance."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CODE_LINE = re.compile(
    r"\s*(?:(?:async |export |public |private |protected |static |pub |default )*"
    r"(?:def|class|fn|func|function|struct|enum|impl|interface|import|from|return|raise|yield|await|package|using|const|let|var)\b.*[\w)\]}\"';:{,]"
    r"|(?:if|elif|else|for|while|try|except|finally|with|switch|case)\b.*[:{]"
    r"|[\w.\[\]'\"*&]+(?:, ?[\w.]+)* ?[-+*/|&:]?= ?\S.*"
    r"|[\w.]+\([^\s\]].*|[\w.]+\(\).*|[^|]*[{};]|[)\]}]+[,;]?|@\w[\w.]*|#include .*|//.*|/\*.*|\"\"\".*)\s*"
)
_LEAST = 3  # lines: one alone may look like code by chance


def code_share(texts: Iterable[str]) -> float:
    """The share of lines that are code; text in fences counts by its lines like any other."""
    lines = [line for text in texts for line in text.splitlines() if line.strip() and not line.startswith("```")]
    if len(lines) < _LEAST:
        return 0.0
    return sum(len(line) < 400 and _CODE_LINE.fullmatch(line) is not None for line in lines) / len(lines)
