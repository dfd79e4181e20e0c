"""Questions about a Python repository whose answers are known: from `ast`, `git log` and the headings of its docs.

And the way without a graph: search the question's words, read ±40 lines around the five best lines.
"""

from __future__ import annotations

import ast
import random
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks._claim_sets import _Facts, _plain_calls, _read, _unique

AROUND = 40
BEST = 5
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "the is a an of to in what where which how does do did we calls call file find show me work this has "
        "when why changed handle was solution for",
    )
)


@dataclass(frozen=True)
class Asked:
    intent: str
    question: str
    again: str  # the same question in other words
    expected: tuple[str, ...]  # texts that a right answer holds, all of them


def questions(repository: Path, package: str, each_kind: int, seed: int = 7) -> list[Asked]:
    """`each_kind` questions of each: LOCATE, CALLERS, SUBCLASSES, EXPLAIN, ACTIVITY, HISTORICAL; fewer where there are
    fewer."""
    facts, chance = _read(repository, package), random.Random(seed)
    functions, classes = _unique(facts, chance)
    found: list[Asked] = []
    for one in [*functions[: each_kind // 2], *classes[: each_kind - each_kind // 2]]:
        kind = "class" if isinstance(one.node, ast.ClassDef) else "function"
        expected = (one.path, one.name)
        found.append(Asked("LOCATE", f"where is {one.name} defined", f"find the {one.name} {kind}", expected))
    found += list(_callers(facts.functions, facts.names, each_kind, chance))
    found += list(_subclasses(facts, each_kind, chance))
    documented = [one for one in functions if len((ast.get_docstring(one.node) or "").partition("\n")[0]) > 20]
    for one in documented[:each_kind]:
        first = (ast.get_docstring(one.node) or "").partition("\n")[0].strip()
        found.append(Asked("EXPLAIN", f"what does {one.name} do", f"explain {one.name}", (first[:60],)))
    log = _log(repository)
    found += list(_commits(log, [*functions, *classes], each_kind))
    found += list(_reasons(log, each_kind, chance))
    return found


def _callers(functions: list, names: Counter[str], count: int, chance: random.Random) -> Iterator[Asked]:  # type: ignore[type-arg]
    """Functions of one file that call another of it by its plain name; a function with one to four such callers."""
    at_top = {(each.path, each.name) for each in functions if not each.is_method and names[each.node.name] == 1}
    called: dict[tuple[str, str], set[str]] = defaultdict(set)
    for each in functions:
        for name in _plain_calls(each.node):
            if (each.path, name) in at_top and name != each.name:
                called[each.path, name].add(each.node.name)
    usable = sorted((key, callers) for key, callers in called.items() if len(callers) <= 4)
    chance.shuffle(usable)
    for (_, name), callers in usable[:count]:
        yield Asked("CALLERS", f"what calls {name}", f"find all callers of {name}", tuple(sorted(callers)))


def _subclasses(facts: _Facts, count: int, chance: random.Random) -> Iterator[Asked]:
    """Classes of the repository, tests too, that name a unique class as their base; one with one to four of them."""
    below: dict[str, set[str]] = defaultdict(set)
    for each in facts.every_class:
        for base in each.bases:
            if isinstance(base, ast.Name):  # `urllib.request.Request` is another class
                below[base.id].add(each.name)
    _, classes = _unique(facts, chance)
    for one in [each for each in classes if 1 <= len(below[each.name]) <= 4][:count]:
        expected = tuple(sorted(below[one.name]))
        yield Asked("SUBCLASSES", f"which classes extend {one.name}", f"find all subclasses of {one.name}", expected)


@dataclass(frozen=True)
class _Commit:
    sha: str
    subject: str
    text: str  # as an agent reads it: a line with date and subject, then the message


def _log(repository: Path) -> list[_Commit]:
    """The newest 5,000 commits, as many as Lithos reads by default."""
    shape = "--format=%h%x09%s%x09%as %an%x09%b%x01"
    command = ["git", "log", "-5000", "--abbrev=8", shape]
    output = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True).stdout
    found = []
    for record in output.split("\x01"):
        sha, _, rest = record.strip("\n").partition("\t")
        subject, _, rest = rest.partition("\t")
        about, _, body = rest.partition("\t")
        if sha:
            found.append(_Commit(sha, subject, f"{sha} {about} {subject}\n{body.strip()}".strip()))
    return found


def _commits(log: list[_Commit], named: list, count: int) -> Iterator[Asked]:  # type: ignore[type-arg]
    """Functions and classes that one to three subjects of commits name: the question asks for the newest of these."""
    by_word: dict[str, list[_Commit]] = defaultdict(list)
    for commit in log:
        for word in set(re.findall(r"[^\W\d]\w{5,}", commit.subject)):
            by_word[word].append(commit)
    for one in [each for each in named if 1 <= len(by_word.get(each.node.name, [])) <= 3][:count]:
        name, text = one.node.name, re.sub(r"^\S+ #\d+ -- ", "", by_word[one.node.name][0].subject)[:50]
        yield Asked("ACTIVITY", f"what changed in {name}", f"what has happened with {name}", (text,))


def _reasons(log: list[_Commit], count: int, chance: random.Random) -> Iterator[Asked]:
    """Commits with a message: the question has the words of the subject, the answer names the commit."""
    usable = []
    for commit in log:
        plain = re.sub(r"\s*\(#\d+\)$", "", re.sub(r"^[A-Z]\w+ (?:#|CVE)[^-]*\S* -- ", "", commit.subject)).strip(" .")
        words = plain.split()
        if 5 <= len(words) <= 12 and len(commit.text.splitlines()) > 3 and not commit.subject.startswith("Merge"):
            usable.append((commit.sha, " ".join(words[1:]).lower()))
    texts = Counter(text for _, text in usable)
    unique = [pair for pair in usable if texts[pair[1]] == 1]
    chance.shuffle(unique)
    for sha, text in unique[:count]:
        yield Asked("HISTORICAL", f"how did we handle {text}", f"what was the solution for {text}", (sha,))


def documents(repository: Path) -> list[Path]:
    """Pages of documentation that both ways may read."""
    folder = repository / "docs" / "topics" if (repository / "docs" / "topics").is_dir() else repository / "docs"
    return sorted(path for path in folder.rglob("*") if path.suffix in (".md", ".txt"))[:60]


def headings(repository: Path, count: int, seed: int = 7) -> list[Asked]:
    """Sections of the docs: the question names the heading, the answer is how its text begins."""
    found: list[tuple[str, str]] = []
    for path in documents(repository):
        lines = path.read_text(encoding="utf-8").splitlines()
        for place, text in enumerate(lines[:-2]):
            below = lines[place + 1]
            underlined = bool(text.strip()) and len(below) >= 4 and set(below) <= set("=-~") and len(set(below)) == 1
            title = text.lstrip("# ").strip() if re.match(r"#{2,4} \w", text) else text.strip() if underlined else ""
            rest = " ".join(lines[place + (2 if underlined else 1) : place + 12]).strip()
            first = re.match(r"[A-Z][^.:`*\[<|]{40,}", rest)
            if first and 2 <= len(title.split()) <= 6 and re.fullmatch(r"[A-Za-z][\w -]+", title):
                found.append((title, first.group()[:40]))
    names = Counter(title.lower() for title, _ in found)
    unique = [row for row in found if names[row[0].lower()] == 1]
    random.Random(seed).shuffle(unique)
    return [
        Asked("RESEARCH", f"what do the docs recommend for {title}", f"what is recommended for {title}", (text,))
        for title, text in unique[:count]
    ]


@dataclass
class Grep:
    """All lines of some texts, found by words."""

    lines: dict[str, list[str]] = field(default_factory=dict)
    index: dict[str, list[tuple[str, int]]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, repository: Path) -> Grep:
        """The text files of a repository."""
        made = cls()
        listed = subprocess.run(["git", "ls-files"], cwd=repository, capture_output=True, text=True, check=True).stdout
        for path in listed.splitlines():
            file = repository / path
            if file.suffix in (".py", ".txt", ".md", ".rst", ".toml", ".cfg") and file.is_file():
                made.add(path, file.read_text(encoding="utf-8", errors="replace").splitlines())
        return made

    @classmethod
    def of_log(cls, repository: Path) -> Grep:
        """The output of `git log`: what one searches for questions about the past."""
        made = cls()
        made.add("git log", "\n".join(commit.text for commit in _log(repository)).splitlines())
        return made

    def add(self, path: str, lines: list[str]) -> None:
        self.lines[path] = lines
        for number, text in enumerate(lines):
            for word in set(re.findall(r"[^\W\d]\w+", text.lower())):
                self.index[word].append((path, number))

    def read(self, question: str) -> tuple[str, list[str]]:
        """(what an agent would read, the files of it): by the lines that hold most words, rare words first."""
        words = [word for word in re.findall(r"[^\W\d]\w+", question.lower()) if word not in _COMMON]
        scores: Counter[tuple[str, int]] = Counter()
        for word in words:
            places = self.index.get(word, [])
            for place in places:
                scores[place] += 1_000 // (len(places) + 10) + 1
        best = [place for place, _ in scores.most_common(BEST)]
        windows: dict[str, set[int]] = defaultdict(set)
        for path, number in best:
            windows[path].update(range(max(0, number - AROUND), number + AROUND + 1))
        parts = []
        for path, numbers in windows.items():
            lines = self.lines[path]
            parts.append("\n".join([path, *(lines[number] for number in sorted(numbers) if number < len(lines))]))
        return "\n".join(parts), list(windows)
