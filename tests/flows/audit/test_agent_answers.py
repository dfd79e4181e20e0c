"""What agents get as answers: points 7 to 16 and 23 of issue 15."""

from __future__ import annotations

import base64
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.errors import LithosError
from lithos.settings import LithosConfig
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.conftest import CallTool
from tests.flows.audit.conftest import Refuse, Save
from tests.support.waiting import until

OPERATOR = Caller(operator=True)
ANA = {"user_id": "ana", "agent": "g"}
SKILL = "---\nname: s\ndescription: A skill.\n---\n# S\nDo it.\n"


def reindex(call: CallTool, *, clear: bool = False) -> None:
    call("lithos_reindex", _caller=OPERATOR, clear=clear)


def ids(call: CallTool, **chosen: Any) -> list[str]:
    return [item["id"] for item in call("lithos_list", **chosen)["items"]]


def text(data_dir: Path, path: str) -> str:
    return (data_dir / "knowledge" / path).read_bytes().decode()


# 7 What changed


@pytest.mark.parametrize("way", ["patch", "curate", "revert", "move", "person"])
def test_every_kind_of_edit_appears_in_the_list_since(
    call: CallTool, clock: FakeClock, data_dir: Path, way: str
) -> None:
    call("lithos_write", agent="a", title="Still", content="unchanged")
    first = call("lithos_write", agent="a", title="Log", content="## Tasks\n\n- one\n")
    clock.advance(60)
    call("lithos_write", agent="a", id=first["id"], content="## Tasks\n\n- one\n- two\n")
    clock.advance(3600)
    since = "2026-01-01T00:30:00Z"
    assert ids(call, since=since) == []
    edit = {"id": first["id"], "section_anchor": "Tasks", **ANA}
    if way == "patch":
        call("lithos_md_patch_section", **edit, change={"append": "- three"}, rationale="r")
    elif way == "curate":
        call("lithos_md_curate_list", **edit, ops=["append"], items=["three"], reason="r")
    elif way == "revert":
        call("lithos_note_revert", agent="a", id=first["id"], version=first["version"])
    elif way == "move":
        call("lithos_move", agent="a", id=first["id"], to="sub/log.md")
    else:
        file = data_dir / "knowledge/log.md"
        file.write_text(file.read_text() + "- three\n")
        moment = clock.now().timestamp()
        os.utime(file, (moment, moment))
        reindex(call)
    assert ids(call, since=since) == [first["id"]]


# 8 Candidates are accepted

TWICE = "---\ntitle: D\n---\n# D\n\n## Dup\nfirst\n\n## Other\n\n### Dup\nthird\n\n## Dup\nsecond\n"


def test_each_candidate_of_a_duplicate_heading_is_accepted_and_means_its_own_section(
    call: CallTool, refused: Refuse, save: Save, data_dir: Path
) -> None:
    save("d.md", TWICE)
    reindex(call)
    note = call("lithos_read", path="d")["id"]
    wish = {"id": note, "rationale": "r", **ANA}
    found = refused("lithos_md_patch_section", section_anchor="Dup", change={"append": "x"}, **wish)["candidates"]
    assert len(set(found)) == len(found) >= 2
    for number in range(len(found)):
        # A line number changes with each edit: the candidates are asked for again.
        now = refused("lithos_md_patch_section", section_anchor="Dup", change={"append": "x"}, **wish)["candidates"]
        edit = {"append": f"mark {number}"}
        call("lithos_md_patch_section", section_anchor=now[number], change=edit, **wish)
    edited = text(data_dir, "d.md")
    assert edited.index("first") < edited.index("mark 0") < edited.index("## Other")
    assert all(f"mark {number}" in edited for number in range(len(found)))


def test_what_an_unknown_section_offers_is_accepted(call: CallTool, refused: Refuse, save: Save) -> None:
    save("d.md", TWICE)
    reindex(call)
    note = call("lithos_read", path="d")["id"]
    wish = {"id": note, "rationale": "r", **ANA}
    found = refused("lithos_md_patch_section", section_anchor="Nothing", change={"append": "x"}, **wish)["candidates"]
    assert len(set(found)) == len(found)
    for name in reversed(found):  # from below: each edit moves the lines behind it
        assert call("lithos_md_patch_section", section_anchor=name, change={"append": "x"}, **wish)


