# ruff: noqa: E501 - sources as one line each
"""Outside knowledge through the tools: ingested once, cited, joined with code and history, asked across all domains."""

from __future__ import annotations

import gzip
import http.server
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest

from lithos.app import open_lithos
from lithos.core.text import estimate_tokens
from lithos.errors import Forbidden, InvalidInput, LithosError, NotFound, TooLarge
from lithos.graph.sources import AllowedSource, Crawls, Fetcher
from lithos.graph.sources import ingest as ingesting
from lithos.settings import AcademicSettings, CodeRoot, CodeSettings, LithosConfig, StorageSettings
from lithos.tools.caller import Caller
from tests.conftest import PATIENT
from tests.flows.test_history import Desk
from tests.support.code_repos import repository, write

OPERATOR = Caller(operator=True)
RFC = """# RFC 7519: JSON Web Token

A JSON Web Token is a compact claims representation. The `exp` claim identifies the expiration time after which the token
must not be accepted. Validators must reject tokens without a signature.
"""
GUIDE = """# Retry guidelines

Best practice: retry with exponential backoff and jitter. `auth.jwt.check` shows the shape. See RFC 7519 and [[Stateless Auth]].
"""
JWT = '''import httpx


def check(token):
    """Validates a token as RFC 7519 demands."""
    return httpx.get(token)
'''
METADATA = "Metadata-Version: 2.1\nName: HTTPX\nVersion: 0.28.0\nSummary: The next generation HTTP client.\n\nHTTPX is a client."
BIB = """@string{osdi = "OSDI"}
@inproceedings{lamport98, title={The {Part-Time} Parliament}, author={Lamport, Leslie and M{\\"u}ller, Ann}, year=1998,
  booktitle=osdi # { Proceedings}, doi={10.1145/279227.279229}, abstract={Consensus among legislators.}}
@article{later, title="Stateless Auth at Scale", author="Jane Roe", year="2021", journal="Queue", abstract={Tokens without sessions scale.}}
"""


