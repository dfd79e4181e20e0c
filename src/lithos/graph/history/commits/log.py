"""Reads commits and their diffs with git."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from lithos.graph.git import Git
from lithos.graph.history.commits.ranges import Hunk, hunk

TIMEOUT_S = 600.0
AT_ONCE = 1_000  # commits of one call: their ids fit into a pipe
LONGEST_BODY = 4_000
MOST_FILES = 2_000  # of one commit; a larger one (a vendored tree) is left without files
_START, _FIELD = "\x01", "\x00"
_FORMAT = "%x01%H%x00%P%x00%ct%x00%an%x00%s%x00%b%x02"
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_DEFINITION = re.compile(
    rb"[+-]\s*(?:export\s+|default\s+|public\s+|private\s+|protected\s+|static\s+|async\s+|abstract\s+|pub(?:\([a-z]+\))?\s+)*"
    rb"(?:def|class|func|fn|function|struct|interface|trait|enum|type)\s+(?:\([^)]*\)\s*)?([A-Za-z_$][\w$]*)"
)


T = TypeVar("T")


def parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


@dataclass(slots=True)
class FileDiff:
    """The change of one file by a commit; `old` is empty for a new file, `new` for one that it removed."""

    old: str
    new: str
    hunks: list[Hunk] = field(default_factory=list)
    lost: frozenset[str] = frozenset()  # names whose definition was removed and not put back


@dataclass(slots=True)
class Commit:
    sha: str
    parents: tuple[str, ...]
    at: int
    author: str
    subject: str
    body: str
    files: list[FileDiff] = field(default_factory=list)  # of a merge: how it differs from its first parent
    changed: tuple[frozenset[str], ...] = ()  # of a merge: for each other parent the paths that differ
    against: tuple[list[FileDiff], ...] = ()  # for each other parent the diffs of files that differ from all parents

    @property
    def is_merge(self) -> bool:
        return len(self.parents) > 1


@dataclass(frozen=True, slots=True)
class CommitLog:
    head: str
    commits: list[Commit]  # children before their parents
    cut_off: frozenset[str] = frozenset()  # without diffs: their parents are not here


def head_of(git: Git) -> str:
    """The commit that is checked out; empty before the first one."""
    found = git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", "--") if _has_commit(git) else b""
    return found.decode().strip()


def _has_commit(git: Git) -> bool:
    return bool(git.run("for-each-ref", "--count=1").strip() or git.run("rev-list", "-n", "1", "--all").strip())


def listed(git: Git, most: int) -> list[Commit]:
    """The newest commits without their diffs, children before parents."""
    output = git.run("log", f"-n{most}", "--topo-order", "--no-patch", f"--format={_FORMAT}", "HEAD", timeout=TIMEOUT_S)
    return [_commit(each) for each in output.decode("utf-8", "replace").split(_START)[1:]]


def _commit(text: str) -> Commit:
    head, _, _ = text.partition("\x02")
    sha, parents, at, author, subject, body = (head.split(_FIELD) + [""] * 6)[:6]
    return Commit(sha, tuple(parents.split()), int(at or 0), author, subject[:500], body.strip()[:LONGEST_BODY])


def read_commits(git: Git, most: int, known: Mapping[str, Commit]) -> CommitLog:
    """The newest commits with their diffs; those of `known` are not read again."""
    commits = listed(git, most) if head_of(git) else []
    shallow = _shallow(git)
    present = {each.sha for each in commits}
    for each in commits:
        if each.sha in shallow or (not any(parent in present for parent in each.parents) and each.parents):
            each.parents = tuple(parent for parent in each.parents if parent in present)
    missing = [each for each in commits if each.sha not in known and each.sha not in shallow]
    by_sha = {each.sha: each for each in missing}
    for sha, files in _diffs(git, [*by_sha]):
        by_sha[sha].files = files
    _read_merges(git, [each for each in missing if each.is_merge])
    for each in commits:
        if each.sha in known:
            old = known[each.sha]
            each.files, each.changed, each.against = old.files, old.changed, old.against
    return CommitLog(commits[0].sha if commits else "", commits, shallow)


def _shallow(git: Git) -> frozenset[str]:
    """Commits whose parents were cut off: git would call all of their files new."""
    path = git.git_dir / "shallow"
    return frozenset(path.read_text().split()) if path.is_file() else frozenset()


def _diffs(git: Git, shas: Sequence[str]) -> Iterator[tuple[str, list[FileDiff]]]:
    for batch in parts(shas, AT_ONCE):
        output = git.run(
            *("log", "--no-walk=unsorted", "--stdin", "-p", "-U0", "-M", "--no-color", "--diff-merges=first-parent"),
            f"--format={'%x01%H%x02'}",
            stdin="\n".join(batch).encode() + b"\n",
            timeout=TIMEOUT_S,
            most_output=1024 * 1024 * 1024,
        )
        for part in output.split(b"\x01")[1:] if b"\x01" in output else ():
            sha, end, patch = part.partition(b"\x02\n")
            if end and len(sha) in (40, 64):
                yield sha.decode(), files_of(patch)


def _read_merges(git: Git, merges: Sequence[Commit]) -> None:
    pairs = [(each, parent) for each in merges for parent in each.parents[1:]]
    changed: dict[str, list[frozenset[str]]] = {each.sha: [] for each in merges}
    for batch in parts(pairs, AT_ONCE // 2):
        for (each, _), paths in zip(batch, _names(git, batch), strict=True):
            changed[each.sha].append(paths)
    for each in merges:
        each.changed = tuple(changed[each.sha])
    for each in merges:
        own = frozenset(diff.new for diff in each.files if diff.new)
        both = sorted(own.intersection(*each.changed))[:MOST_FILES]
        if both:
            each.against = tuple(_against(git, each.sha, parent, both) for parent in each.parents[1:])


def _names(git: Git, pairs: Sequence[tuple[Commit, str]]) -> Iterator[frozenset[str]]:
    """For each merge and parent the paths that differ."""
    stdin = "".join(f"{each.sha} {parent}\n" for each, parent in pairs).encode()
    output = git.run(
        "diff-tree", "--stdin", "-r", "--always", "--name-only", "-z", stdin=stdin, timeout=TIMEOUT_S
    ).decode("utf-8", "replace")
    paths: set[str] = set()
    place = -1
    for entry in output.split("\0"):
        if place + 1 < len(pairs) and entry == pairs[place + 1][0].sha:
            if place >= 0:
                yield frozenset(paths)
            place, paths = place + 1, set()
        elif entry:
            paths.add(entry)
    if place >= 0:
        yield frozenset(paths)


def _against(git: Git, sha: str, parent: str, paths: Sequence[str]) -> list[FileDiff]:
    output = git.run("diff-tree", "-p", "-U0", "-M", "--no-color", parent, sha, "--", *paths, timeout=TIMEOUT_S)
    return files_of(output)


def working_tree(git: Git) -> list[FileDiff]:
    """How the files differ from HEAD now."""
    return files_of(git.run("diff", "-U0", "-M", "--no-color", "HEAD", "--", timeout=TIMEOUT_S))


def files_of(patch: bytes) -> list[FileDiff]:
    """The files of a patch without context lines."""
    files: list[FileDiff] = []
    reader = _PatchReader()
    lines = iter(patch.split(b"\n"))
    for line in lines:
        if line.startswith(b"diff --git "):
            if reader.current is not None:
                files.append(reader.finished())
            if len(files) > MOST_FILES:
                return []
            reader.begin(line)
        elif reader.current is not None:
            reader.take(line, lines)
    if reader.current is not None:
        files.append(reader.finished())
    return files


class _PatchReader:
    """Reads one file's part of a patch at a time; lines of hunks are counted, not guessed."""

    def __init__(self) -> None:
        self.current: FileDiff | None = None
        self._gone: set[bytes] = set()
        self._came: set[bytes] = set()

    def begin(self, line: bytes) -> None:
        old, new = _both_names(line[len(b"diff --git ") :])
        self.current, self._gone, self._came = FileDiff(old, new), set(), set()

    def take(self, line: bytes, lines: Iterator[bytes]) -> None:
        assert self.current is not None
        if line.startswith(b"@@ "):
            self._hunk(line, lines)
        elif line.startswith(b"rename from "):
            self.current.old = _name(line[12:])
        elif line.startswith(b"rename to "):
            self.current.new = _name(line[10:])
        elif line.startswith(b"new file mode"):
            self.current.old = ""
        elif line.startswith(b"deleted file mode"):
            self.current.new = ""
        elif line.startswith(b"--- ") and line != b"--- /dev/null":
            self.current.old = _name(line[4:], b"a/")
        elif line.startswith(b"+++ ") and line != b"+++ /dev/null":
            self.current.new = _name(line[4:], b"b/")

    def _hunk(self, line: bytes, lines: Iterator[bytes]) -> None:
        found = _HUNK.match(line)
        if found is None or self.current is None:
            return
        old, old_count, new, new_count = (int(each) if each is not None else 1 for each in found.groups())
        self.current.hunks.append(hunk(old, old_count, new, new_count))
        left = old_count + new_count
        while left:
            content = next(lines, None)
            if content is None:
                return
            if content.startswith(b"\\"):
                continue
            left -= 1
            if definition := _DEFINITION.match(content):
                (self._gone if content.startswith(b"-") else self._came).add(definition[1])

    def finished(self) -> FileDiff:
        assert self.current is not None
        lost = self._gone - self._came
        self.current.lost = frozenset(each.decode("utf-8", "replace") for each in lost)
        return self.current


