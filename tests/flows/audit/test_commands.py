"""The command line (points 17 to 20 of issue 15), with values that slipped through before."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lithos.ledger.proofs.verify_bundle import FIELDS, Wrong, exactly
from lithos.ledger.proofs.verify_bundle import main as verify_main
from tests.flows.audit.test_people import Run, run, served, tool, typed  # noqa: F401 - fixtures
from tests.support.waiting import until

LITHOS = [sys.executable, "-m", "lithos.cli.entry"]


def refuses(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
        return False
    return True


# 17


def test_a_second_ctrl_c_ends_it_at_once_and_says_so(data_dir: Path) -> None:
    with served(data_dir) as (process, _, port), socket.create_connection(("127.0.0.1", port), 10) as client:
        # A request whose body never comes: the first Ctrl-C waits for it.
        client.sendall(
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
            "Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{".encode()
        )
        process.send_signal(signal.SIGINT)
        until(lambda: refuses(port) or process.poll() is not None, "the port to close")
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=60)
    assert process.returncode in (0, 130), (process.returncode, rest)
    assert len(rest.strip().splitlines()) == 1 and "Traceback" not in rest, rest


def test_a_closed_terminal_stops_it_with_one_line(data_dir: Path) -> None:
    with served(data_dir) as (process, _, _):
        process.send_signal(signal.SIGHUP)
        _, rest = process.communicate(timeout=60)
    assert process.returncode == 0
    assert rest.strip() == "Lithos has stopped."


def test_nohup_keeps_it_running(data_dir: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # inherited by what is started now
    try:
        with served(data_dir, start=subprocess.Popen) as (process, _, port):
            process.send_signal(signal.SIGHUP)
            process.send_signal(0)
            assert not refuses(port) and process.poll() is None
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
    finally:
        signal.signal(signal.SIGHUP, before)


# 18


def test_every_command_of_the_banner_names_the_data_directory(tmp_path: Path) -> None:
    data_dir = tmp_path / "my data"
    assert typed("token", "new", "--name", "laptop", "--data-dir", str(data_dir)).returncode == 0
    with served(data_dir, "--host", "0.0.0.0") as (_, lines, _):
        banner = "".join(lines)
    (command,) = [
        part for part in banner.split("`") if "lithos token new" in part and Path(part.split()[0]).is_absolute()
    ]
    words = shlex.split(command)
    assert words[words.index("--data-dir") + 1] == str(data_dir.resolve())
    made = typed(*[word if word != "NAME" else "phone" for word in words[1:]], "--json")
    assert made.returncode == 0 and json.loads(made.stdout)["token"]


# 19


@pytest.mark.parametrize("version", ["sha256:" + "0" * 64, "0" * 64, "banana", "sha256:zz"])
@pytest.mark.parametrize("verb", ["diff", "revert"])
def test_a_version_that_never_was_is_called_unknown(run: Run, version: str, verb: str) -> None:  # noqa: F811
    note = run("note", "write", "--title", "T", "--content", "x").stdout.split()[0]
    words = ("diff", "t.md", "--old", version) if verb == "diff" else ("revert", "t.md", version)
    said = run("note", *words, code=3).stderr
    assert note and "never had" in said and version[:20] in said and "any more" not in said


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\xfe", None])
@pytest.mark.parametrize("checkpoint", [True, False])
def test_a_chain_without_a_readable_header_is_named(
    run: Run,  # noqa: F811
    tool: Any,  # noqa: F811
    data_dir: Path,
    damage: bytes | None,
    checkpoint: bool,
) -> None:
    tool("mentisdb_append", thought_type="Insight", content="x", agent_id="a", chain_key="research")
    if checkpoint:
        run("ledger", "checkpoint", "research")
    (header,) = (data_dir / ".lithos/ledger").glob("research-*/chain.json")
    if damage is None:
        header.unlink()
    else:
        header.write_bytes(damage)
    done = run("ledger", "verify", "research", code=None)
    assert done.returncode >= 10
    (first, *_) = done.stdout.splitlines()
    assert first.startswith("DAMAGED  research") and "root" not in first, done.stdout


# 20


@pytest.mark.parametrize("content", [b"{}", b"[]", b'"x"', b"not json", b"\xff\xfe", b'{"checkpoint": {}}', b"", None])
def test_a_checkpoint_file_that_is_none_is_named(
    run: Run,  # noqa: F811
    tool: Any,  # noqa: F811
    tmp_path: Path,
    content: bytes | None,
) -> None:
    tool("mentisdb_append", thought_type="Insight", content="x", agent_id="a")
    file = tmp_path / "kept.json"
    if content is not None:
        file.write_bytes(content)
    done = run("ledger", "verify", "--against", str(file), code=2)
    assert "kept.json" in done.stderr


@pytest.mark.parametrize("content", [b"{}", b"[]", b"not json", b"\xff", b'{"checkpoint": 1}'])
def test_the_verifier_names_a_checkpoint_file_that_is_none(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle, file = tmp_path / "bundle.jsonl", tmp_path / "kept.json"
    bundle.write_bytes(b"{}")
    file.write_bytes(content)
    assert verify_main([str(bundle), "--against", str(file)]) in (1, 2)
    said = capsys.readouterr()
    assert "kept.json" in said.out + said.err


@pytest.mark.parametrize("kind", sorted(FIELDS))
def test_the_verifier_uses_the_right_article(kind: str) -> None:
    with pytest.raises(Wrong) as wrong:
        exactly({}, kind)
    article = "an" if kind[0] in "aeiou" else "a"
    assert str(wrong.value).startswith(f"{article} {kind} ")


def test_sigint_while_it_starts_prints_no_traceback(data_dir: Path) -> None:
    """At whichever moment: the process is asked to end as soon as it exists."""
    command = [*LITHOS, "serve", "--transport", "http", "--port", "0", "--data-dir", str(data_dir)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    until(lambda: (data_dir / ".lithos").exists() or process.poll() is not None, "its folder")
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "Traceback" not in said, said