def pdf(*pages: str, title: str = "", first: int = 22) -> bytes:
    """A small PDF: each page is lines in Helvetica, the first line of another size."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    kids = []
    for page in pages:
        lines = page.split("\n")
        shown = "".join(f"/F1 {first if n == 0 else 11} Tf 0 -30 Td ({line}) Tj\n" for n, line in enumerate(lines))
        stream = f"BT 50 780 Td\n{shown}ET".encode()
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        kids.append(len(objects) + 1)
        font = b"<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
        box = b"/MediaBox [0 0 612 842] /Contents %d 0 R /Resources %s" % (len(objects), font)
        objects.append(b"<< /Type /Page /Parent 2 0 R " + box + b" >>")
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(b"%d 0 R" % kid for kid in kids), len(kids))
    objects.append(f"<< /Title ({title}) >>".encode())
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer << /Size %d /Root 1 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        len(objects) + 1,
        len(objects),
        table,
    )
    return bytes(out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("sources")
    repository(folder / "auth", {"auth/jwt.py": JWT, ".gitignore": ".venv\n", "README.md": "# Auth\n\nTokens.\n"})
    site = folder / "auth/.venv/lib/python3.11/site-packages/httpx-0.28.0.dist-info"
    write(site, {"METADATA": METADATA, "top_level.txt": "httpx\n"})
    write(folder / "inbox", {"rfc7519.md": RFC, "guide.md": GUIDE, "refs.bib": BIB, "secret.bin": b"\x00\x01"})
    (folder / "outside.md").write_text("# Outside\n\nNot for agents.\n")
    return folder


@pytest.fixture(scope="module")
def desk(folder: Path) -> Iterator[Desk]:
    lithos = open_lithos(
        LithosConfig(
            storage=StorageSettings(data_dir=folder / "data"),
            code=CodeSettings(roots=(CodeRoot(name="auth", path=folder / "auth"),)),
            academic=AcademicSettings(inbox=folder / "inbox"),
            search=PATIENT,
        )
    )
    for root in lithos.code.roots():
        root.index.reconcile()
    made = Desk(lithos)
    made("ingest_source", source="rfc7519.md")
    made("ingest_source", source="guide.md", kind="best_practice", technology="HTTP")
    made("ingest_source", source="refs.bib")
    made("ingest_source", source="library:httpx")
    yield made
    lithos.close()


def source(desk: Desk, query: str, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = desk("research", query=query, **more)["results"][0]
    return found


def linked(answer: dict[str, Any]) -> set[tuple[str, str]]:
    return {(each["edge"], each["title"]) for each in answer["results"]}


def test_a_source_becomes_a_readable_note_once(desk: Desk, folder: Path) -> None:
    rfc = source(desk, "when does a token expire")
    assert (rfc["kind"], rfc["title"]) == ("rfc", "RFC 7519: JSON Web Token")
    note = desk("read", id=rfc["id"])
    assert note["path"].startswith("academic/") and "exp` claim" in note["content"]
    again = desk("ingest_source", source="rfc7519.md")
    assert (again["status"], again["sources"][0]["id"]) == ("duplicate", rfc["id"])
    (folder / "inbox/changing.md").write_text("# Changing\n\nThe first word on marmots.\n")
    first = desk("ingest_source", source="changing.md")["sources"][0]
    (folder / "inbox/changing.md").write_text("# Changing\n\nThe second word on marmots.\n")
    second = desk("ingest_source", source="changing.md")["sources"][0]
    assert (second["status"], second["supersedes"]) == ("superseded", first["id"])
    marmots = [each["id"] for each in desk("research", query="marmots")["results"]]
    assert marmots[0] == second["id"] and first["id"] not in marmots
    assert ("supersedes", first["id"]) in {
        (each["edge"], each["other_id"]) for each in desk("get_edges", id=second["id"])["edges"]
    }


def test_a_bibliography_is_one_source_per_entry(desk: Desk) -> None:
    paper = desk("find_papers", query="consensus among legislators")["results"][0]
    assert (paper["title"], paper["venue"]) == ("The Part-Time Parliament", "OSDI Proceedings")
    assert paper["authors"] == ["Leslie Lamport", "Ann Müller"]
    assert (paper["published_at"], paper["url"]) == ("1998-01-01", "https://doi.org/10.1145/279227.279229")
    newer = desk("find_papers", query="scale consensus tokens", min_year=2000)["results"]
    assert [each["title"] for each in newer] == ["Stateless Auth at Scale"]


def test_code_history_and_sources_are_joined_by_what_their_texts_name(desk: Desk) -> None:
    decision = desk(
        "store_entry", category="decision", content="JWT over sessions, because RFC 7519 tokens need no store."
    )
    checked = desk("store_entry", category="insight", content="Our tokens were validated by RFC 7519.")
    rfc = source(desk, "token expiration claim")["id"]
    assert linked(desk("get_academic_for", id="check")) >= {
        ("implements_pattern", "RFC 7519: JSON Web Token"),
        ("documents", "Retry guidelines"),
        ("uses_library", "HTTPX 0.28.0"),
    }
    assert ("implements_pattern", "check") in linked(desk("get_code_for_academic", academic_id=rfc))
    httpx = source(desk, "next generation HTTP client")["id"]
    assert ("uses_library", "jwt.py") in linked(desk("get_code_for_academic", academic_id=httpx))
    edges = {(each["edge"], each["id"]) for each in desk("get_history_for_academic", academic_id=rfc)["results"]}
    assert {("based_on", decision["id"]), ("validated_by", checked["id"])} <= edges
    (row,) = [
        each for each in desk("get_decisions", query="JWT over sessions")["results"] if each["id"] == decision["id"]
    ]
    assert [each["title"] for each in row["sources"]] == ["RFC 7519: JSON Web Token"]
    guide = source(desk, "exponential backoff")["id"]
    assert ("cites", "RFC 7519: JSON Web Token") in linked(desk("get_academic_for", id=guide))


def test_evidence_is_cited_and_gaps_are_named(desk: Desk) -> None:
    found = desk("compare_approaches", approaches=["backoff", "quantum teleportation"], criteria=["retry"], prose=True)
    assert found["cells"][0]["evidence"][0]["cite"].startswith("Retry guidelines")
    assert found["missing"] == ["quantum teleportation: retry"] and "[1] Retry guidelines" in found["summary"]
    with pytest.raises(InvalidInput):
        desk("compare_approaches", approaches=["one"])
    both = desk("synthesize_with_codebase", topic="validate a JSON web token")
    first = next(each for each in both["practices"] if each["practice"]["kind"] == "rfc")
    assert [each["title"] for each in first["code"]] == ["check"] and not first["gap"]
    gaps = desk("synthesize_with_codebase", topic="consensus among legislators of a parliament")["gaps"]
    assert any("Part-Time" in each for each in gaps)
    best = desk("find_best_practices", topic="retry", technology="http")["results"]
    assert best[0]["title"] == "Retry guidelines"


def test_one_call_asks_all_domains_and_no_node_comes_twice(desk: Desk) -> None:
    desk("store_entry", category="decision", content="Check each token against RFC 7519.", code_references=["check"])
    found = desk("search_all", query="check a JSON web token")
    code = found["code"][0]
    assert code["title"] == "check" and len(code["related"]["history"]) <= 3
    assert "RFC 7519: JSON Web Token" in [each["title"] for each in code["related"]["academic"]]
    assert found["academic"] and found["history"]
    assert set(desk("search_all", query="token", domains=["code"])) >= {"code"} and "history" not in desk(
        "search_all", query="token", domains=["code"]
    )
    for thoroughness in ("quick", "moderate", "thorough"):
        smart = desk("smart_search", query="check a JSON web token", token_budget=300, thoroughness=thoroughness)
        ids = [each["id"] for each in smart["results"]]
        assert ids and len(ids) == len(set(ids)) and smart["tokens_used"] <= 300
        assert estimate_tokens(orjson.dumps(smart["results"]).decode()) <= 300 + 15 * len(ids)
    assert any(row["related"]["code"] for row in desk("smart_search", query="check a JSON web token")["results"])
    recalled = desk("recall", query="why did we change the token check, see RFC 7519", limit=20)["results"]
    assert "source" in {each["kind"] for each in recalled}
    assert {each["kind"] for each in desk("recall", query="token", kinds=["source"])["results"]} == {"source"}
    commits = desk("recall", query="first commit", kinds=["history"])["results"]
    assert [each["title"] for each in commits] == ["first"]


def test_facts_are_extracted_with_their_sentence(desk: Desk) -> None:
    stored = desk("store_entry", category="decision", content="We chose Redis over Memcached because it persists.")
    (fact,) = desk("extract_facts", ids=[stored["id"]])["facts"]
    assert (fact["subject"], fact["relation"], fact["value"]) == ("Redis", "chosen_over", "Memcached")
    failed = desk("record_failure", approach="polling", reason="too slow", resolution="webhooks")
    said = {(each["relation"], each["value"]) for each in desk("extract_facts", ids=[failed["id"]])["facts"]}
    assert said >= {("failed_because", "too slow"), ("resolved_by", "webhooks")}
    with pytest.raises(InvalidInput):
        desk("extract_facts")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"source": "../outside.md"}, Forbidden),
        ({"source": "/etc/hostname"}, Forbidden),
        ({"source": "/etc/no-such-file"}, Forbidden),  # the answer does not tell whether it exists
        ({"source": "a\x00b"}, InvalidInput),
        ({"source": "~nobody-here/x.md"}, InvalidInput),
        ({"source": "x" * 1_500}, NotFound),
        ({"source": "missing.md"}, NotFound),
        ({"source": "secret.bin"}, InvalidInput),
        ({"source": "library:nothing-here"}, NotFound),
        ({"source": "https://example.org/x"}, Forbidden),
        ({"source": "HTTPS://EXAMPLE.ORG/x"}, Forbidden),
        ({"source": "file:///etc/hostname"}, InvalidInput),
        ({"source": " "}, InvalidInput),
        ({"source": "guide.md", "published_at": "lately"}, InvalidInput),
    ],
)
def test_what_may_not_be_ingested_is_refused_and_writes_nothing(
    desk: Desk, given: dict[str, Any], error: type[LithosError]
) -> None:
    before = len(desk.lithos.notes.reader.sources())
    with pytest.raises(error):
        desk("ingest_source", **given)
    assert len(desk.lithos.notes.reader.sources()) == before


def test_a_link_out_of_the_inbox_is_refused_and_the_operator_may_read_anything(desk: Desk, folder: Path) -> None:
    (folder / "inbox/link.md").symlink_to(folder / "outside.md")
    with pytest.raises(Forbidden):
        desk("ingest_source", source="link.md")
    assert desk("ingest_source", OPERATOR, source=str(folder / "outside.md"))["status"] == "created"
    made = desk("ingest_source", source=str(folder / "auth"))["sources"][0]
    assert (made["status"], made["title"]) == ("created", "Auth")


def test_two_callers_at_once_make_one_note_of_a_source(desk: Desk, folder: Path) -> None:
    names = [f"both{number}.md" for number in range(12)]

    def ingested(name: str) -> str:
        return str(desk("ingest_source", source=name)["status"])

    for text, first in (("Same text", "created"), ("Newer text", "superseded")):
        write(folder / "inbox", {name: f"# Of {name}\n\n{text} of {name}.\n" for name in names})
        with ThreadPoolExecutor(4) as callers:
            states = [*callers.map(ingested, [name for name in names for _ in range(2)])]
        pairs = {frozenset(states[start : start + 2]) for start in range(0, len(states), 2)}
        assert pairs == {frozenset((first, "duplicate"))}


def test_files_of_a_dependency_that_lead_out_of_the_root_are_refused(desk: Desk, folder: Path) -> None:
    modules, site = folder / "auth/node_modules", folder / "auth/.venv/lib/python3.11/site-packages"
    package = '{"name": "%s", "version": ["1"], "description": "A package."}'
    write(modules, {"evil/package.json": package % "evil", ".store/linked/package.json": package % "linked"})
    (modules / "evil/README.md").symlink_to(folder / "outside.md")
    (modules / "linked").symlink_to(modules / ".store/linked")  # as pnpm does it
    (site / "evilpy-1.dist-info").mkdir()
    (site / "evilpy-1.dist-info/METADATA").symlink_to(folder / "outside.md")
    for name in ("evil", "evilpy"):
        with pytest.raises(Forbidden):
            desk("ingest_source", source=f"library:{name}")
    assert desk("ingest_source", source="library:linked")["sources"][0]["title"] == "linked"
    assert desk("ingest_source", OPERATOR, source="library:evil")["status"] == "created"


def test_texts_of_other_encodings_are_read_and_an_empty_one_has_no_text(desk: Desk, folder: Path) -> None:
    said = "Größe und Café – mehr steht hier."
    texts = {
        "latin.txt": said.encode("cp1252"),
        "wide.txt": f"{said} Breit.".encode("utf-16"),
        "marked.txt": f"\ufeff{said} Mit Marke.".encode(),
        "damaged.txt": f"{said} ".encode() + b"\xe9!",
    }
    write(folder / "inbox", {**texts, "empty_file.md": b" \n"})
    for name in texts:
        made = desk("ingest_source", source=name)["sources"][0]
        assert made["title"] == name.partition(".")[0]
        assert said in desk("read", id=made["id"])["content"]
    assert desk("ingest_source", source="empty_file.md")["status"] == "no_text"


def test_a_note_of_a_source_has_its_title_once_and_its_origin_is_no_evidence(desk: Desk, folder: Path) -> None:
    text = "# Kangaroo ledgers\n\nKangaroo ledgers keep hopping.\n\n## Costs\n\nA hop costs a joule.\n"
    write(folder / "inbox", {"kangaroo.md": text})
    id = desk("ingest_source", source="kangaroo.md")["sources"][0]["id"]
    content = desk("read", id=id)["content"]
    assert "# Kangaroo ledgers" not in content and content.startswith("> file:inbox/kangaroo.md")
    write(
        folder / "inbox",
        {"marked.md": "# The `auth.jwt.check` way\n\nIt hops.\n", "long.md": f"# {'Long ' * 80}\n\nIt hops.\n"},
    )
    for name, heading in (("marked.md", "# The `auth.jwt.check` way"), ("long.md", "Long " * 79)):
        made = desk("ingest_source", source=name)["sources"][0]
        assert heading in desk("read", id=made["id"])["content"]
    found = [row for row in desk("research", query="kangaroo ledgers hop")["results"] if row["id"] == id]
    assert {row["passage"] for row in found} == {"Kangaroo ledgers keep hopping.", "A hop costs a joule."}
    assert {row["cite"] for row in found} == {"Kangaroo ledgers", "Kangaroo ledgers, Costs"}


def test_evidence_of_a_comparison_speaks_of_the_criterion(desk: Desk, folder: Path) -> None:
    text = "# Queue designs\n\n{}\n"
    ring = "A zigzag queue keeps its entries in a ring. Its throughput reaches a million entries."
    tree = "A braided queue keeps its entries in a tree, for its author likes trees."
    write(folder / "inbox", {"ring.md": text.format(ring), "tree.md": text.format(tree).replace("Queue", "Tree")})
    for name in ("ring.md", "tree.md"):
        desk("ingest_source", source=name)
    asked = {"approaches": ["zigzag queue", "braided queue"], "criteria": ["throughputs"]}
    found = desk("compare_approaches", **asked)
    assert found["missing"] == ["braided queue: throughputs"]
    assert [ring] == [row["passage"] for row in found["cells"][0]["evidence"]]


def test_a_pdf_is_read_in_a_child_process_by_page(desk: Desk, folder: Path) -> None:
    pytest.importorskip("pypdfium2")
    text = "Walrus Consensus in Practice\nAbstract. We study the walrus.\nIt swims a great deal every day."
    write(folder / "inbox", {"walrus.pdf": pdf(text, "Second page\nTusks decide the quorum size of walruses.")})
    assert desk("ingest_source", source="walrus.pdf")["sources"][0]["title"] == "Walrus Consensus in Practice"
    found = source(desk, "what decides the quorum of walruses")
    assert (found["kind"], found["heading"].rpartition(" > ")[2]) == ("paper", "Page 2")
    write(folder / "inbox", {"scan.pdf": pdf(""), "broken.pdf": b"%PDF-1.4 nothing"})
    assert desk("ingest_source", source="scan.pdf")["status"] == "no_text"
    with pytest.raises(InvalidInput):
        desk("ingest_source", source="broken.pdf")


class Pages(http.server.BaseHTTPRequestHandler):
    body = b"<html><head><title>Old</title></head><body><nav>menu</nav><main><h1>Yaks</h1><p>Yaks graze high up on slopes, where the air is thin and the grass is short.</p></main></body></html>"

    def do_GET(self) -> None:
        if self.path == "/away":
            self.send_response(302)
            self.send_header("Location", "http://internal.example/x")
        elif self.path == "/bomb":
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Type", "text/plain")
        elif self.headers.get("If-None-Match") == '"v1"':
            self.send_response(304)
        else:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("ETag", '"v1"')
        self.end_headers()
        if self.path == "/bomb":
            self.wfile.write(gzip.compress(b"a" * 30_000_000))
        elif self.path == "/yaks" and self.headers.get("If-None-Match") != '"v1"':
            self.wfile.write(self.body)

    def log_message(self, *arguments: Any) -> None:
        return


@pytest.fixture(scope="module")
def web(desk: Desk) -> Iterator[Fetcher]:
    """Loopback under the name of an allowed host: the resolver gives a public address, the connector ours."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    addresses = {"docs.example": ["93.184.216.34"], "rebound.example": ["93.184.216.34", "10.0.0.7"]}
    fetcher = Fetcher(
        [AllowedSource("docs", "http://docs.example/"), AllowedSource("rebound", "http://rebound.example/")],
        resolve=lambda host, port: addresses[host],
        connect=lambda address, port, seconds: socket.create_connection(server.server_address[:2], seconds),
        crawled=(crawls := Crawls(desk.lithos.storage.database, desk.lithos.clock)).mark,
    )
    places = desk.lithos.ingest.places
    desk.lithos.ingest = ingesting.Ingest(desk.lithos.notes, desk.lithos.code, fetcher, places, crawls)
    yield fetcher
    server.shutdown()