def test_candidates_in_the_garden_are_accepted(call: CallTool, refused: Refuse, data_dir: Path) -> None:
    file = data_dir / "garden/users/ana/notes.md"
    file.parent.mkdir(parents=True)
    file.write_text("# N\n\n## Same\n<!-- @anchor: same v1 -->\none\n\n## Same\n<!-- @anchor: same v1 -->\ntwo\n")
    for name in ("Same", "same v1"):
        asked = {"path": "users/ana/notes.md", "section_anchor": name, **ANA}
        found = refused("lithos_fs_hash", **asked)["candidates"]
        assert len(set(found)) == len(found) == 2
        hashes = {call("lithos_fs_hash", **{**asked, "section_anchor": each})["hash"] for each in found}
        assert len(hashes) == 2


# 9 Where text is added


def section(call: CallTool, data_dir: Path, before: str, tool: str, **more: Any) -> str:
    """What becomes of a section under this edit."""
    note = call("lithos_write", agent="a", title="Log", content=f"## Tasks\n\n{before}\n\n## After\n\nend")
    call(tool, id=note["id"], section_anchor="Tasks", **ANA, **more)
    after = call("lithos_read", id=note["id"])["content"]
    return str(after).removeprefix("## Tasks\n\n").partition("\n\n## After")[0]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- one\n- two\n\nA paragraph.", "- one\n- two\n- three\n\nA paragraph."),
        ("A paragraph.", "A paragraph.\n\n- three"),
        ("* one\n\ntext\n\n* two\n\nmore", "* one\n\ntext\n\n* two\n* three\n\nmore"),
        ("- one\n  more of it\n\nText.", "- one\n  more of it\n- three\n\nText."),
        ("- one\n  - inner\n\n```\n- no item\n```", "- one\n  - inner\n- three\n\n```\n- no item\n```"),
    ],
)
def test_a_list_item_is_added_at_the_end_of_the_list(call: CallTool, data_dir: Path, before: str, after: str) -> None:
    wish = {"ops": ["append"], "items": ["three"], "reason": "r"}
    assert section(call, data_dir, before, "lithos_md_curate_list", **wish) == after


@pytest.mark.parametrize(
    ("before", "added", "after"),
    [
        ("A paragraph.", "Another one.", "A paragraph.\n\nAnother one."),
        ("- one\n- two", "A paragraph.", "- one\n- two\n\nA paragraph."),
        ("A paragraph.", "- three", "A paragraph.\n\n- three"),
        ("```\ncode\n```", "Text.", "```\ncode\n```\n\nText."),
        ("| a |\n|---|\n| 1 |", "Text.", "| a |\n|---|\n| 1 |\n\nText."),
    ],
)
def test_appended_text_is_a_separate_paragraph(
    call: CallTool, data_dir: Path, before: str, added: str, after: str
) -> None:
    wish = {"change": {"append": added}, "rationale": "r"}
    assert section(call, data_dir, before, "lithos_md_patch_section", **wish) == after


def test_an_import_keeps_paragraphs_after_a_list_apart(call: CallTool) -> None:
    given = "# Memory\n\n- first bullet\n- last bullet\n\nA paragraph of its own.\n\n- next\n"
    call("lithos_ledger_import", _caller=OPERATOR, text=given, agent_id="a", chain_key="c")
    found = call("mentisdb_search", chain_key="c")["thoughts"]
    contents = [each["content"] for each in found]
    assert not any("last bullet" in each and "paragraph" in each for each in contents), contents
    assert "A paragraph of its own." in contents


# 10 A large note


def test_a_large_note_does_not_hold_up_the_next_search(call: CallTool, save: Save) -> None:
    """The work before the answer is bounded: ratios in one run, since the machine's speed is unknown."""
    for number in range(20):
        call("lithos_write", agent="a", title=f"Small {number}", content=f"word{number} " * 50)
    call("lithos_recall", query="word1")
    begin = time.process_time()
    call("lithos_write", agent="a", title="Few", content="few words " * 20)
    call("lithos_recall", query="few words")
    small = time.process_time() - begin
    words = " ".join(f"w{number % 9973} text" for number in range(160_000))
    assert len(words) > 1_700_000
    begin = time.process_time()
    call("lithos_write", agent="a", title="Large", content=words)
    answer = call("lithos_recall", query="few words")
    large = time.process_time() - begin
    assert answer["degraded"] is True and answer["degraded_reason"]
    assert large < max(1.5, 20 * small), (small, large)


# 11 degraded


