"""Notes to measure with: real English from the documentation of the standard library, mixed by a seed."""

from __future__ import annotations

import ast
import random
import re
import sysconfig
from functools import cache
from pathlib import Path

from lithos.core.canonical import sha256_hex
from lithos.search import Document


@cache
def sentences() -> list[str]:
    found: dict[str, None] = {}
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        if "site-packages" in path.parts or "test" in path.parts or "tests" in path.parts:
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        for item in ast.walk(tree):
            if isinstance(item, (ast.FunctionDef, ast.ClassDef, ast.Module)):
                text = " ".join((ast.get_docstring(item) or "").split())
                found.update(dict.fromkeys(each for each in re.split(r"(?<=[.!?]) ", text) if 30 < len(each) < 300))
    return list(found)


def notes(count: int, seed: int = 1) -> list[Document]:
    """About 900 characters each, in two sections, with tags, authors and folders."""
    chosen, known = random.Random(seed), sentences()
    made = []
    for number in range(count):
        body = [chosen.choice(known) for _ in range(9)]
        title = " ".join(chosen.choice(known).split()[:6]).strip(".,:;")
        text = f"{' '.join(body[:4])}\n\n## {' '.join(body[8].split()[:4])}\n\n{' '.join(body[4:8])}"
        tags = tuple(sorted({f"tag{int(chosen.paretovariate(0.6)) % 300}" for _ in range(3)}))
        made.append(
            Document(
                id=f"note-{number}",
                title=title,
                text=text,
                hash=sha256_hex(text.encode())[:32],
                path=f"folder{number % 40}/note-{number}.md",
                author=f"agent-{number % 12}",
                tags=tags,
                keywords={"status": ("active",)},
                numbers={"created": 1.7e9 + number, "updated": 1.7e9 + number},
            )
        )
    return made


def questions(count: int, seed: int = 2) -> list[str]:
    """Half of a sentence that some note may have, as a question."""
    chosen, known = random.Random(seed), sentences()
    asked = []
    for _ in range(count):
        words = chosen.choice(known).split()
        asked.append("how does it " + " ".join(words[len(words) // 3 :][:9]).strip(".,;:").lower() + "?")
    return asked