def test_a_page_of_an_allowed_host_is_read_and_asked_again_by_its_etag(desk: Desk, web: Fetcher) -> None:
    pytest.importorskip("selectolax")
    assert {each["last_crawled_at"] for each in desk("stats")["sources"]} == {None}
    made = desk("ingest_source", source="http://docs.example/yaks")["sources"][0]
    assert (made["status"], made["title"]) == ("created", "Yaks")
    note = desk("read", id=made["id"])["content"]
    assert "Yaks graze high" in note and "menu" not in note
    first, other = desk("stats")["sources"]
    assert first["last_crawled_at"] and (first["name"], other["last_crawled_at"]) == ("docs", None)
    assert desk("ingest_source", source="http://docs.example/yaks")["status"] == "duplicate"
    assert desk("stats")["sources"][0]["last_crawled_at"] > first["last_crawled_at"]  # also where it is unchanged


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("http://docs.example/away", Forbidden),  # redirected to a host that is not allowed
        ("http://rebound.example/x", Forbidden),  # one of its addresses is private
        ("http://docs.example:8080/x", Forbidden),
        ("http://user:pw@docs.example/x", Forbidden),
        ("http://docs.example/bomb", TooLarge),
        ("ftp://docs.example/x", InvalidInput),
    ],
)
def test_a_page_that_leads_elsewhere_or_grows_is_refused(
    desk: Desk, web: Fetcher, url: str, error: type[LithosError]
) -> None:
    with pytest.raises(error):
        desk("ingest_source", source=url)


