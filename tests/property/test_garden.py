"""Whatever the Markdown: one section changes, every other byte stays, once; parsers survive any text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.errors import LithosError
from lithos.garden.edits.curating import ListEdit, curated
from lithos.garden.edits.diff import patch, unified
from lithos.garden.edits.drafting import Current, check_untouched, drafted
from lithos.garden.edits.edits import Append, AppendSection, Fix, Patch, ReplaceSection, edited
from lithos.garden.rules.lint import check_change, lint
from lithos.garden.rules.policy import load_policy
from lithos.garden.sections import outline
from lithos.garden.targets import Target
from lithos.settings import LithosConfig, StorageSettings
from lithos.storage.files import Kernel
from lithos.tools.catalogue import catalogue
from tests.support.hostile_paths import HOSTILE
from tests.support.markdown_texts import documents

POLICY = load_policy()
NUMBERS = count()
TARGET = Target("garden", "users/ana/parts/p/profile.md", "profile")
WHO = {"user_id": "ana", "agent": "gardener"}
CONTENT = st.sampled_from(["text", "- a\n- b", "```\n## no\n```", "### deeper\nx", "a | b\n--|--\n1 | 2", "<b>x</b>"])
PIECES = [
    *("## A", "## B", "### C", "text", "", "- item ev:1", "  more", "```", "~~~", "<!--", "-->", "---", "===", "| a |"),
    *("<!-- @anchor: a v1 -->", "> quote", "\t- tab", "1. one", "    code", "# T", "<div>", "\u2028", "…"),
]
MARKDOWN = st.lists(st.sampled_from(PIECES), max_size=20).map("\n".join)


@pytest.fixture(scope="module")
def lithos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lithos]:
    storage = StorageSettings(data_dir=tmp_path_factory.mktemp("garden"), synchronous="NORMAL")
    opened = open_lithos(LithosConfig(storage=storage), clock=FakeClock())
    yield opened
    opened.close()


def call(lithos: Lithos, name: str, **arguments: Any) -> dict[str, Any]:
    return catalogue().call(lithos, name, {**WHO, **arguments})


@settings(max_examples=40, deadline=None)
@given(text=documents(), content=CONTENT, pick=st.integers(0, 10), verb=st.sampled_from(["replace", "append"]))
def test_patching_one_section_leaves_all_other_bytes_and_happens_once(
    lithos: Lithos, text: str, content: str, pick: int, verb: str
) -> None:
    before = outline(text)
    assume(before.sections)
    section = before.sections[pick % len(before.sections)]
    inner = [each.anchor for each in before.sections if section.first < each.first < section.end and each.anchor]
    assume(verb == "append" or not inner)
    assume(not (section.level >= 3 and content.startswith("### ")))
    path = f"users/ana/parts/p{next(NUMBERS)}/notes.md"
    file = lithos.garden.root.path / path
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode())
    request = {"path": path, "section_anchor": section.name, "change": {verb: content}, "rationale": "r"}
    first = call(lithos, "lithos_md_patch_section", **request, idempotency_key=path)
    assert call(lithos, "lithos_md_patch_section", **request, idempotency_key=path) == first
    after = file.read_bytes().decode()
    end = section.end if verb == "replace" else section.own_end
    assert after.startswith("".join(before.lines[: section.body]).rstrip("\r\n"))
    assert after.endswith("".join(before.lines[end:]))
    assert outline(after).anchors == before.anchors
    assert after.replace("\r\n", "\n").count(content) >= 1
    assert ("\r\n" in text) == ("\r\n" in after) or "\n" not in text


@settings(max_examples=150, deadline=None)
@given(text=st.one_of(MARKDOWN, st.text(max_size=80)), content=st.one_of(MARKDOWN, st.text(max_size=40)))
@example(text="## A\n```\n## B\n", content="```\n")
@example(text="## A\n<!--\n## B\n-->\n", content="-->")
def test_any_edit_of_any_text_changes_one_section_or_is_refused(text: str, content: str) -> None:
    outlined = outline(text)
    assert "".join(outlined.lines) == text
    for section in outlined.sections:
        for edit in (ReplaceSection(section.name, content), AppendSection(section.name, content)):
            try:
                after = edited(text, edit, POLICY)
            except LithosError:
                continue
            end = section.own_end if isinstance(edit, AppendSection) else section.end
            assert after.endswith("".join(outlined.lines[end:]))
            again = outline(after)
            tail = len(outlined.lines) - end
            kinds = again.scan.kinds[len(again.lines) - tail :]
            assert kinds == outlined.scan.kinds[end:]
            outside = [each.name for each in outlined.sections if not section.first < each.first < end]
            kept = [each.name for each in again.sections if each.name in outside]
            assert [name for name in outside if outside.count(name) == 1 and name not in kept] == []


@settings(max_examples=150, deadline=None)
@given(text=st.one_of(MARKDOWN, st.text(max_size=80)), diff=st.text(max_size=80))
def test_any_diff_applies_exactly_or_is_refused(text: str, diff: str) -> None:
    for given_diff in (diff, "@@ -1,2 +1,2 @@\n" + diff, unified(text, text + diff, "x")):
        try:
            patch(text, given_diff)
            edited(text, Patch(given_diff), POLICY)
        except LithosError as refusal:
            assert refusal.message


@settings(max_examples=100, deadline=None)
@given(text=MARKDOWN, item=st.text(min_size=1, max_size=30), op=st.sampled_from(["append", "prune", "merge"]))
def test_curating_any_list_keeps_every_other_line(text: str, item: str, op: Any) -> None:
    for section in outline(text).sections:
        try:
            after = curated(text, section.name, [ListEdit(op, (item,))], POLICY)
        except LithosError:
            continue
        assert outline(after).anchors == outline(text).anchors or op != "append"


@settings(max_examples=100, deadline=None)
@given(before=MARKDOWN, after=MARKDOWN)
def test_lint_and_the_hard_blocks_survive_any_text(before: str, after: str) -> None:
    lint(before, POLICY)
    report = check_change(before, after, POLICY)
    lost = [name for name in outline(before).anchors if name not in outline(after).anchors]
    assert not lost or report.blocked
    repaired = edited(before, Fix(), POLICY)
    assert edited(repaired, Fix(), POLICY) == repaired
    assert check_change(None, edited(before, Append("x"), POLICY), POLICY) is not None


class Recording:
    """The real kernel, with a list of what it was asked to open."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self.exchanges = kernel.exchanges
        self.exchange = kernel.exchange
        self.rename_new = kernel.rename_new
        self.opened: list[str] = []

    def open(self, folder: int, path: str, flags: int, mode: int = 0o666) -> int:
        self.opened.append(path)
        return self._kernel.open(folder, path, flags, mode)


