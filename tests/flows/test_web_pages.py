"""The pages over real HTTP, without a browser: what they show, what their forms do, what is refused."""

from __future__ import annotations

import html
import re
from base64 import b64decode
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import httpx
import pytest

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.tools.caller import Caller
from tests.conftest import CallTool
from tests.support.wire import serving
from tests.web.memory import Memory

FIELD = re.compile(r'name="(key|version|if_match|base_title|base_tags)" value="([^"]*)"')


class Browser(httpx.Client):
    """Signed in as the owner of a token unless said otherwise; posts as its own page would."""

    def post_form(self, path: str, **fields: str) -> httpx.Response:
        return self.post(path, data=fields, headers={"origin": str(self.base_url).rstrip("/")})

    def fields(self, path: str) -> dict[str, str]:
        """Hidden fields of the first form with each name."""
        found: dict[str, str] = {}
        for name, value in FIELD.findall(self.get(path).text):
            found.setdefault(name, html.unescape(value))
        return found


@pytest.fixture
def url(lithos: Lithos) -> Iterator[str]:
    with serving(lithos) as (address, _):
        yield address


@pytest.fixture
def browser(url: str, lithos: Lithos) -> Iterator[Browser]:
    with _browser(url) as client:
        client.post_form("/sign-in", token=_token(lithos, user="maria"))
        yield client


def _browser(url: str) -> Browser:
    return Browser(base_url=url, headers={"accept": "text/html"}, timeout=60, verify=False)


def _token(lithos: Lithos, **facts: Any) -> str:
    return lithos.tokens.new(Call("lithos_token_new"), "test", **facts)["token"]


def test_a_note_is_shown_with_its_links_and_backlinks(browser: Browser, call: CallTool) -> None:
    here = call("lithos_write", title="Retry", content="See [[Backoff]] and [[Nothing]].", agent="a", tags=["ops"])
    there = call("lithos_write", title="Backoff", content="Used by [[Retry]].", agent="b")
    shown = browser.get(f"/note/{here['id']}").text
    assert f'<a class="wiki" href="/note/{there["id"]}">Backoff</a>' in shown
    assert 'class="wiki broken"' in shown
    assert "Linked from" in shown
    assert "#ops" in shown
    assert browser.get("/note/Retry").status_code == 200
    assert browser.get("/note/retry.md").status_code == 200


def test_a_person_edits_a_note_and_the_audit_names_the_person(browser: Browser, call: CallTool) -> None:
    note = call("lithos_write", title="Retry", content="Three times.", agent="a")
    path = f"/note/{note['id']}/edit"
    hidden = browser.fields(path)
    saved = browser.post_form(
        path, title="Retry", content="Four times.\r\nYes.", tags="x, y", base="Three times.", **hidden
    )
    assert (saved.status_code, saved.headers["location"]) == (303, f"/note/{note['id']}")
    now = call("lithos_read", id=note["id"])
    assert (now["content"], now["metadata"]["tags"]) == ("Four times.\nYes.", ["x", "y"])
    assert call("lithos_note_history", id=note["id"])["versions"][0]["agent"] == "maria"
    again = browser.post_form(
        path, title="Retry", content="Four times.\r\nYes.", tags="x, y", base="Three times.", **hidden
    )
    assert again.status_code == 303  # the same form twice is one change
    assert len(call("lithos_note_history", id=note["id"])["versions"]) == 2


def test_an_edit_of_a_note_that_changed_meanwhile_shows_all_texts_and_loses_none(
    browser: Browser, call: CallTool
) -> None:
    note = call("lithos_write", title="Retry", content="one\ntwo\nthree", agent="a")
    path = f"/note/{note['id']}/edit"
    hidden = browser.fields(path)
    call("lithos_write", id=note["id"], content="one\ntwo\nTHREE", agent="robot")
    answer = browser.post_form(
        path, title="Retry", content="ONE\ntwo\nthree", tags="", base="one\ntwo\nthree", **hidden
    )
    assert answer.status_code == 409
    assert call("lithos_read", id=note["id"])["content"] == "one\ntwo\nTHREE"
    assert "robot" in answer.text
    assert "ONE\ntwo\nTHREE</textarea>" in answer.text
    merged = {name: html.unescape(value) for name, value in FIELD.findall(answer.text)}
    browser.post_form(path, title="Retry", content="ONE\ntwo\nTHREE", tags="", base="", **merged)
    assert call("lithos_read", id=note["id"])["content"] == "ONE\ntwo\nTHREE"


