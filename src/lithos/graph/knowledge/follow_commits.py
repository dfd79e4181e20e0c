"""Follows the commits of every root, and carries the lines of today's symbols back through them."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lithos.errors import LithosError, Unavailable, Unsupported
from lithos.graph.code import NODE_NAMES, Code, NodeType, OpenRoot
from lithos.graph.git import Git, GitRefused
from lithos.graph.history.commits import Commit, CommitLog, Tracked, described, read_commits, track
from lithos.graph.history.commits.log import blobs, head_of, listed, parts, working_tree
from lithos.graph.knowledge.commit_entries import CommitEntries
from lithos.graph.knowledge.commit_store import CommitStore, Tombstone, commit_id
from lithos.graph.knowledge.edges import Edge
from lithos.graph.knowledge.mentions import named
from lithos.graph.knowledge.store import Derived, KnowledgeStore, Mention
from lithos.graph.model import EDGE_RULES, KnowledgeEdge
from lithos.storage import Rebuilding

FEW = 200  # commits that a question may wait for
SHORT = 10.0  # seconds: a question waits less than this, the background job longer
MOST_PARSED = 4_000  # earlier versions of files that are parsed for names of removed symbols
NO_REPOSITORY = "it is no git repository"
_log = logging.getLogger("lithos.history")


@dataclass(slots=True)
class RootState:
    """How far a root was read, judged by the dates of git's files and the graph's count of changes."""

    stamp: tuple[Any, ...] = ()
    changes: int = -1
    restarts: int = -1
    head: str = ""
    problem: str = ""  # why its commits are not read
    log: CommitLog | None = None
    git: Git | None = None
    refused: tuple[Any, LithosError] | None = None  # dates of git's files then, and why


class CommitFollower:
    name = "commits"

    def __init__(self, store: KnowledgeStore, code: Code, entries: CommitEntries, *, most: int = 5_000) -> None:
        self.commits = CommitStore(store)
        self.entries = entries
        self._store = store
        self._code = code
        self._most = most
        self._states: dict[str, RootState] = {}
        self._forgot_roots = False
        self._compared = False  # the search index, with the commits that are known: once after a start

    def problems(self) -> dict[str, str]:
        """Root → why its commits are not read."""
        return {name: state.problem for name, state in self._states.items() if state.problem}

    def follow(self, until: float) -> bool:
        roots = {root.spec.name: root for root in self._code.roots()}
        if not self._forgot_roots or self._states.keys() - roots.keys():
            for gone in self.commits.roots() - roots.keys():
                self.commits.forget_root(gone)
                self._store.replace([Derived(f"c:{gone}")])
            self._forgot_roots = True
        done = True
        for name, root in roots.items():
            state = self._states.setdefault(name, RootState())
            try:
                done = self._follow(root, state, until) and done
                state.problem = "" if state.stamp else NO_REPOSITORY
            except Rebuilding:  # no fault of the repository: the store begins again
                raise
            except LithosError as error:
                state.problem = "git is not installed" if isinstance(error, Unsupported) else error.message
            except OSError as error:  # git's files went while they were read, or those of a worktree's repository
                state.git, state.problem = None, f"git's files cannot be read: {error.strerror}"
        return done

    def _follow(self, root: OpenRoot, state: RootState, until: float) -> bool:
        changes, restarts = root.store.changes, self._store.restarts
        path = Path(root.spec.path)
        if not (path / ".git").exists():
            state.stamp, state.git = (), None
            return True
        if state.git is not None:
            now = (_stamp(state.git), changes, restarts)
            if now == (state.stamp, state.changes, state.restarts):
                return True  # the usual question: a few stats, and no process
        git = state.git = _found(path, state)
        stamp = _stamp(git)
        if state.stamp != stamp or state.restarts != restarts or state.log is None:
            if self._is_large(git, root) and until - time.monotonic() < SHORT:
                return False
            self._read(git, root, state)
            state.stamp, state.restarts, state.changes = stamp, restarts, -1  # read, and not tracked yet
        if not self._track(git, root, state, until):
            return False
        state.changes = changes
        return True

    def _is_large(self, git: Git, root: OpenRoot) -> bool:
        if not head_of(git):
            return False
        known = self.commits.known(root.spec.name)
        return sum(each.sha not in known for each in listed(git, self._most)) > FEW

    def _read(self, git: Git, root: OpenRoot, state: RootState) -> None:
        name = root.spec.name
        known = self.commits.known(name)
        log = read_commits(git, self._most, known)
        new = [each for each in log.commits if each.sha not in known]
        self.commits.save(name, log.commits, known, {each.sha for each in new} - log.cut_off)
        self.commits.bury(name, [*self._removed(git, new)])
        self._store.replace([_derived(name, log.commits)])
        if new or len(known) != len(log.commits) or not self._compared:
            self.entries.projector.resume()
            self._compared = True
        state.log, state.head = log, log.head
        if any(each.sha not in log.cut_off for each in new):
            self._forget_tracking(root)

    def _forget_tracking(self, root: OpenRoot) -> None:
        name = root.spec.name
        self.commits.touch(name, (), {}, [*self.commits.tracked(name)])

    def _track(self, git: Git, root: OpenRoot, state: RootState, until: float) -> bool:
        """Edges of the files that changed since they were last tracked; False: too many for a question."""
        assert state.log is not None
        name = root.spec.name
        versions, before = root.store.versions(), self.commits.tracked(name)
        changed = {path: version for path, version in versions.items() if before.get(path) != version}
        gone = [path for path in before if path not in versions]
        if not changed and not gone:
            return True
        if len(changed) > FEW and until - time.monotonic() < SHORT:
            return False
        spans = root.store.spans(None if len(changed) > FEW else [*changed])
        files = [Tracked(path, spans.get(path, {})) for path in changed]
        local = working_tree(git) if state.log.head else []
        touches = track(state.log.commits, local, files)
        self.commits.touch(name, touches, changed, gone)
        return True

    def _removed(self, git: Git, commits: Sequence[Commit]) -> Iterator[Tombstone]:
        """Symbols and files that these commits removed; earlier versions are parsed for the names."""
        wanted: dict[tuple[str, str], tuple[str, frozenset[str] | None]] = {}
        for commit in commits:
            for diff in () if commit.is_merge else commit.files:
                if diff.old and not diff.new:
                    yield Tombstone(commit.sha, diff.old, "file")
                    wanted[f"{commit.sha}^", diff.old] = (commit.sha, None)
                elif diff.old and diff.lost:
                    wanted[f"{commit.sha}^", diff.old] = (commit.sha, diff.lost)
        for batch in parts([*wanted][:MOST_PARSED], 64):
            found = [(name, data) for name, data in blobs(git, batch) if len(data) < 1_000_000]
            texts = [(f"{name[0]}/{name[1]}", data) for name, data in found]
            by_text = {f"{name[0]}/{name[1]}": name for name, _ in found}
            for text, facts in self._code.many_facts(texts):
                path = by_text[text][1]
                sha, lost = wanted[by_text[text]]
                for symbol in facts.symbols if facts is not None else ():
                    if lost is None or symbol.name in lost:
                        kind = NODE_NAMES[NodeType(symbol.type)]
                        yield Tombstone(sha, f"{path}#{symbol.local}", kind)


def _found(path: Path, state: RootState) -> Git:
    """The repository, checked again since something changed. A refusal holds until its files change."""
    dates = tuple(map(_date, (path / ".git", path / ".git" / "config", _named_back(path / ".git"))))
    if state.refused is not None and state.refused[0] == dates:
        raise state.refused[1]
    try:
        git = Git.find(path)
    except GitRefused as error:
        state.git, state.refused = None, (dates, error)
        raise
    if git is None:
        raise Unavailable("it is no git repository")
    state.refused = None
    return git


def _named_back(entry: Path) -> Path:
    """Of a worktree: the file in its repository that names it in turn."""
    if not entry.is_file():
        return entry
    named = entry.read_bytes()[:4096].decode("utf-8", "replace").removeprefix("gitdir:").strip()
    return entry.parent / named / "gitdir"


def _stamp(git: Git) -> tuple[Any, ...]:
    """Changes when HEAD moves: dates of the files that git writes then."""
    common = git.git_dir / "commondir"
    shared = (git.git_dir / common.read_text().strip()).resolve() if common.is_file() else git.git_dir
    head = (git.git_dir / "HEAD").read_bytes()
    ref = head.removeprefix(b"ref: ").strip().decode("utf-8", "replace") if head.startswith(b"ref: ") else "HEAD"
    own = (git.git_dir / "HEAD", git.git_dir / "logs/HEAD")
    files = (*own, shared / ref, shared / "packed-refs", shared / "shallow", shared / "config")
    return (head, *map(_date, files))


def _date(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - the cheapest of five for each question
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _derived(root: str, commits: Sequence[Commit]) -> Derived:
    """Reverted commits are superseded; messages name sources; a source may name a commit."""
    edges: list[Edge] = []
    mentions: list[Mention] = []
    kind = KnowledgeEdge.REFERENCES
    shas = {each.sha for each in commits}
    for each in commits:
        node = commit_id(root, each.sha)
        reverted = described(each.subject, each.body).reverts.lower()
        full = (
            reverted if reverted in shas else next((sha for sha in shas if reverted and sha.startswith(reverted)), "")
        )
        if full:
            edges.append(Edge(node, commit_id(root, full), KnowledgeEdge.SUPERSEDES, 1.0, "the message says reverts"))
        for found in named(f"{each.subject}\n{each.body}"):
            mentions.append(Mention(node, kind, found.key, EDGE_RULES[kind].weight, f"the message names {found.key}"))
    keys = [(f"sha:{each.sha}", commit_id(root, each.sha)) for each in commits]
    return Derived(f"c:{root}", edges, mentions, keys)