@pytest.mark.parametrize(
    "tool",
    [
        "lithos_search",
        "lithos_semantic",
        "mentisdb_search",
    ],
)
def test_degraded_is_a_boolean_with_a_reason_that_names_no_path(call: CallTool, data_dir: Path, tool: str) -> None:
    schema = catalogue().get(tool).output_schema
    kind = schema["properties"]["degraded"]
    assert kind.get("type") == "boolean", kind
    assert "degraded_reason" in schema["properties"]


def test_a_text_index_that_was_deleted_under_a_running_host_is_rebuilt(
    lithos: Lithos, call: CallTool, config: LithosConfig, data_dir: Path
) -> None:
    """Without a write in between: searching alone notices it."""
    note = call("lithos_write", agent="a", title="Zebra", content="stripes on a horse")
    lithos.close()  # nothing is pending afterwards
    folder = data_dir / ".tantivy"
    again = open_lithos(config)
    try:
        asked = {"query": '"on a horse"'}
        assert catalogue().call(again, "lithos_search", asked)["results"]
        shutil.rmtree(folder)

        def found() -> list[dict[str, Any]]:
            answer = catalogue().call(again, "lithos_search", asked)
            assert answer["results"] or answer["degraded"] is True, "an empty answer that hides the missing index"
            return answer["results"]

        assert [each["id"] for each in until(found, "the index is rebuilt")] == [note["id"]]
        assert list(folder.rglob("meta.json"))
    finally:
        again.close()


# 12 Links


@pytest.fixture
def linked(call: CallTool, save: Save) -> str:
    """A note with the title of a file that is gone, and links to both."""
    save("new-place.md", "---\ntitle: hand\n---\ntext\n")
    save("folder/deep.md", "---\ntitle: Something\n---\ntext\n")
    save("from.md", "---\ntitle: From\n---\n[m](hand.md) [[hand]] [d](deep.md) [e](folder/deep.md) [[Something]]\n")
    reindex(call)
    return str(call("lithos_read", path="from")["id"])


def test_a_markdown_link_never_resolves_by_title(call: CallTool, linked: str) -> None:
    links = {each["target"]: each for each in call("lithos_read", id=linked)["links"] if each["target"].endswith("md")}
    assert links["hand.md"]["status"] == "broken"
    assert links["deep.md"]["status"] == links["folder/deep.md"]["status"] == "resolved"
    broken = call("lithos_validate")["problems"]["broken_links"]
    assert [each["target"] if "target" in each else each["what"] for each in broken]


def test_a_wiki_link_that_resolves_by_title_says_so(call: CallTool, linked: str) -> None:
    links = {each["target"]: each for each in call("lithos_read", id=linked)["links"]}
    for name in ("hand", "Something"):
        assert links[name]["status"] == "resolved" and links[name]["resolved_by"] == "title"
    listed = call("lithos_validate")["problems"]["links_by_title"]
    assert {(each["path"], each["line"]) for each in listed} == {("from.md", 4)}


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_markdown_link_to_a_path_that_a_note_left_is_broken_although_its_title_is_the_same(
    call: CallTool, data_dir: Path, by_hand: bool
) -> None:
    hand = call("lithos_write", agent="a", title="Hand", content="text")
    note = call("lithos_write", agent="a", title="From", content="[m](hand.md) [[Hand]]")
    if by_hand:
        (data_dir / "knowledge" / "hand.md").rename(data_dir / "knowledge" / "arm.md")
        reindex(call)
    else:
        call("lithos_move", agent="a", id=hand["id"], to="arm.md", rewrite_links=False)
    for _ in range(2):
        links = {each["target"]: each["status"] for each in call("lithos_read", id=note["id"])["links"]}
        assert links == {"hand.md": "broken", "Hand": "resolved"}
        (stale,) = call("lithos_validate")["problems"]["stale_references"]
        assert (stale["target"], stale["what"]) == ("hand.md", "was renamed to arm.md")
        reindex(call, clear=True)  # a rebuild says the same


# 13 What is searchable


@pytest.mark.parametrize("word", ["zebra_module", "lib/zebra_module.py", "zebra_module.py"])
def test_provenance_is_searchable(call: CallTool, word: str) -> None:
    source = "file:lib/zebra_module.py#L3"
    note = call("lithos_write", agent="a", title="T", content="text", provenance=source)
    assert [each["id"] for each in call("lithos_search", query=word)["results"]] == [note["id"]]


