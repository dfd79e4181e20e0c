"""One change of one file within a saga: where it stands, how it goes forward, how it goes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lithos.core.canonical import version_of
from lithos.errors import Internal, LithosError
from lithos.storage.files import Root
from lithos.storage.values import FileChange

# before: untouched · between: moved, not yet rewritten · after: done · foreign: somebody else's bytes are there
State = Literal["before", "between", "after", "foreign"]
UNREADABLE = "unreadable"  # a link, a folder, no permission: not ours, whatever it is


@dataclass(frozen=True, slots=True)
class Step:
    """A change with the versions that tell its state, as it is kept with the intent."""

    root: str
    path: str
    move_to: str | None
    before: str | None
    after: str | None
    data: bytes | None
    history: bool = True

    @property
    def target(self) -> str:
        return self.move_to or self.path


def step_of(change: FileChange) -> Step:
    if change.move_to is not None and change.before is None:
        raise Internal(f"{change.path} cannot be moved: nothing is said to be there")
    if change.after is None and change.before is None:
        raise Internal(f"{change.path}: a change from nothing to nothing")
    moved_only = change.move_to is not None and change.after is None
    after = change.before if moved_only else version_of(change.after) if change.after is not None else None
    return Step(change.root, change.path, change.move_to, change.before, after, change.after, change.history)


def judge(step: Step, here: str | None, there: str | None) -> State:
    """`here` and `there` are the versions now at the path and at the path it is moved to."""
    if step.move_to is None:
        return "after" if here == step.after else "before" if here == step.before else "foreign"
    if here == step.before and there is None:
        return "before"
    if there == step.after:
        return "after"
    return "between" if here is None and there == step.before else "foreign"


class Hand:
    """Carries steps out on one root."""

    def __init__(self, root: Root, step: Step) -> None:
        self._root = root
        self._step = step
        self._original: bytes | None = None

    @property
    def path(self) -> str:
        return self._step.target

    def state(self) -> State:
        step = self._step
        there = self._version(step.move_to) if step.move_to is not None else None
        return judge(step, self._version(step.path), there)

    def _version(self, path: str) -> str | None:
        try:
            return self._root.version(path)
        except LithosError:
            return UNREADABLE

    def forward(self, state: State) -> None:
        """From where it stands to `after`; Conflict, and nothing changed, when somebody came in between.

        The bytes by which it could be undone are remembered.
        """
        step, root = self._step, self._root
        if state == "before" and step.move_to is not None and step.before is not None:
            root.move(step.path, step.move_to, step.before)
            state = "between"
        if state in ("before", "between") and step.data is not None:
            self._original = root.replace(step.target, step.data, step.before, history=step.history).old
        elif state == "before" and step.before is not None:
            self._original = root.read(step.path).data
            root.trash(step.path, step.before)

    def back(self, state: State) -> bool:
        """From where it stands to `before`; False when somebody else's bytes are there now: those stay."""
        try:
            self._back(state)
        except LithosError:
            return False
        return state != "foreign"

    def _back(self, state: State) -> None:
        step, root = self._step, self._root
        if state == "after" and step.data is not None and step.after is not None:
            if step.before is None:
                root.trash(step.path, step.after)
            else:
                original = self._original or root.version_kept(step.target, step.before)
                root.replace(step.target, original, step.after, history=False)
        elif state == "after" and step.move_to is None and self._original is not None:
            root.replace(step.path, self._original, None)
        if state in ("after", "between") and step.move_to is not None and step.before is not None:
            root.move(step.move_to, step.path, step.before)

    def keep_aside(self) -> list[str]:
        """Our bytes as a conflict copy beside somebody else's."""
        if self._step.data is None:
            return []
        return [self._root.keep_conflict(self._step.path, self._step.data)]
