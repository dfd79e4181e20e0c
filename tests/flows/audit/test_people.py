"""What people see: points 17 to 22 of issue 15. The commands as a person types them."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lithos.cli.root import run as run_command
from tests.support import fork_server

REPOSITORY = Path(__file__).parents[3]
LITHOS = [sys.executable, "-m", "lithos.cli.entry"]


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


def typed(*words: str) -> Done:
    """What a person types, in this process: a process of its own costs a second."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_command(list(words))
    return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture
def run(data_dir: Path) -> Run:
    """`run("note", "diff", "x")`; fails when it is not the wanted exit code."""

    def ran(*words: str, code: int | None = 0) -> Done:
        done = typed(*words, "--data-dir", str(data_dir))
        assert "Traceback" not in done.stderr, done.stderr
        if code is not None:
            assert done.returncode == code, done
        return done

    return ran


@pytest.fixture
def tool(run: Run) -> Callable[..., dict[str, Any]]:
    def called(name: str, /, **arguments: Any) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(run("call", name, "--json", json.dumps(arguments)).stdout)
        return found

    return called


# 17, 18 Serving over HTTP


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def served(
    data_dir: Path, *words: str, start: type[subprocess.Popen[str]] = fork_server.Popen
) -> Iterator[tuple[subprocess.Popen[str], list[str], int]]:
    """A server in the foreground, once it answers; the lines it printed until then."""
    port = free_port()
    command = [*LITHOS, "serve", "--transport", "http", "--port", str(port), "--data-dir", str(data_dir), *words]
    process = start(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    lines: list[str] = []
    try:
        assert process.stderr is not None
        for line in process.stderr:
            lines.append(line)
            if "Ctrl-C" in line:
                break
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
        yield process, lines, port
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(60)
        assert process.stderr is not None
        process.stderr.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("client", [False, True])
def test_a_clean_stop_prints_one_line(data_dir: Path, number: int, client: bool) -> None:
    with served(data_dir) as (process, _, port):
        with contextlib.ExitStack() as opened:
            if client:  # a stream that stays open, as most clients hold one
                stream = opened.enter_context(socket.create_connection(("127.0.0.1", port), 10))
                stream.sendall(f"GET /sse HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
                assert stream.recv(64).startswith(b"HTTP/1.1 200")
            process.send_signal(number)
            _, rest = process.communicate(timeout=60)
        assert process.returncode in (0, 128 + number, -number)
        assert "Traceback" not in rest and "CancelledError" not in rest, rest
        assert len(rest.strip().splitlines()) == 1, rest


def test_the_banner_of_an_open_address_prints_what_works(run: Run, data_dir: Path) -> None:
    made = json.loads(run("token", "new", "--name", "laptop", "--json").stdout)
    with served(data_dir, "--host", "0.0.0.0") as (_, lines, port):
        banner = "".join(lines)
    assert "$LITHOS_TOKEN" in banner and "Authorization" in banner
    assert made["token"] not in banner
    addresses = [line for line in banner.splitlines() if "http://" in line]
    assert addresses and not any(f"127.0.0.1:{port}/mcp" in line and "$LITHOS_TOKEN" not in line for line in addresses
                                 if "mcp add" in line or "mcpServers" in line or "servers" in line)  # fmt: skip


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_banner_of_a_loopback_address_needs_no_token(data_dir: Path, host: str) -> None:
    with served(data_dir, "--host", host) as (_, lines, port):
        banner = "".join(lines)
    assert f"{host}:{port}/mcp" in banner and "LITHOS_TOKEN" not in banner


# 19 Small things on the command line


@pytest.mark.parametrize("words", [("diff", "nowhere"), ("revert", "nowhere", "sha256:" + "0" * 64)])
def test_a_note_that_is_unknown_is_called_unknown(run: Run, words: tuple[str, ...]) -> None:
    run("note", "write", "--title", "T", "--content", "x")
    said = run("note", *words, code=3).stderr
    assert "there is no note" in said and "nowhere" in said and "version" not in said.partition("\n")[0]


def test_the_board_shows_a_held_task_as_held(run: Run) -> None:
    free = run("task", "create", "Free one").stdout.strip()
    held = run("task", "create", "Held one").stdout.strip()
    run("task", "claim", held, "code", "--agent", "ann")
    rows = run("board", "--once").stdout.splitlines()
    assert free and any("Free one" in row and "ready" in row for row in rows)
    assert any("Held one" in row and "held" in row and "ready" not in row for row in rows)


def test_a_change_of_a_note_is_undone_by_the_event_that_history_shows(
    run: Run, tool: Callable[..., dict[str, Any]], data_dir: Path
) -> None:
    note = tool("lithos_write", agent="a", title="T", content="one")
    tool("lithos_write", agent="b", id=note["id"], content="two")
    changes = json.loads(run("history", note["path"], "--json").stdout)["changes"]
    said = run("garden", "undo", changes[0]["event_id"], "--why", "wrong").stdout
    assert note["path"] in said
    assert tool("lithos_read", id=note["id"])["content"] == "one"
    assert tool("lithos_search", query="two")["results"] == []


def test_verify_never_prints_none(run: Run, tool: Callable[..., dict[str, Any]], data_dir: Path) -> None:
    """Whatever is damaged, no field without a value is printed."""
    for number in range(3):
        tool("mentisdb_append", thought_type="Insight", content=f"thought {number}", agent_id="a")
    run("ledger", "checkpoint")
    for file in sorted((data_dir / ".lithos").rglob("*")):
        chained = "ledger" in file.parts or "checkpoints" in file.parts
        if not file.is_file() or not chained or "keys" in file.parts:
            continue
        whole = file.read_bytes()
        for damaged in (None, b"", b"\x00" + whole[1:], whole[:-1]):
            if damaged is None:
                file.unlink()
            else:
                file.write_bytes(damaged)
            done = run("ledger", "verify", code=None)
            assert "None" not in done.stdout + done.stderr, (file.name, done.stdout)
            file.write_bytes(whole)


@pytest.mark.parametrize(
    ("secret", "said"),
    [("sk-ant-" + "a1B2" * 8, "an Anthropic key"), ("AKIA" + "A1" * 8, "an AWS access key"),
 ("npm_" + "a1B2" * 9, "an npm token")],
)  # fmt: skip
def test_the_article_fits_the_kind_of_credential(
    run: Run, tool: Callable[..., dict[str, Any]], secret: str, said: str
) -> None:
    warned = tool("lithos_write", agent="a", title="T", content=f"key {secret}")["warnings"]
    assert any(said in each for each in warned), warned
    listed = run("validate", code=None).stdout
    assert said in listed
    words = json.dumps({"thought_type": "Insight", "content": secret, "agent_id": "a"})
    refused = run("call", "mentisdb_append", "--json", words, code=None)
    assert said in refused.stdout + refused.stderr


# 20 The verifier that can be copied


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """A bundle of five thoughts, and the proof of one."""
    folder = tmp_path_factory.mktemp("exported")
    where = ("--data-dir", str(folder / "data"))
    for number in range(5):
        given = {"thought_type": "Insight", "content": f"thought {number}", "agent_id": "a"}
        assert typed("call", "mentisdb_append", "--json", json.dumps(given), *where).returncode == 0
    assert typed("ledger", "export", "--out", str(folder / "bundle"), *where).returncode == 0
    assert typed("ledger", "prove", "2", "--out", str(folder / "proof"), *where).returncode == 0
    return (folder / "bundle").read_bytes(), (folder / "proof").read_bytes()


@pytest.fixture
def bundle(exported: tuple[bytes, bytes], tmp_path: Path) -> Path:
    file = tmp_path / "bundle.jsonl"
    file.write_bytes(exported[0])
    return file


def verifier() -> Path:
    return next((REPOSITORY / "src/lithos").rglob("verify_bundle.py"))


def check(bundle: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """The copied file, without Lithos on its path."""
    alone = tmp_path / "elsewhere" / "check.py"
    alone.parent.mkdir(exist_ok=True)
    alone.write_bytes(verifier().read_bytes())
    command = [sys.executable, "-I", "-S", str(alone), str(bundle)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(("place", "junk"), [("start", b"\xff"), ("middle", b"\xc3\x28"), ("end", b"\xed\xa0\x80")])
def test_a_byte_that_is_no_text_is_a_verdict_and_no_traceback(
    bundle: Path, tmp_path: Path, place: str, junk: bytes
) -> None:
    whole = bundle.read_bytes()
    at = {"start": 0, "middle": len(whole) // 2, "end": len(whole)}[place]
    bundle.write_bytes(whole[:at] + junk + whole[at:])
    done = check(bundle, tmp_path)
    assert done.returncode in (1, 2) and "Traceback" not in done.stderr, done


@pytest.mark.parametrize("junk", [b"{}\n", b'{"x": 1}\n', b"[]\n"])
def test_junk_after_the_end_is_refused(run: Run, bundle: Path, tmp_path: Path, junk: bytes) -> None:
    assert check(bundle, tmp_path).returncode == 0
    bundle.write_bytes(bundle.read_bytes() + junk)
    done = check(bundle, tmp_path)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done
    assert run("ledger", "verify-bundle", str(bundle), code=None).returncode != 0


def test_junk_after_a_proof_is_refused(exported: tuple[bytes, bytes], tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    proof.write_bytes(exported[1])
    assert check(proof, tmp_path).returncode == 0
    whole = proof.read_bytes()
    value = json.loads(whole)
    for data in (whole + b"{}", whole + b"\x00", json.dumps({**value, "extra": 1}).encode()):
        proof.write_bytes(data)
        assert check(proof, tmp_path).returncode == 1, data[-20:]


def test_the_verifier_is_an_installed_command(bundle: Path) -> None:
    import tomllib

    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    module, _, function = project["scripts"]["lithos-verify"].partition(":")
    line = f"import sys; from {module} import {function} as run; sys.exit(run())"
    command = [sys.executable, "-c", line, str(bundle)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "5 thoughts" in done.stdout, done


def test_the_signing_page_says_how_fields_are_normalised() -> None:
    page = (REPOSITORY / "docs/ledger-format.md").read_text() + (REPOSITORY / "docs/ledger.md").read_text()
    signing = page[page.lower().index("## sign") :] if "## sign" in page.lower() else ""
    for word in ("tags", "refs", "blank", "normalis"):
        assert word in signing.lower().partition("\n## ")[0] or word in signing.lower()[:6000], word


# 21 What is left behind


def test_leftovers_of_a_killed_index_are_removed(run: Run, tool: Callable[..., dict[str, Any]], data_dir: Path) -> None:
    tool("lithos_write", agent="a", title="T", content="x")
    folders = [folder for folder in (data_dir / ".tantivy").rglob("*") if (folder / "meta.json").is_file()]
    assert folders
    for folder in folders:
        (folder / ".tmpAbC123").write_bytes(b"x" * 100)
    tool("lithos_write", agent="a", title="U", content="y")
    assert tool("lithos_search", query="y")["results"]
    assert list((data_dir / ".tantivy").rglob(".tmp*")) == []


# 22 Installing and Pythons


def test_make_serve_shows_progress_and_the_pythons_are_named() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    install = makefile.partition("$(VENV)/.installed:")[2].partition("\n\n")[0]
    assert "--quiet" not in install
    assert "\ntest-pythons:" in makefile
    import tomllib

    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    named = [each for each in project["classifiers"] if each.startswith("Programming Language :: Python :: 3.")]
    assert len(named) >= 2


def test_verify_never_forks_a_threaded_process(tmp_path: Path) -> None:
    sources = [file for file in (REPOSITORY / "src/lithos").rglob("*.py") if "get_context(" in file.read_text()]
    assert sources
    for file in sources:
        assert 'get_context("fork")' not in file.read_text(), file.name