def _both_names(text: bytes) -> tuple[str, str]:
    """Of a file without hunks: both sides bear the same name, so that the line has two equal halves."""
    half = len(text) // 2
    if text.startswith(b'"'):
        one, _, other = text.partition(b'" ')
        return _name(one + b'"', b"a/"), _name(other, b"b/")
    return _name(text[:half], b"a/"), _name(text[half + 1 :], b"b/")


def _name(text: bytes, prefix: bytes = b"") -> str:
    text = text.rstrip(b"\t")
    if text.startswith(b'"') and text.endswith(b'"') and len(text) > 1:
        text = re.sub(rb"\\([0-7]{3}|.)", _unescaped, text[1:-1])
    return text.removeprefix(prefix).decode("utf-8", "surrogateescape")


_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def _unescaped(match: re.Match[bytes]) -> bytes:
    sign = match[1]
    return bytes([int(sign, 8) & 0xFF]) if len(sign) == 3 else _ESCAPES.get(sign, sign)


def blobs(git: Git, names: Iterable[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], bytes]]:
    """The contents of `commit:path`, those that exist; `git cat-file` is asked for a few hundred at once."""
    for batch in parts([each for each in names if "\n" not in each[1]], 300):
        stdin = "".join(f"{sha}:{path}\n" for sha, path in batch).encode("utf-8", "surrogateescape")
        if len(stdin) > 60_000:
            continue
        output = git.run("cat-file", "--batch", stdin=stdin, timeout=TIMEOUT_S, most_output=1024 * 1024 * 1024)
        place = 0
        for name in batch:
            end = output.index(b"\n", place)
            header = output[place:end].rsplit(b" ", 2)
            if len(header) == 3 and header[1] == b"blob":
                size = int(header[2])
                yield name, output[end + 1 : end + 1 + size]
                place = end + 1 + size + 1
            else:  # "… missing"
                place = end + 1
