"""From commits to the code that is there now: lines of today's symbols are carried back through the history.

One pass from the newest commit to the oldest for all symbols at once. At a merge each symbol follows the first parent
from which its lines did not change, as `git log -L` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lithos.graph.history.commits.log import Commit, FileDiff
from lithos.graph.history.commits.ranges import Ranges, push_back, union
from lithos.graph.model import KnowledgeEdge

FILE = ""  # the name of the file itself among its symbols; its range is all of it
Lines = dict[str, Ranges | None]  # symbol → its lines
State = dict[str, dict[tuple[str, str], Ranges | None]]  # path then → (path now, symbol) → lines then


@dataclass(frozen=True, slots=True)
class Tracked:
    """The symbols of one file of today."""

    path: str
    symbols: Mapping[str, tuple[int, int]]  # name within the file → first line, one past the last


@dataclass(frozen=True, slots=True)
class Touch:
    """A commit touched a symbol of today."""

    sha: str
    path: str
    symbol: str
    edge: KnowledgeEdge


def track(commits: Sequence[Commit], local: Sequence[FileDiff], files: Iterable[Tracked]) -> Iterator[Touch]:
    """`local`: how the files differ from the newest commit, not committed yet."""
    if not commits:
        return
    state: State = {}
    for each in files:
        lines: dict[tuple[str, str], Ranges | None] = {(each.path, FILE): None}
        lines.update({((each.path, name)): (span,) for name, span in each.symbols.items()})
        state[each.path] = lines
    for _ in _through("", local, state):
        pass
    states: dict[str, State] = {commits[0].sha: state}
    listed = {each.sha for each in commits}
    for commit in commits:
        here = states.pop(commit.sha, None)
        if not here:
            continue
        if commit.is_merge:
            yield from _through_merge(commit, here, states, listed)
            continue
        yield from _through(commit.sha, commit.files, here)
        if commit.parents and commit.parents[0] in listed:
            _join(states, commit.parents[0], here)


def _through(sha: str, files: Sequence[FileDiff], state: State) -> Iterator[Touch]:
    """Carry the state from a commit to its parent, in place; what the commit touched."""
    moved: list[tuple[str, dict[tuple[str, str], Ranges | None]]] = []
    for each in files:
        lines = state.pop(each.new, None) if each.new else None
        if lines is None:
            continue
        before: dict[tuple[str, str], Ranges | None] = {}
        for (path, name), ranges in lines.items():
            if ranges is None:
                yield Touch(sha, path, name, KnowledgeEdge.MODIFIED if each.old else KnowledgeEdge.CREATED)
                if each.old:
                    before[path, name] = None
                continue
            touched, left = push_back(ranges, each.hunks) if each.old else (True, ())
            if touched:
                yield Touch(sha, path, name, KnowledgeEdge.MODIFIED if left else KnowledgeEdge.CREATED)
            if left:
                before[path, name] = left
        if before:
            moved.append((each.old, before))
    for path, lines in moved:
        _add(state, path, lines)


def _through_merge(commit: Commit, state: State, states: dict[str, State], listed: set[str]) -> Iterator[Touch]:
    """Each symbol follows the first parent from which its lines did not change; if there is none, all of them."""
    parts: list[State] = [{} for _ in commit.parents]
    for diff in commit.files:
        lines = state.pop(diff.new, None) if diff.new else None
        for (now, name), ranges in (lines or {}).items():
            ways = [_way(ranges, diff), *_other_ways(commit, diff.new, ranges)]
            same = next((number for number, way in enumerate(ways) if not way[0]), None)
            if same is None and ranges is not None:
                yield Touch(commit.sha, now, name, KnowledgeEdge.MODIFIED)
            for number, (_, path, left) in enumerate(ways):
                if path and left != () and same in (None, number):
                    _add(parts[number], path, {(now, name): left})
    for path, lines in parts[0].items():
        _add(state, path, lines)
    parts[0] = state
    for parent, part in zip(commit.parents, parts, strict=True):
        if part and parent in listed:
            _join(states, parent, part)


Way = tuple[bool, str, Ranges | None]  # changed since a parent, path there, lines there


def _way(ranges: Ranges | None, diff: FileDiff | None) -> Way:
    if diff is None or not diff.old:
        return True, "", ()
    if ranges is None:
        return True, diff.old, None
    touched, left = push_back(ranges, diff.hunks)
    return touched, diff.old, left


def _other_ways(commit: Commit, path: str, ranges: Ranges | None) -> Iterator[Way]:
    for number, changed in enumerate(commit.changed):
        if path not in changed:
            yield False, path, ranges
            continue
        against = commit.against[number] if number < len(commit.against) else []
        yield _way(ranges, next((each for each in against if each.new == path), None))


def _join(states: dict[str, State], sha: str, state: State) -> None:
    known = states.get(sha)
    if known is None:
        states[sha] = state
        return
    if len(known) < len(state):
        known, state = state, known
        states[sha] = known
    for path, lines in state.items():
        _add(known, path, lines)


def _add(state: State, path: str, lines: dict[tuple[str, str], Ranges | None]) -> None:
    known = state.get(path)
    if known is None:
        state[path] = lines
        return
    for name, ranges in lines.items():
        other = known.get(name)
        known[name] = ranges if name not in known or ranges is None or other is None else union(other, ranges)