def test_sixty_hostile_paths_are_refused_by_every_tool_and_none_is_opened(lithos: Lithos) -> None:
    tree = lithos.garden.root._tree
    recording = Recording(tree.kernel)
    tree.kernel = recording
    hostile = [path for path in HOSTILE if "\x00" not in path and path.isprintable()]
    ways: list[tuple[str, dict[str, Any]]] = [
        ("lithos_fs_read", {}),
        ("lithos_fs_write", {"content": "x", "rationale": "r"}),
        ("lithos_fs_append", {"text": "x", "rationale": "r"}),
        ("lithos_md_list_sections", {}),
        ("lithos_md_lint", {}),
        ("lithos_fs_ensure_dir", {}),
    ]
    below = [f"users/ana/{folder}{each}" for each in hostile for folder in ("", "parts/")]
    for path in HOSTILE + below:
        for name, arguments in ways if path in HOSTILE else ways[:-1]:
            with pytest.raises(LithosError):
                call(lithos, name, path=path, **arguments)
    assert recording.opened == []


@settings(max_examples=100, deadline=None)
@given(text=documents(), content=CONTENT, pick=st.integers(0, 10), data=st.data())
def test_what_is_drafted_keeps_its_promise_wherever_the_change_log_is(
    text: str, content: str, pick: int, data: st.DataObject
) -> None:
    names = [each.heading for each in outline(text).sections]
    text = text.replace(f" {data.draw(st.sampled_from(names))}", " Change Log", 1)
    section = outline(text).sections[pick % len(names)]
    edit = data.draw(st.sampled_from([ReplaceSection, AppendSection]))(section.name, content)
    try:
        draft = drafted(TARGET, Current(text, "sha256:x"), edit, POLICY, "ana", "2026-01-01T00:00:00Z g: why")
    except LithosError:
        return
    check_untouched(draft, draft.after)
