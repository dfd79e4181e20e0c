"""Edits of one text: pure decisions. Exactly one match, or a refusal that says how many there are."""

from __future__ import annotations

from dataclasses import dataclass

from lithos.errors import Conflict, InvalidInput, TooLarge

LARGEST = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class EditRequest:
    """Either `old_content` and `new_content`, or `start_line`, `end_line` and `content`."""

    old_content: str | None = None
    new_content: str | None = None
    start_line: int | None = None
    end_line: int | None = None
    content: str | None = None

    @property
    def by_lines(self) -> bool:
        return self.start_line is not None


def edited(data: bytes, request: EditRequest) -> bytes:
    """The new bytes; line ends stay as the file has them."""
    text = decoded(data)
    by_text = request.old_content is not None or request.new_content is not None
    if by_text == request.by_lines:
        raise InvalidInput(
            "name one kind of edit", hint="Either old_content and new_content, or start_line, end_line and content."
        )
    new = _replaced_lines(text, request) if request.by_lines else _replaced_text(text, request)
    return checked_size(new.encode())


def decoded(data: bytes) -> str:
    """The text of a file that may be edited."""
    if len(data) > LARGEST:
        raise TooLarge(f"the file has {len(data):,} bytes; {LARGEST:,} is the most", hint="Edit it with a command.")
    if b"\0" in data[:65536]:
        raise InvalidInput("the file is binary", hint="Only text is edited here.")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise InvalidInput("the file is not UTF-8 text", hint="Only UTF-8 text is edited here.") from None


def checked_size(data: bytes) -> bytes:
    if len(data) > LARGEST:
        raise TooLarge(f"the file would have {len(data):,} bytes; {LARGEST:,} is the most")
    return data


def _replaced_text(text: str, request: EditRequest) -> str:
    old, new = request.old_content, request.new_content
    if not old or new is None:
        raise InvalidInput("old_content is empty or new_content is missing", hint="Copy old_content from the file.")
    if "\r\n" in text and "\r\n" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    count = text.count(old)
    if count != 1:
        hint = "Read the file again." if count == 0 else "Add lines around it until it is the only one."
        raise Conflict(
            f"old_content is in the file {count} times, not once; nothing was changed", hint=hint, count=count
        )
    return text.replace(old, new)


def _replaced_lines(text: str, request: EditRequest) -> str:
    lines = text.splitlines(keepends=True)
    first = request.start_line or 0
    last = request.end_line if request.end_line is not None else first
    content = request.content
    if content is None:
        raise InvalidInput("content is missing", hint="The lines to put there; an empty text deletes.")
    if not 1 <= first <= len(lines) + 1 or not first - 1 <= last <= len(lines):
        raise InvalidInput(
            f"lines {first} to {last} are not in the file, which has {len(lines)}",
            hint="end_line = start_line - 1 inserts before start_line.",
        )
    ending = "\r\n" if "\r\n" in text else "\n"
    if ending == "\r\n" and "\r\n" not in content:
        content = content.replace("\n", "\r\n")
    if content and not content.endswith("\n") and last < len(lines):
        content += ending
    before = "".join(lines[: first - 1])
    if before and content and not before.endswith("\n"):
        before += ending
    return before + content + "".join(lines[last:])