def test_a_title_and_tags_that_an_agent_changed_meanwhile_are_kept(browser: Browser, call: CallTool) -> None:
    note = call("lithos_write", title="Retry", content="one", tags=["old", "kept"], agent="a")
    path = f"/note/{note['id']}/edit"
    hidden = browser.fields(path)
    call("lithos_write", id=note["id"], title="Retry twice", tags=["kept", "theirs"], agent="robot")
    answer = browser.post_form(path, title="Retry", content="two", tags="old, kept, mine", base="one", **hidden)
    assert answer.status_code == 409
    assert 'name="title" value="Retry twice"' in answer.text  # the person left the title alone
    assert 'name="tags" value="kept, theirs, mine"' in answer.text
    both = browser.post_form(path, title="Retry once", content="two", tags="", base="one", **{**hidden, "key": "k2"})
    assert 'name="title" value="Retry once"' in both.text
    assert "The title in the memory is now" in both.text
    assert 'name="tags" value="theirs"' in both.text


def test_a_note_leads_to_its_neighbourhood_and_to_the_notes_that_its_properties_name(
    browser: Browser, call: CallTool
) -> None:
    old = call("lithos_write", title="Old", content="old", agent="a")
    new = call("lithos_write", title="New", content="new", agent="a")
    call("lithos_write", id=old["id"], superseded_by=new["id"], agent="a")
    shown = browser.get(f"/note/{old['id']}").text
    assert f'href="/graph?around={old["id"]}"' in shown
    assert f'<dd><a href="/note/{new["id"]}">' in shown
    history = browser.get(f"/note/{new['id']}/history").text
    assert "with another note" in history
    assert "a person, in the file" not in history


def test_two_tabs_that_edit_one_place_see_both_versions(browser: Browser, call: CallTool) -> None:
    note = call("lithos_write", title="Retry", content="one\ntwo", agent="a")
    path = f"/note/{note['id']}/edit"
    first, second = browser.fields(path), browser.fields(path)
    assert (
        browser.post_form(path, title="Retry", content="one\nMINE", tags="", base="one\ntwo", **first).status_code
        == 303
    )
    answer = browser.post_form(path, title="Retry", content="one\nYOURS", tags="", base="one\ntwo", **second)
    assert answer.status_code == 409
    assert "&lt;&lt;&lt;&lt;&lt;&lt;&lt; yours\nYOURS\n=======\nMINE\n" in answer.text


def test_a_version_is_compared_and_brought_back(browser: Browser, call: CallTool) -> None:
    note = call("lithos_write", title="Retry", content="three times", agent="a")
    old = note["version"]
    call("lithos_write", id=note["id"], content="four times", agent="b")
    assert "Go back to before this" in browser.get(f"/note/{note['id']}/history").text
    shown = browser.get(f"/note/{note['id']}/diff", params={"old": old}).text
    assert "<del><bdi>three</bdi></del>" in shown
    assert "<ins><bdi>four</bdi></ins>" in shown
    done = browser.post_form(f"/note/{note['id']}/revert", version=old, key="k1")
    assert done.status_code == 303
    assert call("lithos_read", id=note["id"])["content"] == "three times"