@pytest.mark.parametrize("sign", ["🦓", "👩‍🔬", "❤️", "🇫🇷"])
def test_emoji_are_searchable(call: CallTool, sign: str) -> None:
    call("lithos_write", agent="a", title="Plain", content="nothing of the kind 🐢")
    note = call("lithos_write", agent="a", title="Signs", content=f"We saw a {sign} today")
    other = call("lithos_write", agent="a", title=f"Glued{sign}", content="in the title")
    assert {each["id"] for each in call("lithos_search", query=sign)["results"]} == {note["id"], other["id"]}


def test_a_broken_frontmatter_is_no_heading_of_a_snippet(call: CallTool, save: Save) -> None:
    save("broken.md", "---\ntitle: [unclosed\nsecret_field: 1\n---\n\nQuokka text here.\n")
    save("open.md", "---\ntitle: never closed\nwombat text in it\n")
    reindex(call)
    for word in ("quokka", "wombat"):
        for tool in ("lithos_search", "lithos_recall"):
            found = call(tool, query=word)["results"][0]
            assert "secret_field" not in found["heading"] and "unclosed" not in found["heading"], found
            shown = found.get("snippet") or found["passage"]
            assert word in shown.lower(), found


# 14 Writing notes


@pytest.mark.parametrize(
    "given",
    [{}, {"content": "text"}, {"title": "T"}, {"tags": ["x", "y"]}, {"confidence": 0.5}, {"source_task": "t-1"},
     {"provenance": "commit:ab12"}, {"content": "text", "tags": ["x", "y"], "title": "T"}],
)  # fmt: skip
def test_an_update_with_nothing_new_writes_nothing(
    call: CallTool, clock: FakeClock, data_dir: Path, given: dict[str, Any]
) -> None:
    whole = {"title": "T", "content": "text", "tags": ["x", "y"], "confidence": 0.5}
    whole |= {"source_task": "t-1", "provenance": "commit:ab12"}
    first = call("lithos_write", agent="a", **whole)
    before = text(data_dir, first["path"])
    clock.advance(60)
    again = call("lithos_write", agent="b", id=first["id"], **given)
    assert (again["id"], again["version"], again["path"]) == (first["id"], first["version"], first["path"])
    assert text(data_dir, first["path"]) == before
    assert call("lithos_read", id=first["id"])["metadata"].get("contributors", []) == []
    assert len(call("lithos_note_history", id=first["id"])["versions"]) <= 1


@pytest.mark.parametrize("empty", ["null", "~", "", "''"])
def test_an_empty_id_in_frontmatter_counts_as_none(call: CallTool, save: Save, data_dir: Path, empty: str) -> None:
    save("n.md", f"---\nid: {empty}\ntitle: N\n---\ntext\n")
    reindex(call)
    note = call("lithos_read", path="n")
    assert not note["metadata"].get("id")
    call("lithos_write", agent="a", id=note["id"], content="new")
    after = call("lithos_read", path="n")
    assert (after["id"], after["metadata"]["id"]) == (note["id"], note["id"])
    assert text(data_dir, "n.md").count("\nid:") == 1


@pytest.mark.parametrize(
    "file",
    [
        b"---\r\ntitle: Mixed\r\ntags: [a]\r\n---\nbody\n",
        b"---\ntitle: Mixed\ntags: [a]\n---\r\nbody\r\n",
        b"---\r\ntitle: Mixed\ntags: [a]\r\n---\r\nbody\n",
        b"\xef\xbb\xbf---\r\ntitle: Mixed\ntags: [a]\n---\nbody\n",
    ],
)
def test_mixed_line_ends_are_frontmatter(call: CallTool, save: Save, data_dir: Path, file: bytes) -> None:
    save("m.md", file)
    reindex(call)
    note = call("lithos_read", path="m")
    assert (note["title"], note["metadata"]["tags"], note["content"].strip()) == ("Mixed", ["a"], "body")
    call("lithos_write", agent="a", id=note["id"], tags=["b"])
    after = call("lithos_read", path="m")
    assert (after["title"], after["metadata"]["tags"], after["content"].strip()) == ("Mixed", ["b"], "body")


