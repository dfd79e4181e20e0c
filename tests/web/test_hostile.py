"""Hostile texts, stored through the tools and shown on every page: nothing runs, nothing is asked elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from lithos.errors import LithosError
from lithos.tools.caller import Caller
from tests.web.conftest import Site
from tests.web.hostile import CORPUS
from tests.web.memory import ANN, BOB, OPERATOR

PIECE = 30  # strings in one text: a hundred pages of one string each would show no more


def _store(site: Site) -> dict[str, int]:
    """Each string through each tool that stores a text. How many each tool took: some refuse, which is fine."""
    took: dict[str, int] = {}

    def put(tool: str, caller: Caller = ANN, **arguments: Any) -> dict[str, Any] | None:
        try:
            answer = site.call(tool, caller, **arguments)
        except LithosError:
            return None
        took[tool] = took.get(tool, 0) + 1
        return answer

    for place, text in enumerate(CORPUS):
        put("lithos_agent_register", id=text, name=text, metadata={"x": text})
        made = put("lithos_task_create", Caller(agent=text), title=text, description=text, agent=text, tags=[text])
        task = made["task_id"] if made else site.ids["Pick a name"]
        put("lithos_task_claim", Caller(agent=text), task_id=task, aspect=text, agent=text, ttl_minutes=30)
        put("lithos_finding_post", task_id=task, agent="ann", summary=text)
        put("mentisdb_append", agent_id="ann", chain_key="hostile", thought_type="Idea", content=text, tags=[text])
        put("mentisdb_append", agent_id=text, agent_name=text, chain_key="hostile", thought_type="Idea", content=text)
        put("lithos_message_send", target="operator", payload={"subject": text, "body": text})
        put("lithos_message_send", target="bob", type="acme.thing", payload={text: text})
        put("lithos_events_log", type="observation", op="say", rationale=text, user_id="vera")
        if place % 4 == 0:
            put("lithos_write", Caller(agent=text), title=text, content=text, tags=[text], path="hostile")
    for start in range(0, len(CORPUS), PIECE):
        body = "\n\n".join(CORPUS[start : start + PIECE])
        put("lithos_write", BOB, title=f"Hostile {start}", content=body, path="hostile")
        put("lithos_propose_change", path=f"users/vera/parts/h{start}/notes.md", content=body + "\n", user_id="vera")
    lease = site.call("lithos_inbox_take", BOB)["messages"]
    for each in lease:
        taken = {"message_id": each["message"]["id"], "token": each["token"]}
        put("lithos_inbox_fail", BOB, **taken, error=CORPUS[9], retry=False)
    return took


def _pages(site: Site) -> list[str]:
    """Every page that shows what was stored, the longest lists first."""
    notes = site.call("lithos_list", path_prefix="hostile", limit=100)["items"]
    tasks = site.call("lithos_task_list", limit=200)["tasks"]
    threads = site.call("lithos_thread_list", OPERATOR, limit=40)["threads"]
    joined = [each for each in notes if each["title"].startswith("Hostile")]
    agents = [each["id"] for each in site.call("lithos_agent_list", limit=200)["agents"]]
    return [
        *("/", "/board", "/ledger?chain=hostile", "/garden", "/mail", "/mail/dead", "/graph", "/agents", "/status"),
        *(f"/note/{each['id']}" for each in [*joined, *notes[:4]]),
        *(f"/note/{each['id']}/{what}" for each in joined[:1] for what in ("edit", "history")),
        *(f"/board/{each['id']}" for each in tasks[-8:]),
        *(f"/mail/thread/{quote(each['correlation_id'])}" for each in threads[:4]),
        *(f"/ledger/hostile/{index}" for index in (0, 9, 40)),
        *(f"/agents/{quote(each, safe='')}" for each in agents[:3]),
        *(f"/search?q={quote(text)}" for text in (CORPUS[0], CORPUS[14])),
        *(f"{path}{quote(CORPUS[14])}" for path in ("/board?tag=", "/mail?name=", "/graph?folder=", "/garden?undone=")),
    ]


@pytest.fixture(scope="module")
def stored(site: Site) -> dict[str, int]:
    return _store(site)


def test_hostile_texts_are_shown_and_never_run(site: Site, visit: Callable[..., Any], stored: dict[str, int]) -> None:
    assert len(CORPUS) >= 100
    assert min(stored[tool] for tool in ("lithos_task_create", "lithos_finding_post", "mentisdb_append")) > 80, stored
    page = visit(operator=True)
    page.watched.allowed |= {400, 404, 422}
    said = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    seen = set()
    for path in _pages(site):
        page.goto(path)
        assert page.evaluate("() => window.hacked") is None, path
        assert page.evaluate(UNSAFE) == [], path
        seen.add(page.evaluate("() => document.body.innerText").count("window.hacked"))
    assert max(seen) > 20  # the texts are there, as text
    assert said == []
    assert not any(task["title"] == "hx" for task in site.call("lithos_task_list", limit=200)["tasks"])


UNSAFE = r"""() => {
  const bad = [];
  const ours = /^\/(board|garden|mail|ledger|home|note|search|status|agents|graph)/;
  const words = /^(#|outerHTML|innerHTML|live-|load|input|this|true|false|get|closest|every|none|body)/;
  for (const each of document.querySelectorAll("*")) {
    for (const { name, value } of each.attributes) {
      const told = `${each.tagName} ${name}=${value}`;
      if (/^on/i.test(name) || name === "style" || name === "srcdoc") bad.push(told);
      const leads = /^(href|src|action|formaction|xlink:href|data)$/i.test(name);
      if (leads && /^[\s\x00-\x1f]*(javascript|data|vbscript):/i.test(value)) bad.push(told);
      if (/^(data-)?hx-/.test(name) && !ours.test(value) && !words.test(value)) bad.push(told);
    }
    if (/^(IFRAME|OBJECT|EMBED|BASE|MARQUEE|MATH|APPLET|FOREIGNOBJECT)$/i.test(each.tagName)) bad.push(each.tagName);
    const away = each.tagName === "A" && /^https?:/.test(each.getAttribute("href") || "");
    if (away && !/noopener/.test(each.rel)) bad.push(`no noopener ${each.href}`);
  }
  return bad;
}"""


def test_direction_controls_are_shown_by_name(site: Site, visit: Callable[..., Any], stored: dict[str, int]) -> None:
    page = visit(operator=True)
    page.goto("/board")
    assert "\u202e" not in page.evaluate("() => document.body.innerText")
    assert page.locator(".control", has_text="U+202E").count() >= 1


BAD = (
    ("GET", "/board/%2e%2e%2fetc", 405),
    ("GET", "/board/" + "x" * 5000, 404),
    ("GET", "/ledger/lithos/-1", 400),
    ("GET", "/ledger/lithos/99999999999999", 404),
    ("GET", "/ledger/lithos/1e3", 400),
    ("GET", "/ledger/..%2f..%2fkeys/0", 404),
    ("GET", "/ledger?chain=../../keys", 404),
    ("GET", "/ledger?before=x", 400),
    ("GET", "/garden?status=nonsense", 400),
    ("GET", "/garden?since=never", 400),
    ("GET", "/garden?cursor=nonsense", 400),
    ("GET", "/garden?path=/../../etc/passwd", 400),
    ("GET", "/mail?cursor=nonsense", 400),
    ("GET", "/mail/thread/%00", 400),
    ("GET", "/graph?around=nowhere-at-all", 404),
    ("GET", "/note/../../etc/passwd", 404),
    ("GET", "/note/%2e%2e%2f%2e%2e%2fetc%2fpasswd", 404),
)
FORMS = (
    ("/board", {"title": ""}, 400),
    ("/board", {"title": "x", "priority": "many"}, 400),
    ("/board", {"title": "x" * 100_000}, 413),
    ("/board/nowhere/claim", {}, 404),
    ("/board/nowhere/explode", {}, 404),
    ("/garden/proposals/nowhere/apply", {}, 404),
    ("/garden/proposals/nowhere/refuse", {}, 404),
    ("/garden/events/nowhere/undo", {}, 404),
    ("/mail/write", {"to": "no-such-agent-anywhere", "body": "x"}, 404),
    ("/mail/write", {"to": "ann", "body": "x" * 300_000}, 413),
    ("/mail/write", {"to": "topic:a.*", "body": "x"}, 400),
    ("/mail/dead/nowhere/drop", {}, 404),
    ("/ledger/nowhere/bundle", {}, 404),
)


def test_bad_input_is_an_error_page_and_changes_nothing(site: Site) -> None:
    origin = {"origin": site.url, "accept": "text/html"}
    with httpx.Client(base_url=site.url, headers=origin, verify=False, timeout=60) as client:
        client.get(f"/enter?code={site.sign_ins.new_code()}")
        before = site.call("lithos_events_query", limit=1)["rows"][0]["id"]
        wrong = {}
        for method, path, status in BAD:
            answer = client.request(method, path)
            if answer.status_code != status or "Traceback" in answer.text:
                wrong[path[:60]] = (answer.status_code, re.sub(r"<[^>]+>|\s+", " ", answer.text)[-300:])
        for path, fields, status in FORMS:
            answer = client.post(path, data=fields)
            if answer.status_code != status:
                wrong[f"POST {path} {list(fields)}"] = (answer.status_code, answer.text[-300:])
        assert not wrong
        assert client.post("/board", data={"title": "x"}, headers={"origin": "http://evil.example"}).status_code == 403
        assert client.post("/board", content=b"title=\xff\xfe").status_code == 400
        assert site.call("lithos_events_query", limit=1)["rows"][0]["id"] == before
