"""What a person does on the pages, with the tools' answer as the judge; the actor is the person."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.web.conftest import Site
from tests.web.memory import ANN, BOB, OPERATOR, OTHER, PROFILE

Visit = Callable[..., Any]


def test_a_person_creates_claims_reports_and_ends_a_task(site: Site, visit: Visit) -> None:
    page = visit(operator=True)
    page.goto("/board")
    page.get_by_text("New task").click()
    page.get_by_label("Title", exact=True).fill("Paint the door")
    page.get_by_label("Tags, with commas").fill("home, #paint")
    page.get_by_label("Waits for (id or title)").fill("Pick a name")
    page.get_by_role("button", name="Create the task").click()
    page.wait_for_url("**/board/*")
    task = page.url.rsplit("/", 1)[1]
    assert page.get_by_text("blocked").first.is_visible()
    page.get_by_label("Aspect").fill("outside")
    page.get_by_role("button", name="Claim").click()
    page.get_by_text("works on").wait_for()
    shown = site.call("lithos_task_status", task_id=task)["tasks"][0]
    me = page.locator(".who .name").inner_text()
    assert [(each["agent"], each["aspect"]) for each in shown["claims"]] == [(me, "outside")]
    assert (shown["created_by"], shown["tags"]) == (me, ["home", "paint"])
    page.get_by_label("Report a finding").fill("It needs two coats.")
    page.get_by_role("button", name="Report").click()
    page.get_by_text("It needs two coats.").wait_for()
    page.get_by_role("button", name="Give back").click()
    page.get_by_text("No one works on it.").wait_for()
    page.get_by_role("button", name="Complete").click()
    page.get_by_role("button", name="Open again").click()
    page.get_by_role("button", name="Cancel the task").click()
    page.get_by_role("button", name="Open again").wait_for()
    assert site.call("lithos_task_status", task_id=task)["tasks"][0]["status"] == "cancelled"


def test_a_refused_claim_says_who_holds_it(site: Site, visit: Visit) -> None:
    page = visit(operator=True)
    page.watched.allowed.add(409)
    page.goto(f"/board/{site.ids['Measure the queue']}")
    page.get_by_label("Aspect").fill("idle")
    page.get_by_role("button", name="Claim").click()
    assert "bob holds it" in page.get_by_role("alert").inner_text()


def test_the_board_follows_what_agents_do(site: Site, visit: Visit) -> None:
    page = visit()
    page.goto("/board")
    page.locator("[data-live-state]:not([hidden]):not(.off)").wait_for()
    made = site.call("lithos_task_create", title="Came while you looked", agent="ann")
    page.get_by_role("link", name="Came while you looked").wait_for()
    site.call("lithos_task_claim", BOB, task_id=made["task_id"], aspect="all", agent="bob", ttl_minutes=30)
    page.locator(".task-card", has_text="Came while you looked").get_by_text("min left").wait_for()


def test_a_bundle_a_proof_and_a_checkpoint_verify_elsewhere(site: Site, visit: Visit, tmp_path: Path) -> None:
    page = visit(operator=True, accept_downloads=True)
    page.goto("/ledger")
    assert page.get_by_text("Every hash holds").is_visible()
    with page.expect_download() as got:
        page.get_by_role("button", name="Download the bundle").click()
    got.value.save_as(tmp_path / "bundle")
    with page.expect_download() as got:
        page.get_by_role("link", name="Download the checkpoint").click()
    got.value.save_as(tmp_path / "checkpoint.json")
    page.get_by_role("link", name="#2", exact=True).click()
    assert page.get_by_text("this Corrects #0").is_visible()
    with page.expect_download() as got:
        page.get_by_role("link", name="Download the proof").click()
    got.value.save_as(tmp_path / "proof.json")
    verify = [sys.executable, "-m", "lithos.ledger.proofs.verify_bundle"]
    for name in ("bundle", "proof.json"):
        assert subprocess.run([*verify, str(tmp_path / name)], capture_output=True, check=False).returncode == 0, name
    assert json.loads((tmp_path / "checkpoint.json").read_text())["size"] >= 4


def test_proposals_are_approved_and_refused_and_a_change_is_undone(site: Site, visit: Visit) -> None:
    page = visit(operator=True)
    page.goto("/garden")
    page.get_by_role("article", name=f"Proposal for {PROFILE}").get_by_role("button", name="Approve").click()
    page.wait_for_url("**/garden")
    assert "warm" in site.call("lithos_fs_read", path=PROFILE, user_id="vera")["content"]
    page.get_by_role("article", name=f"Proposal for {OTHER}").get_by_role("button", name="Refuse").click()
    page.get_by_text("No proposed change waits.").wait_for()
    assert site.call("lithos_proposal_list")["proposals"] == []
    site.call("lithos_write", ANN, id=site.ids["Leases"], content="# Leases\n\nWrong words.\n")
    page.goto("/garden?type=note&agent=ann")
    page.get_by_role("button", name="Undo note update").first.click()
    assert page.get_by_role("status").first.inner_text().startswith("Undone")
    assert "Wrong words" not in site.call("lithos_read", id=site.ids["Leases"])["content"]
    newest = site.call("lithos_events_query", limit=1)["rows"][0]
    assert newest["agent"] == page.locator(".who .name").inner_text()
    page.goto("/garden?status=failed&since=1h")
    assert page.get_by_text("No event fits.").is_visible()


def test_a_person_converses_with_an_agent_while_the_page_is_open(site: Site, visit: Visit) -> None:
    page = visit(operator=True)
    page.goto("/mail/write?to=cleo")
    page.get_by_label("Subject").fill("A question")
    page.get_by_label("Text").fill("Do you read me?")
    page.get_by_role("button", name="Send").click()
    page.wait_for_url("**/mail/thread/*")
    page.locator("[data-live-state]:not([hidden]):not(.off)").wait_for()
    thread = page.url.rsplit("/", 1)[1]
    sent = site.call("lithos_message_get", OPERATOR, message_id=thread)["message"]
    assert (sent["source"], sent["person"], sent["target"]) == ("operator", True, "cleo")
    cleo = {"agent": "cleo"}
    for _ in range(3):  # the letter of the week is before it in the queue
        taken = site.call("lithos_inbox_take", ANN, **cleo)["messages"][0]
        lease = {"message_id": taken["message"]["id"], "token": taken["token"], **cleo}
        if taken["message"]["id"] == thread:
            site.call("lithos_inbox_reply", ANN, **lease, body="Loud and clear.")
            break
        site.call("lithos_inbox_ack", ANN, **lease)
    page.get_by_text("Loud and clear.").wait_for()
    page.get_by_label("Text").fill("Good.")
    page.get_by_role("button", name="Send").click()
    page.locator(".letter", has_text="Good.").wait_for()
    page.goto("/mail")
    page.get_by_role("button", name="Mark all as read").click()
    page.wait_for_url("**/mail")
    assert site.call("lithos_inbox_list", OPERATOR, unread=True)["waiting"] == 0


def test_lists_of_conversations_inboxes_and_dead_letters_follow_what_happens(site: Site, visit: Visit) -> None:
    lists, dead = visit(operator=True), visit(operator=True)
    lists.goto("/mail")
    dead.goto("/mail/dead")
    for page in (lists, dead):
        page.locator("[data-live-state]:not([hidden]):not(.off)").wait_for()
    site.call("lithos_inbox_take", ANN, agent="dora")
    sent = site.call("lithos_message_send", ANN, target="dora", body="Water the roses")
    row = lists.locator("#mail li", has_text="Water the roses")
    row.get_by_text("1 waiting").wait_for()
    inbox = lists.locator(".inboxes li", has_text="dora")
    inbox.locator(".badge", has_text="1").wait_for()
    taken = site.call("lithos_inbox_take", ANN, agent="dora")["messages"][0]
    inbox.locator(".badge", has_text="1").wait_for(state="detached")
    lease = {"message_id": sent["message_id"], "token": taken["token"], "agent": "dora"}
    site.call("lithos_inbox_fail", ANN, **lease, error="no water", retry=False)
    dead.get_by_text("no water").wait_for()
    row.get_by_text("1 failed").wait_for()
    lists.locator(".inboxes a", has_text="dora").click()
    lists.get_by_role("heading", name="Conversations of dora").wait_for()
    assert lists.locator("#mail li[data-item]").count() == 1
    site.call("lithos_dead_letter_drop", OPERATOR, message_id=sent["message_id"])


def test_dead_letters_are_replayed_and_dropped(site: Site, visit: Visit) -> None:
    page = visit(operator=True)
    page.goto("/mail/dead")
    letters = site.call("lithos_dead_letter_list", OPERATOR)["dead_letters"]
    assert len(letters) == 2
    page.get_by_role("button", name="Replay").first.click()
    page.wait_for_url("**/mail/dead")
    page.get_by_role("button", name="Drop").first.click()
    page.get_by_text("None", exact=False).first.wait_for()
    assert site.call("lithos_dead_letter_list", OPERATOR)["dead_letters"] == []
    waiting = site.call("lithos_inbox_list", BOB, unread=True)["messages"]
    again = site.call("lithos_message_get", OPERATOR, message_id=waiting[0]["id"])["message"]
    assert again["metadata"]["replay_of"] == letters[0]["message_id"]


def test_the_graph_is_searched_filtered_and_narrowed_to_a_neighbourhood(site: Site, visit: Visit) -> None:
    page = visit()
    page.goto("/graph")
    page.locator("[data-graph][data-ready=yes]").wait_for()
    state = page.locator("[data-graph-state]")
    total = int(state.inner_text().split()[0])
    assert total >= 8
    page.get_by_label("Find a note").fill("timeou")
    assert state.inner_text().startswith("1 found")
    page.get_by_label("Find a note").press("Enter")
    link = page.locator("[data-graph-link]")
    assert link.inner_text() == "Timeouts"
    page.get_by_label("Neighbourhood").select_option("1")
    page.get_by_label("Find a note").fill("")
    near = int(state.inner_text().split()[0])
    expected = site.call("lithos_links", id=site.ids["Timeouts"])
    around = {each["id"] for each in [*expected["outgoing"], *expected["incoming"]]}
    assert near == len(around) + 1
    page.get_by_label("Neighbourhood").select_option("0")
    page.get_by_label("Folder").select_option("guides")
    assert state.inner_text() == "4 notes"
    page.get_by_label("Tag").select_option("core")
    assert state.inner_text() == "1 notes"  # the chosen note stays
    before = int(page.locator("[data-graph]").get_attribute("data-frames") or 0)
    page.get_by_role("button", name="Zoom in").click()
    page.locator("canvas").press("ArrowLeft")
    page.wait_for_function(f"() => Number(document.querySelector('[data-graph]').dataset.frames) > {before}")
    link.click()
    page.wait_for_url(f"**/note/{site.ids['Timeouts']}")
