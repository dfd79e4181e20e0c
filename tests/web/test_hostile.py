"""Hostile texts, stored through the tools and shown on every page: nothing runs, nothing is asked elsewhere."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from lithos.search import HashedEmbedder
from lithos.serving.web.pages.search import KINDS
from lithos.serving.web.templates import CONTROL
from tests.web.conftest import Site, filled_site
from tests.web.hostile import CORPUS
from tests.web.hostile_repository import excused, store_once, with_projects
from tests.web.hostile_tools import EXCUSED, NO_TEXT, Store, store_everywhere, texts_of, writing_tools
from tests.web.memory import BOB, OPERATOR

REQUIRED = os.environ.get("LITHOS_TEST_WEB") == "required"  # by `make test-web`: each string through each tool
PIECE = 30  # strings in one text: a hundred pages of one string each would show no more


def _store(site: Site, folder: Path) -> Counter[str]:
    """Each string through the tools that keep a text, and all of them in long texts. How many each tool took."""
    store = Store(site)
    store_once(store, folder)
    for number, text in enumerate(CORPUS):
        if REQUIRED or number % 4 == 0 or number < 13:
            store_everywhere(store, text, number)
        store.put("lithos_task_create", title=text, description=text, agent=text[:100], tags=[text])
        store.put("mentisdb_append", agent_id="ann", chain_key="hostile", thought_type="Idea", content=text)
    for start in range(0, len(CORPUS), PIECE):
        body = "\n\n".join(CORPUS[start : start + PIECE])
        store.put("lithos_write", BOB, title=f"Hostile {start}", content=body, path="joined")
        file = f"users/vera/parts/h{start}/notes.md"
        store.put("lithos_propose_change", path=file, content=body + "\n", user_id="vera")
    return store.took


def _pages(site: Site) -> list[str]:
    """Every page that shows what was stored, the longest lists first."""
    notes = site.call("lithos_list", path_prefix="hostile", limit=100)["items"]
    joined = site.call("lithos_list", path_prefix="joined", limit=100)["items"]
    tasks = site.call("lithos_task_list", limit=200)["tasks"]
    threads = site.call("lithos_thread_list", OPERATOR, limit=40)["threads"]
    agents = [each["id"] for each in site.call("lithos_agent_list", limit=200)["agents"]]
    return [
        *("/", "/board", "/ledger?chain=hostile", "/garden", "/mail", "/mail/dead", "/graph", "/agents", "/status"),
        *(f"/note/{each['id']}" for each in [*joined, *notes[:4]]),
        *(f"/note/{each['id']}/{what}" for each in joined[:1] for what in ("edit", "history")),
        *(f"/board/{each['id']}" for each in tasks[-8:]),
        *(f"/mail/thread/{quote(each['correlation_id'])}" for each in threads[:4]),
        *(f"/ledger/hostile/{index}" for index in (0, 9, 40)),
        *(f"/agents/{quote(each, safe='')}" for each in agents if REQUIRED or each in CORPUS[:9]),
        *(f"/search?q={quote(text)}" for text in (CORPUS[0], CORPUS[14])),
        *(f"/search?q={'hacked_window' if kind == 'code' else 'window+hacked'}&kind={kind}" for kind, _ in KINDS),
        *(f"{path}{quote(CORPUS[14])}" for path in ("/board?tag=", "/mail?name=", "/graph?folder=", "/garden?undone=")),
    ]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A memory of its own: its pages are long, and axe would look at each line of them."""
    folder: Path = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lithos.app.open_embedder", lambda _: HashedEmbedder())  # the real model takes 15 s of CPU
        with filled_site(folder / "data", lambda config: with_projects(config, folder)) as made:
            made.stored = _store(made, folder)
            yield made


def test_every_tool_that_keeps_a_text_took_hostile_ones(site: Site) -> None:
    assert len(CORPUS) >= 100
    assert min(site.stored[tool] for tool in ("lithos_task_create", "mentisdb_append")) > 80, site.stored
    assert writing_tools() - site.stored.keys() - EXCUSED - excused() == set()
    assert EXCUSED & site.stored.keys() == set()  # a tool that took one needs no excuse


def test_the_excused_tools_take_no_hostile_text(site: Site) -> None:
    for tool in sorted(EXCUSED - NO_TEXT["calls one of the other tools"]):
        texts = texts_of(tool)
        assert bool(texts) != (tool in NO_TEXT["takes switches alone"]), tool
        for text in CORPUS[::12] if texts else ():
            store = Store(site)
            store.put(tool, OPERATOR, **dict.fromkeys(texts, text))
            assert not store.took, f"{tool} took {text!r}"


def test_hostile_texts_are_shown_and_never_run_obeyed_or_too_wide(site: Site, visit: Callable[..., Any]) -> None:
    page = visit(operator=True, viewport={"width": 390, "height": 850})
    page.watched.allowed |= {400, 404, 422}
    said = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    seen: dict[str, Any] = {}
    wrong = {}
    for path in _pages(site):
        page.goto(path)
        seen[path] = found = page.evaluate(LOOK)
        turned = CONTROL.findall(re.sub(r"(?s)<textarea.*?</textarea>|value=\"[^\"]*\"", "", page.content()))
        if found["hacked"] or found["unsafe"] or found["wide"] or turned:
            wrong[path] = [found["hacked"], found["unsafe"], found["wide"], [hex(ord(each[0])) for each in turned]]
    assert wrong == {}
    assert said == []
    assert max(each["texts"] for each in seen.values()) > 20, seen  # the texts are there, as text
    assert seen["/board"]["controls"] >= 1  # U+202E and the like, by name
    shown = {path.partition("kind=")[2] for path, found in seen.items() if "kind=" in path and found["texts"]}
    assert shown >= {"note", "task", "thought", "message", "code", "history", "source"}
    assert not any(task["title"] == "hx" for task in site.call("lithos_task_list", limit=200)["tasks"])


LOOK = r"""() => {
  const bad = [], text = document.body.innerText, root = document.documentElement;
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
  return {
    unsafe: bad, hacked: window.hacked, wide: root.scrollWidth > root.clientWidth,
    texts: text.split("window.hacked").length - 1,
    controls: [...document.querySelectorAll(".control")].filter((each) => each.textContent.startsWith("U+202E")).length,
  };
}"""


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
    ("GET", "/note/../../etc/shadow", 404),  # passwd is the title of a hostile note
    ("GET", "/note/%2e%2e%2f%2e%2e%2fetc%2fshadow", 404),
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
