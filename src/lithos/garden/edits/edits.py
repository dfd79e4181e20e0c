"""Every way to edit a text, without I/O: the text before in, the text after out, or a refusal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from lithos.core.markdown import Heading
from lithos.core.names import is_blank
from lithos.errors import InvalidInput, NotFound
from lithos.garden import sections
from lithos.garden.edits.curating import ListEdit, curated
from lithos.garden.edits.diff import patch
from lithos.garden.edits.replacing import replaced
from lithos.garden.rules.lint import drifts
from lithos.garden.rules.policy import Kind, Policy
from lithos.garden.sections import Outline, Section, outline


@dataclass(frozen=True, slots=True)
class Write:
    content: str
    op = "write"


@dataclass(frozen=True, slots=True)
class Append:
    text: str
    op = "append"


@dataclass(frozen=True, slots=True)
class Patch:
    diff: str
    op = "patch"


@dataclass(frozen=True, slots=True)
class ReplaceText:
    old: str
    new: str
    everywhere: bool = False
    op = "replace_text"


@dataclass(frozen=True, slots=True)
class ReplaceSection:
    target: str
    content: str
    op = "replace_section"


@dataclass(frozen=True, slots=True)
class AppendSection:
    target: str
    content: str
    op = "append_section"


@dataclass(frozen=True, slots=True)
class Curate:
    target: str
    steps: tuple[ListEdit, ...]

    @property
    def op(self) -> str:
        kinds = {step.op for step in self.steps}
        return f"{kinds.pop()}_item" if len(kinds) == 1 else "curate_list"


@dataclass(frozen=True, slots=True)
class Fix:
    op = "fix"


Edit = Write | Append | Patch | ReplaceText | ReplaceSection | AppendSection | Curate | Fix


def edit_of(
    section_anchor: str | None = None,
    change: dict[str, str] | None = None,
    content: str | None = None,
    diff: str | None = None,
) -> Edit:
    """Exactly one of `change`, `content` and `diff`; an anchor makes it an edit of that section."""
    given = [each for each in (change, content, diff) if each is not None]
    if len(given) != 1:
        raise InvalidInput("give exactly one of change, content and diff", hint='For example change: {"append": "…"}.')
    if diff is not None:
        return Patch(diff)
    verb, text = ("replace", content) if content is not None else _the_only(change or {})
    if verb == "append":
        _need_text(text)
    if section_anchor is None:
        return Write(text) if verb == "replace" else Append(text)
    return ReplaceSection(section_anchor, text) if verb == "replace" else AppendSection(section_anchor, text)


def _the_only(change: dict[str, str]) -> tuple[str, str]:
    if len(change) != 1 or next(iter(change)) not in ("replace", "append"):
        raise InvalidInput("change holds neither replace nor append", hint='For example {"append": "- a line"}.')
    return next(iter(change.items()))


def target_of(edit: Edit) -> str | None:
    """The section that an edit names; None: it concerns the whole file."""
    return edit.target if isinstance(edit, ReplaceSection | AppendSection | Curate) else None


def edited(text: str | None, edit: Edit, policy: Policy) -> str:
    """The text after the edit; `None`: the file does not exist yet."""
    if isinstance(edit, Write):
        return edit.content
    if isinstance(edit, Append):
        return _appended(text or "", edit.text)
    if text is None:
        raise NotFound("the file is not there yet", hint="Create it with lithos_fs_write or lithos_fs_append.")
    if isinstance(edit, Patch):
        return patch(text, edit.diff)
    if isinstance(edit, ReplaceText):
        return replaced(text, edit.old, edit.new, edit.everywhere)
    if isinstance(edit, Fix):
        return fixed(text, policy)
    if isinstance(edit, Curate):
        return _in_section(text, edit.target, curated(text, edit.target, edit.steps, policy), policy)
    outlined = outline(text, policy.anchor_pattern)
    section = outlined.find(edit.target)
    if isinstance(edit, ReplaceSection):
        return _in_section(text, edit.target, sections.replace(outlined, section, edit.content), policy, own=False)
    if isinstance(edit, AppendSection):
        return _in_section(text, edit.target, sections.append(outlined, section, edit.content), policy)
    assert_never(edit)


def logged(text: str, line: str, policy: Policy, kind: Kind | None, changed: str | None) -> str:
    """The text with one line under its Change Log; as it is where there is none, or where it was the log itself."""
    outlined = outline(text, policy.anchor_pattern)
    log = _change_log(outlined, policy)
    if kind not in policy.change_log.kinds or log is None or (changed and changed in (log.anchor, log.name)):
        return text
    return _in_section(text, outlined.label(log), sections.append(outlined, log, f"- {line}"), policy)


def fixed(text: str, policy: Policy) -> str:
    """Canonical headings, no stray white space, a final newline; words stay as they are."""
    outlined = outline(text, policy.anchor_pattern)
    lines = list(outlined.lines)
    for index, kind in enumerate(outlined.scan.kinds):
        if drifts(lines[index], kind):
            lines[index] = lines[index].rstrip() + _end_of(lines[index])
    for section in reversed(outlined.sections):
        canonical = policy.headings.get(section.anchor or "")
        if canonical is not None and canonical != section.heading:
            lines[section.first : _heading_end(outlined, section)] = [
                f"{'#' * section.level} {canonical}{_end_of(lines[section.first])}"
            ]
    whole = "".join(lines)
    return whole if not whole or whole.endswith(("\n", "\r")) else whole + "\n"


def _heading_end(outlined: Outline, section: Section) -> int:
    return next(each.after for each in outlined.scan.headings if each.first == section.first)


def _end_of(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _need_text(addition: str) -> None:
    if is_blank(addition):
        raise InvalidInput("there is nothing to append", hint="Send the text.")


def _appended(text: str, addition: str) -> str:
    _need_text(addition)
    end = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text or text.endswith(("\n", "\r")) else end
    added = addition.replace("\r\n", "\n").replace("\n", end)
    return text + gap + added + ("" if added.endswith(end) else end)


def _change_log(outlined: Outline, policy: Policy) -> Section | None:
    rule = policy.change_log
    named = [each for each in outlined.sections if each.anchor == rule.anchor]
    headed = [each for each in outlined.sections if each.heading == rule.heading and each.anchor is None]
    found = named or headed
    return found[0] if len(found) == 1 else None


def _in_section(before: str, target: str, after: str, policy: Policy, *, own: bool = True) -> str:
    """`after`, if nothing outside the section changed, not even its meaning: no fence or comment may swallow what
    follows, and no heading in the new text may end the section. `own`: the subsections stay as they are too."""
    old = outline(before, policy.anchor_pattern)
    new = outline(after, policy.anchor_pattern, near=old)
    section = old.find(target)
    end = section.own_end if own else section.end
    rest = len(old.lines) - end
    untouched = (
        new.scan.kinds[: section.body] == old.scan.kinds[: section.body]
        and new.lines[: section.body - 1] == old.lines[: section.body - 1]
        and new.lines[len(new.lines) - rest :] == old.lines[end:]
        and new.scan.kinds[len(new.lines) - rest :] == old.scan.kinds[end:]
        and _later(old, end) == _later(new, len(new.lines) - rest)
    )
    middle = [each for each in new.scan.headings if section.body <= each.first < len(new.lines) - rest]
    if not untouched or any(each.level <= section.level for each in middle):
        raise InvalidInput(
            f"the new text would end or swallow more than section {section.name!r}",
            hint=f"Use only headings deeper than level {section.level}, and close every code fence and comment.",
        )
    return after


def _later(outlined: Outline, start: int) -> list[Heading]:
    return [
        Heading(each.level, each.text, each.first - start, each.after - start)
        for each in outlined.scan.headings
        if each.after > start
    ]
