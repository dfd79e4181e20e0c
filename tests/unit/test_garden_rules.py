"""The garden's policy and lint, without a file in sight."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithos.errors import ConfigInvalid, Forbidden, InvalidInput
from lithos.garden.lint import check_change, items_of, lint
from lithos.garden.policy import load_policy
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
    report = check_change(EVIDENCE + "- a ev:1\n", "## Evidence\n- a ev:1\n", POLICY, {}, {})
    assert report.blocked_reasons == ["anchor 'evidence v1' would be removed or altered"]


def test_an_identity_key_that_changes_or_goes_blocks_the_change() -> None:
    report = check_change("x\n", "x\n", POLICY, {"id": 1, "mood": "a", "schema": 1}, {"id": 2, "mood": "b"})
    assert report.blocked_reasons == ["identity key 'id' would change", "identity key 'schema' would change"]


def test_a_file_is_never_deleted() -> None:
    assert check_change("x\n", None, POLICY, {}, {}).blocked


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