def test_a_note_is_superseded_forgotten_and_restored(browser: Browser, call: CallTool) -> None:
    old = call("lithos_write", title="Old", content="old", agent="a")
    call("lithos_write", title="New", content="new", agent="a")
    version = browser.fields(f"/note/{old['id']}")["version"]
    assert browser.post_form(f"/note/{old['id']}/supersede", by="New", version=version, key="s1").status_code == 303
    shown = browser.get(f"/note/{old['id']}").text
    assert "Superseded by" in shown
    assert browser.post_form(f"/note/{old['id']}/forget", version="sha256:stale", key="f0").status_code == 409
    version = browser.fields(f"/note/{old['id']}")["version"]
    assert browser.post_form(f"/note/{old['id']}/forget", version=version, key="f1").status_code == 303
    assert browser.get(f"/note/{old['id']}").status_code == 404
    assert "Restore it" in browser.get(f"/note/{old['id']}/history").text
    assert browser.post_form(f"/note/{old['id']}/restore", key="r1").status_code == 303
    assert browser.get(f"/note/{old['id']}").status_code == 200


def test_a_new_note_is_written_and_a_refused_one_keeps_its_text(browser: Browser, call: CallTool) -> None:
    made = browser.post_form("/note-new", title="Fresh", content="text", tags="a", folder="ideas", key="n1")
    assert made.status_code == 303
    assert call("lithos_read", id="Fresh")["path"] == "ideas/fresh.md"
    bad = browser.post_form("/note-new", title="Fresh2", content="my long text", tags="", folder="../etc", key="n2")
    assert bad.status_code == 400
    assert "my long text</textarea>" in bad.text


def test_search_finds_every_kind_and_shows_why(browser: Browser, call: CallTool) -> None:
    call("lithos_write", title="Retry policy", content="Exponential backoff after a failed call.", agent="a")
    call("lithos_task_create", title="Measure the backoff", agent="a")
    shown = browser.get("/search", params={"q": "backoff"}).text
    assert "Retry policy" in shown
    assert "Measure the backoff" in shown
    assert 'class="legs"' in shown
    part = browser.get("/search", params={"q": "backoff", "kind": "task"}, headers={"hx-request": "true"}).text
    assert "<html" not in part
    assert "Retry policy" not in part
    assert "Nothing found" in browser.get("/search", params={"q": "zzzzqqq", "kind": "skill"}).text
    assert browser.get("/search", params={"q": "\x00'\"<script>"}).status_code == 200


def test_home_agents_and_health_show_what_the_tools_say(browser: Browser, call: CallTool) -> None:
    call("lithos_write", title="Retry policy", content="Text [[gone]].", agent="ana")
    call("lithos_task_create", title="Measure it", agent="ana")
    home = browser.get("/").text
    assert "Retry policy" in home
    assert "Measure it" in home
    assert "Broken links" in browser.get("/home/problems").text
    assert "ana" in browser.get("/agents").text
    assert "Retry policy" in browser.get("/agents/ana").text
    call("lithos_stats", agent="eve")
    assert "Nothing has changed in the last 30 days." in browser.get("/agents/eve").text
    health = browser.get("/status").text
    assert "Broken links" in browser.get("/status/vault").text
    assert "Examine" not in health  # a token is not the operator
    assert browser.post_form("/status/doctor").status_code == 403


def test_a_token_that_only_reads_sees_no_buttons_and_changes_nothing(url: str, lithos: Lithos, call: CallTool) -> None:
    note = call("lithos_write", title="Retry", content="text", agent="a")
    with _browser(url) as client:
        client.post_form("/sign-in", token=_token(lithos, scope="read"))
        for path in ("/", f"/note/{note['id']}", f"/note/{note['id']}/history", "/status"):
            forms = re.findall(r'<form[^>]*method="post"[^>]*action="([^"]*)"', client.get(path).text)
            assert forms == ["/sign-out"], path
        refused = client.post_form(f"/note/{note['id']}/forget", version=note["version"], key="k")
        assert refused.status_code == 403
    with _browser(url) as stranger:
        assert stranger.post_form(f"/note/{note['id']}/forget", version=note["version"], key="k").status_code == 403
        kept = stranger.post_form(f"/note/{note['id']}/edit", content="typed for an hour", version=note["version"])
        assert kept.status_code == 403
        assert "typed for an hour</textarea>" in kept.text  # the sign-in has ended, the text is not lost
    assert call("lithos_read", id=note["id"])["content"] == "text"


