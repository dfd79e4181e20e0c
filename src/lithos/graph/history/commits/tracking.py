"""From commits to the code that is there now: lines of today's symbols are carried back through the history.

One pass from the newest commit to the oldest for all symbols at once. At a merge each file follows the first parent
in which it is the same; a file that differs from all parents follows each of them, symbol by symbol.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lithos.graph.history.commits.log import Commit, FileDiff
from lithos.graph.history.commits.ranges import Hunk, Ranges, push_back, union
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
    parts: list[State] = [{} for _ in commit.parents]
    clashing = {path for path in state if all(path in each for each in commit.changed)}
    for path in [each for each in state if any(each in changed for changed in commit.changed[:1])]:
        if path not in clashing:
            same = next(number for number, changed in enumerate(commit.changed) if path not in changed)
            parts[same][path] = state.pop(path)
    for path in clashing:
        yield from _through_clash(commit, path, state.pop(path), parts)
    for path, lines in parts[0].items():
        _add(state, path, lines)
    parts[0] = state
    for parent, part in zip(commit.parents, parts, strict=True):
        if part and parent in listed:
            _join(states, parent, part)


def _through_clash(
    commit: Commit, path: str, lines: dict[tuple[str, str], Ranges | None], parts: list[State]
) -> Iterator[Touch]:
    """A file that the merge itself changed: a symbol follows the parent in which it is untouched, or all of them."""
    diffs = [next((each for each in against if each.new == path), None) for against in commit.against]
    for (now, name), ranges in lines.items():
        if ranges is None:
            for part, diff in zip(parts, diffs, strict=False):
                if diff is not None and diff.old:
                    _add(part, diff.old, {(now, name): None})
            continue
        ways = [_way(ranges, diff.hunks if diff is not None and diff.old else None) for diff in diffs]
        same = next((number for number, (touched, _) in enumerate(ways) if not touched), None)
        if same is None:
            yield Touch(commit.sha, now, name, KnowledgeEdge.MODIFIED)
        for number, (_, left) in enumerate(ways):
            diff = diffs[number]
            if left and diff is not None and diff.old and same in (None, number):
                _add(parts[number], diff.old, {(now, name): left})


def _way(ranges: Ranges, hunks: Sequence[Hunk] | None) -> tuple[bool, Ranges]:
    return (True, ()) if hunks is None else push_back(ranges, hunks)


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
