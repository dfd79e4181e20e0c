"""The garden's policy and lint, without a file in sight."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithos.errors import ConfigInvalid, Forbidden, InvalidInput
from lithos.garden.rules import policy as policy_module
from lithos.garden.rules.lint import check_change, items_of, lint
from lithos.garden.rules.policy import load_policy
from lithos.garden.sections import outline

POLICY = load_policy()
PROFILE = "users/ana/parts/critic/profile.md"
EVIDENCE = "## Evidence\n<!-- @anchor: evidence v1 -->\n"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("users/ana/overview.md", "overview"),
        (PROFILE, "profile"),
        ("users/ana/relationships/r-1/profile.md", "relationship"),
        ("users/ana/relationships/r-1/notes.md", "notes"),
    ],
)
def test_the_paths_of_the_specification_are_open(path: str, kind: str) -> None:
    assert POLICY.kind_of(path, "ana") == kind


@pytest.mark.parametrize(
    "path",
    ["users/bob/overview.md", "users/ana/../bob/notes.md", "users/ana/secret.md", "users/ana/parts/a/b/profile.md",
     "users/ana/parts/../profile.md", "overview.md", "users/ana/overview.md\n", "users/ana/overviewXmd", ""],
)  # fmt: skip
def test_everything_else_is_outside(path: str) -> None:
    with pytest.raises(Forbidden):
        POLICY.kind_of(path, "ana")


@pytest.mark.parametrize("user", ["", "..", "a/b", "{user_id}", "a*", "x" * 200])
def test_a_user_is_a_plain_name(user: str) -> None:
    with pytest.raises(InvalidInput):
        POLICY.kind_of("users/x/notes.md", user)


def test_folders_on_the_way_to_a_file_are_open_and_no_others() -> None:
    for path in ("users/ana", "users/ana/parts", "users/ana/parts/critic/"):
        POLICY.check_folder(path, "ana")
    for path in ("users/bob", "users/ana/other", "users/ana/parts/critic/deep", "."):
        with pytest.raises(Forbidden):
            POLICY.check_folder(path, "ana")


def test_a_broken_policy_stops_with_the_key_at_fault(tmp_path: Path) -> None:
    (tmp_path / "garden.yaml").write_text("paths: 3\n")
    with pytest.raises(ConfigInvalid, match=r"garden\.yaml: paths"):
        load_policy(tmp_path / "garden.yaml")


def test_an_anchor_that_goes_missing_blocks_the_change() -> None:
    report = check_change(EVIDENCE + "- a ev:1\n", "## Evidence\n- a ev:1\n", POLICY)
    assert report.blocked_reasons == ["anchor 'evidence v1' would be removed or altered"]


def test_an_identity_key_that_changes_or_goes_blocks_the_change() -> None:
    before, after = ("---\nid: 1\nmood: a\nschema: 1\n---\nx\n", "---\nid: 2\nmood: b\n---\nx\n")
    report = check_change(before, after, POLICY)
    assert report.blocked_reasons == ["identity key 'id' would change", "identity key 'schema' would change"]


def test_a_file_is_never_deleted() -> None:
    assert check_change("x\n", None, POLICY).blocked


def test_the_eighth_item_of_evidence_asks_for_a_rationale() -> None:
    seven, eight = (EVIDENCE + "".join(f"- quote ev:{n}\n" for n in range(count)) for count in (7, 8))
    assert lint(seven, POLICY).warnings == []
    assert lint(eight, POLICY).caps_exceeded == ["section 'Evidence' has 8 items; 7 is the cap"]


def test_an_item_without_its_token_a_long_section_and_a_strange_heading_are_warnings() -> None:
    text = EVIDENCE.replace("Evidence", "Proof") + "- bare\n## Story\n" + "word " * 401 + "end\n"
    assert lint(text, POLICY).warnings == [
        "heading 'Proof' of 'evidence v1' should be 'Evidence'",
        "item 1 of 'Proof' has no ev: token",
        "section 'Story' has 402 words; 400 is the cap",
    ]


def test_items_keep_their_continuation_lines_and_code_is_no_item() -> None:
    outlined = outline(EVIDENCE + "- one\n  more ev:1\n\n```\n- code\n```\n2. two\n")
    assert items_of(outlined, outlined.sections[0]) == ["- one\n  more ev:1\n", "2. two\n"]


FRONT = "---\nid: 1\n---\n"


@pytest.mark.parametrize(
    "after",
    [
        "text\n",
        "---\nid: 1\nid: 1\n---\ntext\n",
        "---\nid: '1'\n---\ntext\n",
        "---\nid: [\n---\ntext\n",
        "---\nid: 1\nuser_id: eve\n---\ntext\n",
        "\n---\nid: 1\n---\ntext\n",
    ],
)
def test_no_trick_changes_the_identity(after: str) -> None:
    assert check_change(FRONT + "text\n", after, POLICY).blocked


def test_other_frontmatter_may_change() -> None:
    assert not check_change(FRONT + "text\n", "---\nid: 1\nmood: calm\n---\ntext\n", POLICY).blocked


def test_a_new_file_may_not_claim_another_user() -> None:
    assert check_change(None, "---\nuser_id: bob\n---\n", POLICY, "ana").blocked
    assert not check_change(None, "---\nuser_id: ana\n---\n", POLICY, "ana").blocked


@pytest.mark.parametrize(
    "after",
    [
        EVIDENCE.replace("evidence v1", "evidence v2"),
        "## Evidence\ntext\n<!-- @anchor: evidence v1 -->\n",
        "```\n" + EVIDENCE,
        "<!--\n" + EVIDENCE,
        "<!-- @anchor: evidence v1 -->\n",
    ],
)
def test_an_anchor_that_no_longer_marks_its_section_is_altered(after: str) -> None:
    assert check_change(EVIDENCE, after, POLICY).blocked


def test_a_second_anchor_or_heading_of_the_same_name_is_blocked() -> None:
    twice = EVIDENCE + "## Proof\n<!-- @anchor: evidence v1 -->\n"
    assert check_change(EVIDENCE, twice, POLICY).blocked_reasons == ["anchor 'evidence v1' would stand twice"]
    assert check_change("## A\n", "## A\n## A\n", POLICY).blocked_reasons == ["the heading 'A' would stand 2 times"]
    assert not check_change("## A\n## A\n", "## A\nmore\n## A\n", POLICY).blocked


def test_severity_is_data_but_the_hard_blocks_are_not(tmp_path: Path) -> None:
    default = Path(policy_module.__file__).with_name("garden.yaml").read_text()
    (tmp_path / "garden.yaml").write_text(default.replace("evidence_cap: warn", "evidence_cap: block"))
    strict = load_policy(tmp_path / "garden.yaml")
    many = EVIDENCE + "".join(f"- quote ev:{n}\n" for n in range(9))
    assert lint(many, strict).blocked and not lint(many, POLICY).blocked
    (tmp_path / "garden.yaml").write_text(default.replace("severity:\n", "severity:\n  anchor: off\n"))
    with pytest.raises(ConfigInvalid, match="anchor"):
        load_policy(tmp_path / "garden.yaml")


def test_the_anchor_syntax_is_data(tmp_path: Path) -> None:
    default = Path(policy_module.__file__).with_name("garden.yaml").read_text()
    (tmp_path / "garden.yaml").write_text(default.replace("@anchor: {name}", "part {name}"))
    other = load_policy(tmp_path / "garden.yaml")
    assert outline("## A\n<!--part a v1-->\n", other.anchor_pattern).anchors == ("a v1",)
    (tmp_path / "garden.yaml").write_text(default.replace("<!-- @anchor: {name} -->", "{name}"))
    with pytest.raises(ConfigInvalid, match="HTML comment"):
        load_policy(tmp_path / "garden.yaml")