@pytest.mark.parametrize("form", ["[{}]", "{}", "\n  - {}"])
def test_a_tag_stays_as_it_is_typed(call: CallTool, save: Save, form: str) -> None:
    tags = ("true", "False", "1.0", "0x10", "1e3", "no", "2026-01-01", "012")
    for number, tag in enumerate(tags):
        save(f"t{number}.md", f"---\ntitle: T{number}\ntags: {form.format(tag)}\n---\nbody\n")
    reindex(call)
    assert call("lithos_tags")["tags"] == dict.fromkeys(tags, 1)
    for number, tag in enumerate(tags):
        assert call("lithos_read", path=f"t{number}")["metadata"]["tags"] in ([tag], tag)
        (item,) = call("lithos_list", tags=[tag])["items"]
        assert (item["path"], item["tags"]) == (f"t{number}.md", [tag])


@pytest.mark.parametrize("tag", ["true", "null", "no", "1.0"])
def test_a_tag_written_by_an_agent_survives_the_file(call: CallTool, tag: str) -> None:
    note = call("lithos_write", agent="a", title="T", content="x", tags=[tag])
    reindex(call)
    assert call("lithos_read", id=note["id"])["metadata"]["tags"] == [tag]
    assert call("lithos_tags")["tags"] == {tag: 1}


def test_an_expiry_without_a_policy_means_decay(call: CallTool, save: Save) -> None:
    written = call("lithos_write", agent="a", title="W", content="x", expires_at="2020-01-01")
    save("p.md", "---\ntitle: P\nexpires_at: 2020-01-01\n---\nx\n")
    save("keep.md", "---\ntitle: K\nexpires_at: 2020-01-01\nttl_policy: persistent\n---\nx\n")
    reindex(call)
    person = call("lithos_read", path="p")["id"]
    assert set(call("lithos_decay", dry_run=True)["stale_ids"]) == {written["id"], person}
    assert {item["path"] for item in call("lithos_list")["items"]} == {"keep.md"}


# 15 Refusals that say what is wrong


@pytest.fixture
def task(call: CallTool) -> str:
    return str(call("lithos_task_create", agent="a", title="T")["task_id"])


@pytest.mark.parametrize("tool", ["lithos_task_renew", "lithos_task_release"])
def test_an_aspect_that_was_never_claimed_is_not_called_lost(refused: Refuse, task: str, tool: str) -> None:
    refusal = refused(tool, task_id=task, aspect="never", agent="a")
    assert refusal["reason"] == "not_claimed" and "lithos_task_claim" in refusal["hint"]


def test_a_token_of_another_task_is_named_as_such(call: CallTool, refused: Refuse, task: str) -> None:
    other = call("lithos_task_create", agent="a", title="Other")["task_id"]
    call("lithos_task_claim", task_id=task, aspect="code", agent="a")
    token = call("lithos_task_claim", task_id=other, aspect="code", agent="a")["token"]
    for tool, more in (
        ("lithos_task_renew", {"aspect": "code"}),
        ("lithos_task_release", {"aspect": "code"}),
        ("lithos_task_complete", {}),
        ("lithos_finding_post", {"summary": "s"}),
    ):
        refusal = refused(tool, task_id=task, agent="a", claim_token=token, **more)
        said = refusal.get("reason") or refusal["code"]
        assert said == "wrong_token" and other in str(refusal), (tool, refusal)


@pytest.mark.parametrize("near", ["literature review", "Literature  Review", "literature-review", "LITERATURE_REVIEW"])
def test_a_near_miss_of_an_aspect_is_pointed_out(call: CallTool, refused: Refuse, task: str, near: str) -> None:
    call("lithos_task_claim", task_id=task, aspect="Literature Review", agent="a")
    for tool in ("lithos_task_renew", "lithos_task_release"):
        assert "Literature Review" in refused(tool, task_id=task, aspect=near, agent="a")["hint"]
    claimed = call("lithos_task_claim", task_id=task, aspect=near, agent="b")
    assert "Literature Review" in str(claimed)


def test_a_proposal_that_was_applied_says_so(call: CallTool, refused: Refuse) -> None:
    path = "users/ana/notes.md"
    call("lithos_fs_append", path=path, text="- a", rationale="r", **ANA)
    proposal = call("lithos_propose_change", path=path, content="- a\n- b\n", **ANA)["proposal_id"]
    call("lithos_apply_change", proposal_id=proposal, rationale="r", **ANA)
    refusal = refused("lithos_apply_change", proposal_id=proposal, rationale="r", **ANA)
    assert refusal["code"] == "conflict" and "already applied" in refusal["message"]
    call("lithos_fs_append", path=path, text="- c", rationale="r", **ANA)
    refusal = refused("lithos_apply_change", proposal_id=proposal, rationale="r", **ANA)
    assert "already applied" in refusal["message"]


