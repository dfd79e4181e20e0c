"""Garden: agents read, search and patch people's files within bounds, and every change can be explained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from lithos.core.call import Call
from lithos.core.clock import Clock
from lithos.core.cursor import next_cursor, place_of
from lithos.core.ids import Ids
from lithos.core.markdown import split_lines
from lithos.errors import InvalidInput, LithosError, NotFound
from lithos.garden import answers, reading
from lithos.garden.editor import Editor, EditRequest
from lithos.garden.edits.curating import Op, steps_of
from lithos.garden.edits.drafting import Draft
from lithos.garden.edits.edits import Append, Curate, Edit, Fix, Patch, ReplaceText, Write, edit_of, fixed
from lithos.garden.edits.hashing import text_hash
from lithos.garden.file_history import FileHistory
from lithos.garden.proposals import Proposals
from lithos.garden.rules.lint import Report, lint
from lithos.garden.rules.policy import Policy
from lithos.garden.sections import outline
from lithos.garden.statements import Statements
from lithos.garden.targets import (
    GARDEN,
    VAULT,
    NoteFiles,
    Target,
    for_user,
    garden_target,
    note_target,
    one_line,
    user_of,
    writer_of,
)
from lithos.storage import Answer, Database, Effects, EventDraft, Events, FileChange, Outcome, Plan, Root, Tx

MOST_PATHS = 1_000
MOST_USERS = 20  # named by an error
MakeAnswer = Callable[[Draft], Answer]


class Garden:
    def __init__(
        self,
        roots: Mapping[str, Root],
        policy: Policy,
        *,
        database: Database,
        events: Events,
        effects: Effects,
        clock: Clock,
        ids: Ids,
        notes: NoteFiles | None = None,
    ) -> None:
        self.policy = policy
        self._roots = roots
        self._effects = effects
        self._notes = notes
        self._editor = Editor(roots, policy, database, events, effects, clock, notes)
        self.proposals = Proposals(self._editor, database, effects, clock, ids)
        self.statements = Statements(policy, database, events, effects)
        self.history = FileHistory(roots, database, events, effects, notes)

    @property
    def root(self) -> Root:
        return self._roots[GARDEN]

    def target(self, call: Call, path: str | None, note_id: str | None = None) -> Target:
        """The file of the garden at `path`, or the note of the vault; never both."""
        if (path is None) == (note_id is None):
            raise InvalidInput("give either path or id", hint="path: a file of the garden; id: a note of the vault.")
        if path is not None:
            return garden_target(self.policy, self._user(call), path)
        return note_target(self._notes, note_id or "")

    # Looking

    def files(
        self, call: Call, path: str | None = None, glob: str | None = None, cursor: str | None = None
    ) -> answers.Paths:
        folder = self._folder(call, path)
        filters = ["lithos_fs_list", folder, glob]
        (after,) = place_of(cursor, filters, str) or [""]
        files = (entry.path for entry in self.root.scan(folder) if entry.kind == "file")
        mine = (path for path in files if self._allows(call, path))
        found = sorted(path for path in mine if path > after and reading.glob_matches(path, folder, glob))
        if len(found) <= MOST_PATHS:
            return {"paths": found}
        shown = found[:MOST_PATHS]
        return {"paths": shown, "truncated": True, "next_cursor": next_cursor(filters, shown[-1:])}

    def read(self, target: Target, ranges: Sequence[tuple[int, int]] | None = None) -> answers.Reading:
        text, version = self._text(target)
        known: answers.Reading = {"path": target.path, "version": version, "lines": len(split_lines(text))}
        if ranges:
            return {**known, "slices": reading.slices_of(text, [*ranges])}
        return {**known, "content": text}

    def search(self, call: Call, folder: str | None, wanted: reading.Search) -> answers.Matches:
        return reading.search(self.root, self._folder(call, folder), wanted, lambda path: self._allows(call, path))

    def hash(self, target: Target, section: str | None = None) -> answers.Hashes:
        text, version = self._text(target)
        outlined = outline(text, self.policy.anchor_pattern)
        chosen = text if section is None else outlined.text_of(outlined.find(section))
        return {"hash": text_hash(chosen), "version": version}

    def sections(self, target: Target) -> answers.Sections:
        text, version = self._text(target)
        return {"sections": reading.shown(outline(text, self.policy.anchor_pattern)), "version": version}

    def lint(self, target: Target) -> answers.Lint:
        text, version = self._text(target)
        return _lint(lint(text, self.policy), version)

    # Changing

    def ensure_folder(self, call: Call, path: str) -> answers.Made:
        """No event: an empty folder is no change of anybody's words."""
        writer_of(call)
        self.policy.check_folder(path, self._user(call))
        self.root.make_folder(path.rstrip("/"))
        return {"path": path.rstrip("/")}

    def write(self, call: Call, target: Target, content: str, if_match: str | None) -> answers.Written:
        return cast(answers.Written, self._change(call, target, Write(content), if_match, _written))

    def append(self, call: Call, target: Target, text: str, if_match: str | None) -> answers.Appended:
        return cast(answers.Appended, self._change(call, target, Append(text), if_match, _appended))

    def patch(self, call: Call, target: Target, diff: str, if_match: str | None) -> answers.Written:
        return cast(answers.Written, self._change(call, target, Patch(diff), if_match, _written))

    def replace_text(self, call: Call, target: Target, edit: ReplaceText, if_match: str | None) -> answers.Written:
        return cast(answers.Written, self._change(call, target, edit, if_match, _written))

    def patch_section(
        self, call: Call, target: Target, section: str, change: dict[str, str], if_match: str | None
    ) -> answers.Patched:
        edit = edit_of(section, change)
        return cast(answers.Patched, self._change(call, target, edit, if_match, _patched))

    def curate(
        self,
        call: Call,
        target: Target,
        section: str,
        ops: Sequence[Op],
        items: Sequence[str] | Sequence[Sequence[str]],
        if_match: str | None,
    ) -> answers.Patched:
        edit = Curate(section, steps_of(ops, items))
        return cast(answers.Patched, self._change(call, target, edit, if_match, _patched))

    def fix(self, call: Call, target: Target, if_match: str | None) -> answers.Lint:
        """Repair headings and white space; the diagnostics of what is left."""
        text, version = self._text(target)
        if fixed(text, self.policy) == text:
            return {**_lint(lint(text, self.policy), version), "fixed": False}
        return cast(answers.Lint, self._change(call, target, Fix(), if_match, _fixed))

    def snapshot(self, call: Call, target: Target) -> answers.Snapshot:
        """A copy of the file as it is, in the history."""
        writer_of(call)
        file = self._roots[target.root].read(target.path)
        kept = self._roots[target.root].keep_history(target.path, file.data)

        def work(tx: Tx) -> Outcome:
            event = EventDraft(
                target.event_type, "snapshot", target.thing, target.path, None, file.version, file.version
            )
            return Outcome({"history_path": kept.kept, "version": file.version}, (event,))

        return cast(answers.Snapshot, self._effects.commit(call, work))

    @staticmethod
    def because(call: Call, reason: str) -> Call:
        """The call with this reason, where a tool names it otherwise."""
        return replace(call, rationale=reason)

    # For maintainers

    def history_of(self, path: str, root: str | None, limit: int, cursor: str | None = None) -> answers.PathHistory:
        """The story of a file; without a root, of the one that has such a file."""
        known = [name for name in (GARDEN, VAULT) if name in self._roots]
        chosen = root or next((name for name in known if self._roots[name].exists(path)), GARDEN)
        return self.history.of(chosen, path, limit, cursor)

    def move(self, call: Call, path: str, new_path: str) -> answers.Moved:
        version = self.root.version(path)
        if version is None:
            raise NotFound(f"there is no file {path!r} in the garden", hint="`lithos call lithos_fs_list` shows them.")
        rationale = one_line(call.rationale)

        def decide() -> Plan | Outcome:
            facts = {"root": GARDEN, "path": new_path, "before": version, "after": version, "moved_from": path}
            draft = EventDraft("garden", "move", path, new_path, None, version, version, rationale)
            event = replace(draft, details={"moved": facts})
            change = FileChange(GARDEN, path, version, None, move_to=new_path)
            return Plan((change,), event, {"ok": True, "path": new_path})

        return cast(answers.Moved, self._effects.apply(call, decide).answer)

    def explain(self, call: Call, path: str, op: str) -> answers.Explanation:
        """Whether this operation may change this path, and why."""
        try:
            kind = self.policy.kind_of(path, self._user(call))
        except LithosError as refusal:
            reasons = [refusal.message, refusal.hint]
            return {"path": path, "op": op, "allowed": False, "kind": None, "reasons": reasons}
        if op in ("delete", "move"):
            why = {"delete": "no tool deletes a file", "move": "only a maintainer moves files: lithos fs move"}[op]
            return {"path": path, "op": op, "allowed": False, "kind": kind, "reasons": [why]}
        return {"path": path, "op": op, "allowed": True, "kind": kind, "reasons": self._effects_of(path, kind, op)}

    def _effects_of(self, path: str, kind: str, op: str) -> list[str]:
        if op in ("read", "list", "search", "hash"):
            return ["reading changes nothing and leaves no event"]
        reasons = ["an event with who, why, before and after", "the version before is kept in the history"]
        if kind in self.policy.change_log.kinds:
            reasons.append("one line under the Change Log, where the file has one")
        blocks = [rule for rule in type(self.policy.severity).model_fields if self.policy.severity.of(rule) == "block"]
        reasons.append("blocked: removing or altering an anchor, changing an identity key, " + ", ".join(blocks))
        if self.root.exists(path):
            text, _ = self._text(Target(GARDEN, path, None))
            return reasons + [f"now: {each}" for each in lint(text, self.policy).warnings]
        return [*reasons, "the file is not there yet: lithos_fs_write or lithos_fs_append makes it"]

    # Small parts

    def _change(self, call: Call, target: Target, edit: Edit, if_match: str | None, answer: MakeAnswer) -> Answer:
        return self._editor.change(call, EditRequest(target, edit, if_match), answer)

    def _text(self, target: Target) -> tuple[str, str]:
        file = self._roots[target.root].read(target.path)
        return reading.text_of(file.data, target.path), file.version

    def _user(self, call: Call) -> str:
        return user_of(call, self._users)

    def _users(self) -> list[str]:
        """The users that have files, by their paths."""
        owners = (self.policy.owner_of(entry.path) for entry in self.root.scan())
        return sorted({owner for owner in owners if owner})[:MOST_USERS]

    def _folder(self, call: Call, path: str | None) -> str:
        """The folder to look in: the user's own, or one below it."""
        wanted = (path or "").rstrip("/")
        if wanted in ("", "."):
            return self.policy.home(self._user(call))
        self.policy.check_folder(wanted, self._user(call))
        return wanted

    def _allows(self, call: Call, path: str) -> bool:
        return self.policy.allows(path, self._user(call))


def _written(draft: Draft) -> Answer:
    return {**_common(draft), "new_hash": draft.after_hash}


def _appended(draft: Draft) -> Answer:
    return {**_common(draft), "new_size": len(draft.data)}


def _patched(draft: Draft) -> Answer:
    return {**_common(draft), "before_hash": draft.before_hash, "after_hash": draft.after_hash}


def _fixed(draft: Draft) -> Answer:
    return {**_lint(draft.report, draft.version), "fixed": True}


def _common(draft: Draft) -> Answer:
    common = {"path": draft.target.path, "version": draft.version}
    return {**common, "warnings": draft.report.warnings} if draft.report.warnings else common


def _lint(report: Report, version: str) -> answers.Lint:
    return {
        "warnings": report.warnings,
        "blocked": report.blocked,
        "blocked_reasons": report.blocked_reasons,
        "diagnostics": [
            {"rule": each.rule, "severity": each.severity, "message": each.message} for each in report.diagnostics
        ],
        "version": version,
    }


__all__ = ["Garden", "for_user"]
