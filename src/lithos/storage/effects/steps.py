"""One file change of a plan: its state by hashes, how it goes forward, how it goes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lithos.core.canonical import version_of
from lithos.errors import Internal, LithosError
from lithos.storage.files import Root
from lithos.storage.values import FileChange

# before: untouched · between: moved, not yet rewritten · after: done · foreign: bytes of another program are there
StepState = Literal["before", "between", "after", "foreign"]
UNREADABLE = "unreadable"  # a link, a folder, no permission: not ours


@dataclass(frozen=True, slots=True)
class Step:
    """A change with the versions that show its state, as it is saved with the intent."""

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
        raise Internal(f"{change.path} cannot be moved: the plan says that there is no such file")
    if change.after is None and change.before is None:
        raise Internal(f"{change.path}: a change from nothing to nothing")
    moved_only = change.move_to is not None and change.after is None
    after = change.before if moved_only else version_of(change.after) if change.after is not None else None
    return Step(change.root, change.path, change.move_to, change.before, after, change.after, change.history)


def judge(step: Step, here: str | None, there: str | None) -> StepState:
    """`here` and `there` are the versions now at the path and at the path it is moved to."""
    if step.move_to is None:
        return "after" if here == step.after else "before" if here == step.before else "foreign"
    if here == step.before and there is None:
        return "before"
    if there == step.after:
        return "after"
    return "between" if here is None and there == step.before else "foreign"


def state_of(step: Step, root: Root) -> StepState:
    there = _version(root, step.move_to) if step.move_to is not None else None
    return judge(step, _version(root, step.path), there)


def forward(step: Step, root: Root, state: StepState) -> bytes | None:
    """From `state` to `after`; the bytes by which it could be undone. Conflict, and nothing changed, if another
    program changed the file in between."""
    if state == "before" and step.move_to is not None and step.before is not None:
        root.move(step.path, step.move_to, step.before)
        state = "between"
    if state in ("before", "between") and step.data is not None:
        return root.replace(step.target, step.data, step.before, history=step.history).old
    if state == "before" and step.before is not None:
        original = root.read(step.path).data
        root.trash(step.path, step.before)
        return original
    return None


def back(step: Step, root: Root, state: StepState, original: bytes | None) -> bool:
    """From `state` to `before`; False if another program's bytes are there now: those stay."""
    try:
        _back(step, root, state, original)
    except LithosError:
        return False
    return state != "foreign"


def _back(step: Step, root: Root, state: StepState, original: bytes | None) -> None:
    if state == "after" and step.data is not None and step.after is not None:
        if step.before is None:
            root.trash(step.path, step.after)
        else:
            old = original or root.version_kept(step.target, step.before)
            root.replace(step.target, old, step.after, history=False)
    elif state == "after" and step.move_to is None and original is not None:
        root.replace(step.path, original, None)
    if state in ("after", "between") and step.move_to is not None and step.before is not None:
        root.move(step.move_to, step.path, step.before)


def _version(root: Root, path: str) -> str | None:
    try:
        return root.version(path)
    except LithosError:
        return UNREADABLE