@pytest.mark.parametrize("data", [b"\xff\xfe\x00 not text", b"x" * (5 * 2**20)])
def test_an_unreadable_file_is_not_called_missing(call: CallTool, refused: Refuse, save: Save, data: bytes) -> None:
    save("sub/bad.md", data)
    refusal = refused("lithos_read", path="sub/bad")
    assert refusal["code"] == "unsupported" and "sub/bad.md" in refusal["message"] and refusal["hint"], refusal
    reindex(call)
    assert refused("lithos_read", path="sub/bad.md")["code"] == "unsupported"
    assert refused("lithos_read", path="sub/nothing.md")["code"] == "not_found"


@pytest.mark.parametrize("references", [["ok", " "], ["", "ok"], ["\t", "ok"]])
def test_a_blank_among_the_evidence_is_no_reason_to_call_it_empty(
    call: CallTool, refused: Refuse, references: list[str]
) -> None:
    note = call("lithos_write", agent="a", title="T", content="x")["id"]
    wish = {"source_entry_id": note, "approved_by": "eve", "actor": "ann", "reason": "r", "evidence_refs": references}
    try:
        assert call("lithos_promote", _caller=OPERATOR, **wish)["evidence_refs"] == ["ok"]
    except LithosError as error:
        assert "blank" in error.message and "empty" not in error.message


