"""Commits of today's symbols: the same as `git log -L` says, on histories with branches, renames and merges."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from lithos.graph.git import Git
from lithos.graph.history.commits import Tracked, read_commits, track
from lithos.graph.history.commits.log import working_tree
from lithos.graph.model import KnowledgeEdge
from tests.support.code_repos import git, repository, write


def source(functions: dict[str, int]) -> str:
    """Each function is a few lines whose text depends on its number."""
    return "\n\n".join(
        f"def {name}(x):\n" + "\n".join(f"    x += {number * 31 + line}" for line in range(3)) + "\n    return x\n"
        for name, number in functions.items()
    )


def spans(text: str) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    lines = text.split("\n")
    for place, line in enumerate(lines, 1):
        if line.startswith("def "):
            end = next(n for n in range(place, len(lines) + 1) if lines[n - 1].startswith("    return"))
            found[line[4:].partition("(")[0]] = (place, end + 1)
    return found


class Story:
    """A repository that grows by random commits, on branches that are merged again."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.folder = repository(folder, {"a.py": source({f"f{n}": n for n in range(6)}), "b.py": source({"g": 0})})
        self.path = "a.py"
        self.made = 6

    def functions(self) -> dict[str, str]:
        text = (self.folder / self.path).read_text()
        parts = [part for part in text.split("\n\n") if part.strip()]
        return {part.strip()[4:].partition("(")[0]: part.strip() for part in parts}

    def change(self) -> None:
        known = self.functions()
        what = self.chance.choice(["edit", "edit", "edit", "add", "remove", "swap", "rename"])
        name = self.chance.choice(sorted(known))
        if what == "edit":
            lines = known[name].split("\n")
            at = self.chance.randrange(1, len(lines) - 1)
            lines[at : at + self.chance.randint(0, 1)] = [f"    x -= {self.chance.random()}"]
            known[name] = "\n".join(lines)
        elif what == "add":
            self.made += 1
            known[f"f{self.made}"] = source({f"f{self.made}": self.made}).strip()
        elif what == "remove" and len(known) > 3:
            del known[name]
        elif what == "swap":
            names = self.chance.sample(sorted(known), len(known))
            known = {each: known[each] for each in names}
        elif what == "rename" and self.chance.random() < 0.3:
            to = f"m{self.chance.randrange(1000)}.py"
            git(self.folder, "mv", self.path, to)
            self.path = to
        (self.folder / self.path).write_text("\n\n".join(known.values()) + "\n")
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-q", "--allow-empty", "-m", f"{what} {name}")

    def branch(self, number: int) -> None:
        """Two lines of work; where they clash, the merge takes ours and adds a line."""
        before = self.path
        git(self.folder, "checkout", "-q", "-b", f"side{number}")
        self.change()
        side = self.path
        git(self.folder, "checkout", "-q", "main")
        self.path = before
        write(self.folder, {f"other{number}.py": source({"h": number})})
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-q", "-m", "beside")
        if self.chance.random() < 0.5:
            self.change()
        if self.path == before == side:
            try:
                git(self.folder, "merge", "-q", "--no-edit", f"side{number}")
            except subprocess.CalledProcessError:  # both sides changed it
                git(self.folder, "checkout", "-q", "--ours", ".")
                git(self.folder, "add", "-A")
                git(self.folder, "commit", "-q", "-m", "merged by hand")


@pytest.mark.parametrize("seed", range(6))
def test_the_commits_of_a_function_are_those_of_git_log(tmp_path: Path, seed: int) -> None:
    story = Story(tmp_path / "repo", seed)
    for number in range(12):
        story.branch(number) if number % 4 == 3 else story.change()
    (story.folder / story.path).write_text("# not committed\n\n" + (story.folder / story.path).read_text())
    found_git = Git.find(story.folder)
    assert found_git is not None
    log = read_commits(found_git, 1000, {})
    now = spans((story.folder / story.path).read_text())
    touches: dict[str, set[str]] = {name: set() for name in now}
    for each in track(log.commits, working_tree(found_git), [Tracked(story.path, now)]):
        if each.symbol:
            touches[each.symbol].add(each.sha)
    committed = spans(git(story.folder, "show", f"HEAD:{story.path}"))
    for name, (start, end) in committed.items():
        said = git(story.folder, "log", "-s", "--format=%H", f"-L{start},{end - 1}:{story.path}")
        assert touches[name] == set(said.split()), name


def test_a_commit_makes_changes_and_removes_and_a_rename_is_followed(tmp_path: Path) -> None:
    folder = repository(tmp_path / "repo", {"a.py": source({"f": 1})})
    write(folder, {"a.py": source({"f": 1, "g": 2})})
    git(folder, "commit", "-qam", "add g")
    git(folder, "mv", "a.py", "b.py")
    git(folder, "commit", "-qam", "move")
    write(folder, {"b.py": source({"g": 3})})
    git(folder, "commit", "-qam", "change g, drop f")
    found = Git.find(folder)
    assert found is not None
    log = read_commits(found, 10, {})
    names = {each.sha: each.subject for each in log.commits}
    touches = track(log.commits, [], [Tracked("b.py", spans(source({"g": 3})))])
    said = {(names[each.sha], each.symbol, each.edge) for each in touches}
    assert ("add g", "g", KnowledgeEdge.CREATED) in said
    assert ("change g, drop f", "g", KnowledgeEdge.MODIFIED) in said
    assert ("first", "", KnowledgeEdge.CREATED) in said  # the file, under its first name
    (last,) = [each for each in log.commits if each.subject == "change g, drop f"]
    assert last.files[0].lost == {"f"}


def test_a_second_reading_takes_only_what_is_new_and_forgets_what_was_rewritten(tmp_path: Path) -> None:
    folder = repository(tmp_path / "repo", {"a.py": source({"f": 1})})
    found = Git.find(folder)
    assert found is not None
    first = read_commits(found, 10, {})
    git(folder, "commit", "-q", "--amend", "-m", "first, better")
    write(folder, {"a.py": source({"f": 2})})
    git(folder, "commit", "-qam", "second")
    again = read_commits(found, 10, {each.sha: each for each in first.commits})
    fresh = read_commits(found, 10, {})
    assert [each.subject for each in again.commits] == ["second", "first, better"]
    assert again.commits == fresh.commits
