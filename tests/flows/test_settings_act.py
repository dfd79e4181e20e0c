"""Every option of the spec's §8.1 does what it says, seen through the tools and the server."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from lithos.app import Lithos, open_lithos
from lithos.cli.root import run
from lithos.core.clock import FakeClock
from lithos.errors import LithosError
from lithos.settings import LithosConfig
from lithos.tools.catalogue import catalogue
from tests.support import fork_server
from tests.support.waiting import until

TEXT = "\n\n".join(f"Paragraph {number} is about gardening and patience. " + "word " * 30 for number in range(12))


@contextmanager
def opened(data_dir: Path, start: bool = False, **sections: dict[str, Any]) -> Iterator[Lithos]:
    storage = {"data_dir": data_dir, **sections.pop("storage", {})}
    lithos = open_lithos(LithosConfig.model_validate({"storage": storage, **sections}), clock=FakeClock())
    try:
        if start:
            lithos.start()
        yield lithos
    finally:
        lithos.close()


def call(lithos: Lithos, name: str, /, **arguments: Any) -> dict[str, Any]:
    return catalogue().call(lithos, name, arguments)


def write(lithos: Lithos, title: str, content: str = "Something.", **more: Any) -> dict[str, Any]:
    return call(lithos, "lithos_write", title=title, content=content, agent="a", **more)


def chunks(lithos: Lithos) -> int:
    until(lambda: call(lithos, "lithos_stats")["chunks"] > 0)
    found: int = call(lithos, "lithos_stats")["chunks"]
    return found


# ---------------------------------------------------------------------- server
@contextmanager
def served(data_dir: Path, file: str) -> Iterator[str]:
    """A real server whose transport, host and port come from the settings file alone."""
    data_dir.mkdir(parents=True)
    (data_dir / "config.yaml").write_text(file)
    command = [sys.executable, "-m", "lithos.cli.entry", "serve", "--data-dir", str(data_dir)]
    with fork_server.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            yield next(line.split()[-1] for line in server.stderr if "health" in line)
        finally:
            server.terminate()


@pytest.mark.parametrize("transport", ["http", "sse"])
def test_server_transport_host_and_port_decide_where_the_server_listens(data_dir: Path, transport: str) -> None:
    with served(data_dir, f"server:\n  transport: {transport}\n  host: 127.0.0.3\n  port: 0\n") as health:
        assert health.startswith("http://127.0.0.3:")
        assert httpx.get(health).json()["status"] == "ready"
        with httpx.stream("GET", health.replace("/health", "/sse")) as stream:
            assert next(stream.iter_lines()) == "event: endpoint"


def test_server_port_is_the_port(data_dir: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as probe:
        free = probe.getsockname()[1]
    with served(data_dir, f"server:\n  transport: http\n  port: {free}\n") as health:
        assert health == f"http://127.0.0.1:{free}/health"


def test_server_watch_files_follows_a_persons_edit(data_dir: Path) -> None:
    with opened(data_dir, start=True, index={"watch_debounce_ms": 50}) as lithos:
        (data_dir / "knowledge").mkdir(exist_ok=True)
        saved = data_dir / "knowledge" / "hand.md"
        # Saved again and again: the first save may come before the watch is set up.
        until(lambda: bool(saved.write_text("# By hand\n")) and call(lithos, "lithos_stats")["documents"] == 1)
        assert [item["path"] for item in call(lithos, "lithos_list")["items"]] == ["hand.md"]


def test_once_the_watch_is_set_up_the_files_are_compared_again(data_dir: Path) -> None:
    with opened(data_dir, start=True, index={"scan_seconds": 3600}) as lithos:
        until(lambda: call(lithos, "lithos_stats")["index"]["scans"] >= 2)
        assert call(lithos, "lithos_stats")["index"]["problem"] is None


def test_server_without_watch_files_listens_to_no_events(data_dir: Path) -> None:
    with opened(data_dir, start=True, server={"watch_files": False}):
        assert not any(thread.name == "notes watcher" for thread in threading.enumerate())
    with opened(data_dir, start=True):
        assert any(thread.name == "notes watcher" for thread in threading.enumerate())


# ---------------------------------------------------------------------- storage
def test_storage_data_dir_and_knowledge_subdir_decide_where_notes_lie(data_dir: Path) -> None:
    with opened(data_dir, storage={"knowledge_subdir": "brain"}) as lithos:
        path = write(lithos, "Here")["path"]
    assert (data_dir / "brain" / path).is_file()
    assert (data_dir / ".lithos" / "coordination.db").is_file()
    assert not (data_dir / "knowledge").exists()


def test_storage_knowledge_dir_wins_and_may_be_a_link(data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "vault")
    with opened(data_dir, storage={"knowledge_subdir": "brain", "knowledge_dir": tmp_path / "link"}) as lithos:
        path = write(lithos, "There")["path"]
    assert (tmp_path / "vault" / path).is_file()
    assert not (data_dir / "brain").exists()


def test_nothing_below_the_vaults_root_is_followed(data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("# Secret\n")
    (data_dir / "knowledge").mkdir(parents=True)
    (data_dir / "knowledge" / "way").symlink_to(tmp_path / "outside")
    (data_dir / "knowledge" / "secret.md").symlink_to(tmp_path / "outside" / "secret.md")
    with opened(data_dir) as lithos:
        with pytest.raises(LithosError):
            call(lithos, "lithos_read", path="way/secret.md")
        with pytest.raises(LithosError):
            call(lithos, "lithos_read", path="secret.md")
        assert call(lithos, "lithos_stats")["documents"] == 0


# ---------------------------------------------------------------------- search
def test_search_chunk_size_decides_how_many_chunks_a_note_has(data_dir: Path, tmp_path: Path) -> None:
    counts = []
    for size in (200, 900):
        with opened(tmp_path / str(size), search={"chunk_size": size, "chunk_max": 1000}) as lithos:
            write(lithos, "Long", TEXT)
            counts.append(chunks(lithos))
    assert counts[0] > counts[1] > 1


def test_search_chunk_max_is_never_exceeded(tmp_path: Path) -> None:
    unbroken = "patience " * 85
    counts = []
    for most in (300, 1000):
        with opened(tmp_path / str(most), search={"chunk_size": 300, "chunk_max": most}) as lithos:
            write(lithos, "One paragraph", unbroken)
            counts.append(chunks(lithos))
    assert counts[0] >= len(unbroken) // 300
    assert counts[1] == 1


def test_search_max_results_bounds_every_search(data_dir: Path) -> None:
    with opened(data_dir, search={"max_results": 3}) as lithos:
        for number in range(6):
            write(lithos, f"Note {number}", "All about patience.")
        for tool in ("lithos_search", "lithos_semantic"):
            assert len(call(lithos, tool, query="patience", limit=50)["results"]) == 3


def test_search_semantic_threshold_is_the_least_similarity(tmp_path: Path) -> None:
    found = {}
    for threshold in (0.0, 0.99):
        with opened(tmp_path / str(threshold), search={"semantic_threshold": threshold}) as lithos:
            write(lithos, "Tomatoes", "Tomatoes need sun.")
            found[threshold] = len(call(lithos, "lithos_semantic", query="vegetables in the garden")["results"])
    assert found == {0.0: 1, 0.99: 0}


def test_search_embedding_model_is_the_model_that_is_loaded(data_dir: Path) -> None:
    with (
        pytest.raises(LithosError, match="no-such-model"),
        opened(data_dir, search={"embedding_model": "no-such-model"}) as lithos,
    ):
        write(lithos, "A")
        call(lithos, "lithos_semantic", query="a")


# ---------------------------------------------------------------------- coordination
def test_coordination_claim_ttls_are_the_default_and_the_most(data_dir: Path) -> None:
    terms = {"claim_default_ttl_minutes": 7, "claim_max_ttl_minutes": 9}
    with opened(data_dir, coordination=terms) as lithos:
        task = call(lithos, "lithos_task_create", title="T", agent="a")["task_id"]
        usual = call(lithos, "lithos_task_claim", task_id=task, aspect="x", agent="a")
        long = call(lithos, "lithos_task_claim", task_id=task, aspect="y", agent="a", ttl_minutes=400)
    assert usual["expires_at"] == "2026-01-01T00:07:00Z"
    assert long["expires_at"] == "2026-01-01T00:09:00Z"


# ---------------------------------------------------------------------- index
def test_index_rebuild_on_start_rebuilds_the_catalogue(data_dir: Path) -> None:
    with opened(data_dir, start=True) as lithos:
        write(lithos, "Kept")
    for rebuild, expected in ((False, False), (True, True)):
        cleared: list[bool] = []
        lithos = open_lithos(
            LithosConfig.model_validate({"storage": {"data_dir": data_dir}, "index": {"rebuild_on_start": rebuild}})
        )
        scan = lithos.notes.watcher.scan
        lithos.notes.watcher.scan = lambda clear=False, scan=scan, cleared=cleared: (
            cleared.append(clear),
            scan(clear=clear),
        )
        try:
            lithos.start()
            until(lambda cleared=cleared: len(cleared) > 0)
            assert cleared[0] is expected
            assert call(lithos, "lithos_list")["total"] == 1
        finally:
            lithos.close()


def test_index_watch_debounce_ms_is_the_quiet_time_before_changes_are_read(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import watchfiles

    asked: list[dict[str, Any]] = []
    heard = threading.Event()

    def watch(folder: Path, **options: Any) -> Iterator[set[Any]]:
        asked.append(options)
        heard.set()
        yield from ()

    monkeypatch.setattr(watchfiles, "watch", watch)
    with opened(data_dir, start=True, index={"watch_debounce_ms": 1234}):
        assert heard.wait(60)
    assert asked[0]["step"] == 1234


def test_the_settings_file_reaches_the_verbs(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data_dir.mkdir()
    (data_dir / "config.yaml").write_text("search:\n  max_results: 1\nserver:\n  agent: from-file\n")

    def verb(*arguments: str) -> Any:
        assert run([*arguments, "--data-dir", str(data_dir)]) == 0
        return json.loads(capsys.readouterr().out)

    for title in ("One", "Two"):
        verb("call", "lithos_write", f"title={title}", "content=All about patience.")
    assert len(verb("call", "lithos_search", "query=patience", "limit=9")["results"]) == 1
    assert verb("call", "lithos_agent_list")["agents"][0]["id"] == "from-file"