def test_an_unknown_promotion_is_named(refused: Refuse) -> None:
    wish = {"agent": "a", "title": "P", "content": "x", "path": "procedural"}
    refusal = refused("lithos_write", **wish, provenance="event:01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert "01ARZ3NDEKTSV4RRFFQ69G5FAV" in refusal["message"] and "needs provenance" not in refusal["message"]
    assert "needs provenance" in refused("lithos_write", **wish)["message"]


def test_the_first_skill_is_uploaded_or_the_refusal_says_how(call: CallTool, refused: Refuse) -> None:
    try:
        assert call("mentisdb_upload_skill", agent_id="a", skill_id="s", content=SKILL)["skill"]["skill_id"] == "s"
    except LithosError as error:
        assert "mentisdb_bootstrap" in error.hint or "mentisdb_upsert_agent" in error.hint


def test_a_signed_append_to_a_new_chain_says_what_to_do(refused: Refuse) -> None:
    wish = {"thought_type": "Insight", "content": "x", "agent_id": "a", "chain_key": "new", "signing_key_id": "k"}
    for signature in ([0] * 64, base64.b64encode(bytes(64)).decode()):
        refusal = refused("mentisdb_append", **wish, thought_signature=signature)
        if refusal["code"] == "invalid_input" and "thought_signature" in refusal["message"]:
            continue  # the other spelling is the accepted one
        assert refusal["code"] == "invalid_input" and "mentisdb_add_agent_key" in refusal["hint"], refusal


def test_restoring_what_is_not_deleted_says_so(call: CallTool, refused: Refuse) -> None:
    note = call("lithos_write", agent="a", title="T", content="x")
    call("lithos_delete", id=note["id"], agent="a")
    call("lithos_note_restore", note=note["id"], agent="a")
    for name in (note["id"], note["path"]):
        refusal = refused("lithos_note_restore", note=name, agent="a")
        assert "not deleted" in refusal["message"] and "another note" not in refusal["message"], refusal
        assert refusal["hint"]


@pytest.mark.parametrize("first", ["lithos_task_complete", "lithos_task_cancel"])
@pytest.mark.parametrize("second", ["lithos_task_complete", "lithos_task_cancel", "lithos_finding_post"])
def test_ending_a_task_twice_says_who_did_it_and_what_to_do(
    call: CallTool, refused: Refuse, task: str, first: str, second: str
) -> None:
    call(first, task_id=task, agent="ann")
    if second == "lithos_finding_post":
        return
    refusal = refused(second, task_id=task, agent="b")
    assert refusal["reason"] in ("task_completed", "task_cancelled") and refusal["hint"], refusal


def test_every_answer_that_says_no_says_what_to_do(call: CallTool, refused: Refuse, task: str) -> None:
    note = call("lithos_write", agent="a", title="T", content="x")["id"]
    call("lithos_delete", id=note, agent="a")
    assert refused("lithos_delete", id=note, agent="a")["hint"]
    assert refused("lithos_delete", id="nothing", agent="a")["hint"]


@pytest.mark.parametrize("unit", ["seconds", "milliseconds"])
def test_a_negative_time_window_is_refused(call: CallTool, refused: Refuse, unit: str) -> None:
    call("mentisdb_append", thought_type="Insight", content="x", agent_id="a")
    window = {"start": 1_767_225_600, "delta": -1, "unit": unit}
    refusal = refused("mentisdb_traverse_thoughts", time_window=window)
    assert refusal["code"] == "invalid_input" and "delta" in refusal["message"]


# 16 The ledger's memory


def test_a_key_of_a_forgotten_thought_with_other_arguments_is_reused(call: CallTool, refused: Refuse) -> None:
    wish = {"thought_type": "Insight", "agent_id": "a", "idempotency_key": "k"}
    call("mentisdb_append", content="x", **wish)
    call("lithos_ledger_forget", _caller=OPERATOR, thought_index=0, reason="asked")
    assert refused("mentisdb_append", content="other", **wish)["code"] == "key_reused"
    assert refused("mentisdb_append", content="x", tags=["t"], **wish)["code"] == "key_reused"


def test_the_event_of_feedback_names_question_and_notes(call: CallTool) -> None:
    note = call("lithos_write", agent="a", title="T", content="x")["id"]
    other = call("lithos_write", agent="a", title="U", content="y")["id"]
    wish = {"used_ids": [note], "returned_ids": [note, other], "outcome": "helped", "query": "how do we retry"}
    event = call("lithos_feedback", agent="a", **wish)["event_id"]
    rows = call("lithos_events_query", type="retrieval")["rows"]
    details = next(row["details"] for row in rows if row["id"] == event)
    assert details["query"] == "how do we retry"
    assert details["used_ids"] == [note] and details["returned_ids"] == [note, other]


def test_a_thought_without_a_name_shows_the_registered_one(call: CallTool) -> None:
    call("mentisdb_append", thought_type="Insight", content="first", agent_id="a")
    call("mentisdb_upsert_agent", agent_id="reg", display_name="Regina", agent_owner="ops")
    thought = call("mentisdb_append", thought_type="Insight", content="x", agent_id="reg")["thought"]
    assert (thought["agent_name"], thought["agent_owner"]) == ("Regina", "ops")
    later = call("mentisdb_append_retrospective", content="x", agent_id="reg")["thought"]
    assert later["agent_name"] == "Regina"


# 23 Absolute paths


@pytest.mark.parametrize("path", ["/etc/passwd", "/tmp/x.md", "/sub/t", "//t"])
def test_an_absolute_path_is_refused_by_every_tool(call: CallTool, refused: Refuse, data_dir: Path, path: str) -> None:
    note = call("lithos_write", agent="a", title="T", content="x", path="sub")["id"]
    for tool, arguments in (
        ("lithos_write", {"title": "U", "content": "x", "path": path}),
        ("lithos_read", {"path": path}),
        ("lithos_move", {"id": note, "to": path}),
        ("lithos_fs_read", {"path": path, "user_id": "ana"}),
        ("lithos_fs_append", {"path": path, "text": "x", "rationale": "r", "user_id": "ana"}),
        ("lithos_fs_write", {"path": path, "content": "x", "rationale": "r", "user_id": "ana"}),
        ("lithos_fs_list", {"path": path, "user_id": "ana"}),
        ("lithos_fs_ensure_dir", {"path": path, "user_id": "ana"}),
        ("lithos_fs_search", {"pattern": "x", "root": path, "user_id": "ana"}),
        ("lithos_md_list_sections", {"path": path, "user_id": "ana"}),
        ("lithos_propose_change", {"path": path, "content": "x", "user_id": "ana"}),
    ):
        refusal = refused(tool, agent="a", **arguments)
        assert refusal["code"] in ("invalid_input", "forbidden"), (tool, refusal)
    assert sorted(file.name for file in (data_dir / "knowledge").rglob("*.md")) == ["t.md"]


def test_a_slash_alone_means_the_top_where_a_folder_is_asked_for(call: CallTool) -> None:
    written = call("lithos_write", agent="a", title="T", content="x", path="/")
    assert written["path"] == "t.md"
    assert ids(call, path_prefix="/") == [written["id"]]
    assert call("lithos_search", query="x", path_prefix="/")["results"]