def test_tokens_see_pages_without_what_they_may_not_do(url: str, lithos: Lithos) -> None:
    memory, bob = Memory(lithos), Caller(agent="bob")
    memory.call("lithos_inbox_list", bob)
    memory.call("lithos_message_send", Caller(agent="ann"), target="bob", body="work")
    taken = memory.call("lithos_inbox_take", bob)["messages"][0]
    lease = {"message_id": taken["message"]["id"], "token": taken["token"]}
    memory.call("lithos_inbox_fail", bob, **lease, error="no", retry=False)
    with _browser(url) as client:
        client.post_form("/sign-in", token=_token(lithos, agent="bob"))
        shown = client.get("/mail/dead").text
        assert "The conversation" in shown
        assert "<button>Replay" not in shown  # for persons
        assert client.get("/garden").status_code == 200
    with _browser(url) as client:
        client.post_form("/sign-in", token=_token(lithos, scope="read"))
        shown = client.get("/garden")
        assert shown.status_code == 200
        assert "does not see everybody" in shown.text


def test_the_graph_names_the_targets_of_each_note(browser: Browser, call: CallTool) -> None:
    for title, content in (("A", "[[C]] [[B]]"), ("B", "[[C]]"), ("C", "end \u202e")):
        call("lithos_write", title=title, content=content, agent="a")
    found = browser.get("/graph/data").json()
    places = {title: place for place, title in enumerate(found["titles"].split("\n"))}
    ids = b64decode(found["ids"])
    assert list(b64decode(found["targets"])) == [2, 1, 1, 1, 2, 0]  # A to 1 and 2, B to 2; each less the one before
    assert [UUID(bytes=ids[at : at + 16]) for at in range(0, len(ids), 16)] == [
        UUID(call("lithos_read", id=t)["id"]) for t in places
    ]
    assert (places, list(b64decode(found["folder"]))) == ({"A": 0, "B": 1, "C": 2}, [3, 0, 0, 0])


@pytest.mark.parametrize(
    "path",
    [
        "/note/../../etc/passwd",
        "/note/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/note/%00",
        "/note/" + "x" * 5000,
        "/note/.lithos/host.lock",
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/agents/%3Cscript%3E",
        "/note/a/b/c/../d",
        "/agents/a%0Ab",
    ],
)
def test_path_games_find_nothing(browser: Browser, path: str) -> None:
    answer = browser.get(path)
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.status_code in (400, 404), answer.text
    assert "root:" not in answer.text
    assert "<script>" not in answer.text


def test_pages_of_a_hostile_note_escape_everything(browser: Browser, call: CallTool) -> None:
    evil = "</textarea><script>alert(1)</script><img src=x onerror=alert(1)>"
    title = 'T "><svg onload=alert(1)> \u202e'
    note = call(
        "lithos_write", title=title, content=f'{evil} [x](javascript:alert(1)) [[a"onclick=x|{evil}]]', agent="<b>x</b>"
    )
    call("lithos_task_create", title=evil, agent='"><script>')
    for path in (
        "/",
        "/agents",
        "/search",
        "/search?q=alert",
        f"/note/{note['id']}",
        f"/note/{note['id']}/edit",
        f"/note/{note['id']}/history",
        "/agents/%3Cb%3Ex%3C%2Fb%3E",
    ):
        shown = browser.get(path)
        assert shown.status_code == 200, path
        for bad in ("<script>alert", "<img src=x", "<svg onload", "<b>x</b>", 'href="javascript:'):
            assert bad not in shown.text, (path, bad)


def test_a_huge_note_is_shown_in_part_and_whole_as_text(browser: Browser, call: CallTool) -> None:
    text = "word " * 60_000
    note = call("lithos_write", title="Huge", content=text, agent="a")
    shown = browser.get(f"/note/{note['id']}")
    assert "The text goes on" in shown.text
    assert len(shown.text) < 200_000
    raw = browser.get(f"/note/{note['id']}/raw")
    assert raw.headers["content-type"] == "text/plain; charset=utf-8"
    assert raw.text.strip() == text.strip()