def test_a_note_that_is_deleted_leaves_no_byte_in_the_graph(desk: Desk, folder: Path) -> None:
    write(folder / "inbox", {"gone.md": "# Gone\n\nSee https://example.org/axolotl-secret for more.\n"})
    made = desk("ingest_source", source="gone.md")["sources"][0]
    desk("get_edges", id=made["id"])
    files = [*(folder / "data/.graph").glob("knowledge.db*")]
    assert any(b"axolotl-secret" in each.read_bytes() for each in files)
    desk("tool_call", name="lithos_delete", arguments={"id": made["id"], "agent": "ann"})
    with pytest.raises(NotFound):
        desk("get_edges", id=made["id"])
    for each in (folder / "data/.graph").glob("knowledge.db*"):
        assert b"axolotl-secret" not in each.read_bytes(), each.name


def all_pages(desk: Desk, tool: str, **arguments: Any) -> list[list[str]]:
    """Places of the results of each page."""
    read = [desk(tool, **arguments)]
    while "next_cursor" in read[-1]:
        assert len(read) < 30
        read.append(desk(tool, **arguments, cursor=read[-1]["next_cursor"]))
    return [[f"{row['id']}#{row.get('heading', '')}" for row in each["results"]] for each in read]


def test_rankings_go_on_where_the_page_before_ended(desk: Desk, folder: Path) -> None:
    for number in range(7):
        desk("record_failure", approach=f"gnu herd {number}", reason="gnus ran", resolution="fences")
        desk("store_entry", category="decision", content=f"Gnus of herd {number} stay, because they graze.")
        text = (
            f"# Gnu paper {number}\n\n## Page 1\n\nGnus graze {number}.\n\n## Page 2\n\nGnus migrate {number} times.\n"
        )
        write(folder / "inbox", {f"gnu{number}.md": text})
        kind = "paper" if number % 2 else "best_practice"
        desk("ingest_source", source=f"gnu{number}.md", kind=kind)
    asked: dict[str, dict[str, Any]] = {
        "search_history": {"query": "gnu herd", "limit": 4, "since": "2d"},
        "find_failures": {"query": "gnu herd", "limit": 3, "resolved_only": True},
        "get_decisions": {"query": "gnus of a herd", "limit": 3},
        "find_papers": {"query": "gnus graze", "limit": 1},
        "find_best_practices": {"topic": "gnus graze", "limit": 2},
        "research": {"query": "gnus graze and migrate", "depth": 1},
    }
    for tool, arguments in asked.items():
        read = all_pages(desk, tool, **arguments)
        flat = [each for page in read for each in page]
        assert len(read) > 1 and len(flat) == len(set(flat)), tool
        wanted = 14 if tool in ("search_history", "research") else 3 if tool == "find_papers" else 4
        assert len(flat) >= wanted, (tool, read)
        with pytest.raises(InvalidInput, match="cursor"):
            desk(
                tool,
                **{**arguments, "topic" if "topic" in arguments else "query": "yaks"},
                cursor=desk(tool, **arguments)["next_cursor"],
            )