def test_home_shows_what_waits_for_the_person_and_who_works_on_what(url: str, lithos: Lithos, call: CallTool) -> None:
    task = call("lithos_task_create", title="Measure it", agent="ana")["task_id"]
    call("lithos_task_claim", task_id=task, aspect="idle", agent="bob", ttl_minutes=30)
    file = "users/maria/parts/kitchen/notes.md"
    call("lithos_propose_change", path=file, content="# Kitchen\n", user_id="maria")
    with _browser(url) as client:
        assert "Waiting for you" not in client.get("/").text
        client.post_form("/sign-in", token=_token(lithos, user="maria"))
        home = client.get("/").text
        assert re.search(r'href="/garden">Proposed changes to approve</a><span class="badge warn">1<', home)
        assert re.search(r"(?s)In progress.*Measure it.*bob.*idle.*min left.*Ready tasks", home)
        side = client.get("/home/side", headers={"hx-request": "true"}).text
        assert "Measure it" in side
        assert home.index("Waiting for you") < home.index(">Activity<")  # on a phone it comes first
        assert "Proposed changes" in client.get("/home/waiting", headers={"hx-request": "true"}).text
        assert "<html" not in side


def test_the_audit_names_tasks_by_title_and_agents_by_what_they_did(url: str, call: CallTool) -> None:
    call("lithos_task_create", title="Paint the door", agent="ana")
    call("lithos_write", title="Retry policy", content="See [[Backoff|the backoff]].", agent="bob")
    with _browser(url) as client:
        assert re.search(r'href="/board/[^"]+"><bdi>Paint the door</bdi></a>', client.get("/garden").text)
        assert re.search(r"(?s)bob</bdi></a>.*?Retry policy.*?</tr>", client.get("/agents").text)
        assert "See the <mark>backoff</mark>." in client.get("/search?q=backoff").text


def test_an_error_leads_on_and_names_no_tool(browser: Browser, call: CallTool) -> None:
    missing = browser.get("/note/Retry%20policy.md")
    assert missing.status_code == 404
    assert "Search for “Retry policy”" in missing.text
    assert "/note-new?title=Retry%20policy" in missing.text
    note = call("lithos_write", title="Gone", content="Text.", agent="ana")
    call("lithos_delete", id=note["id"], agent="ana")
    deleted = browser.get(f"/note/{note['id']}")
    assert f'href="/note/{note["id"]}/history"' in deleted.text
    for path, section in (("/board/nowhere", "/board"), ("/mail/thread/nowhere", "/mail"), ("/agents/no", "/agents")):
        answer = browser.get(path)
        assert f'href="{section}">' in answer.text.partition('role="alert"')[2]
        assert "lithos_" not in answer.text
    assert "lithos_" not in missing.text + deleted.text


def test_an_empty_memory_says_how_to_begin(url: str, browser: Browser, call: CallTool) -> None:
    assert "Three ways to begin" in browser.get("/").text
    assert "lithos setup" in browser.get("/home/side").text  # the person who looks is no agent
    assert "Each note becomes a point" in browser.get("/graph").text
    call("lithos_write", title="First", content="Text.", agent="ana")
    assert "Three ways to begin" not in browser.get("/").text


def test_a_search_without_a_result_offers_one_without_filters(browser: Browser, call: CallTool) -> None:
    call(
        "lithos_write",
        title="Retry policy",
        content="We **retry** twice, see [the page](https://example.org).",
        agent="ana",
    )
    found = browser.get("/search?q=retries").text
    assert "We <mark>retry</mark> twice, see the page." in found
    assert "Search without filters" in browser.get("/search?q=retries&folder=elsewhere").text
    assert "Search without filters" not in found


def test_properties_are_spelled_as_their_author_did(browser: Browser, lithos: Lithos) -> None:
    (lithos.storage.data_dir / "knowledge/kept.md").write_text(
        "---\ntitle: Kept\napi:\n- {kind: Ingress, stable: true}\n---\nText.\n", encoding="utf-8"
    )
    lithos.notes.index.reconcile()
    shown = browser.get("/note/Kept").text
    assert "kind: Ingress, stable: true" in shown
    assert "<dt>created</dt>" not in shown