def whole(desk: Desk, tool: str, field: str, **arguments: Any) -> tuple[list[Any], list[Any]]:
    """All pages of three rows in the order of reading, and the list in one answer."""
    pages: list[dict[str, Any]] = [desk(tool, limit=3, **arguments)]
    while "next_cursor" in pages[-1]:
        assert len(pages) < 30 and len(pages[-1][field]) == 3
        pages.append(desk(tool, limit=3, cursor=pages[-1]["next_cursor"], **arguments))
    assert len(pages) > 1, tool
    return [each[field] for each in pages], desk(tool, limit=50, **arguments)[field]


def test_lists_of_the_graph_are_read_to_their_end(desk: Desk, folder: Path) -> None:
    write(folder / "inbox", {"ibex.md": "# RFC 4242: Ibexes\n\n" + "`auth.jwt.check` climbs as `auth/jwt.py` does.\n"})
    rfc = desk("ingest_source", source="ibex.md")["sources"][0]["id"]
    session = desk.session("ibexes")
    for number in range(7):
        said = f"We chose ibex {number} over goats because RFC 4242 says so."
        last = desk("store_entry", category="decision", content=said, code_references=["check", "auth/jwt.py"])["id"]
        write(folder / "inbox", {f"ibex{number}.md": f"# RFC 43{number}0: More\n\n`auth.jwt.check` of RFC 4242.\n"})
        desk("ingest_source", source=f"ibex{number}.md")
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("get_edges", "edges", {"id": rfc}),
        ("get_history_for_academic", "results", {"academic_id": rfc}),
        ("get_academic_for", "results", {"id": "check"}),
        ("get_academic_for", "results", {"id": rfc}),
        ("get_history_for_code", "results", {"symbol_id": "check"}),
        ("get_session_history", "results", {"session_id": session, "chronological": False}),
        ("extract_facts", "facts", {"query": "ibex over goats"}),
    ]
    for tool, field, arguments in asked:
        read, every = whole(desk, tool, field, **arguments)
        assert [row for page in read for row in page] == every, tool
    read, every = whole(desk, "get_session_history", "results", session_id=session)
    assert [row for page in reversed(read) for row in page] == every and every[-1]["id"] == last
    for tool, id in (("get_code_for_history", {"history_id": last}), ("get_code_for_academic", {"academic_id": rfc})):
        first = desk(tool, limit=1, **id)
        rest = desk(tool, limit=1, cursor=first["next_cursor"], **id)
        assert [*first["results"], *rest["results"]] == desk(tool, **id)["results"]
        with pytest.raises(InvalidInput, match="cursor"):
            desk(tool, cursor="AAAA", **id)
