"""A note is superseded: killed at every step of it, and read while it happens."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.errors import LithosError
from lithos.settings import LithosConfig, StorageSettings
from lithos.storage import PlannedFaults
from lithos.tools.catalogue import catalogue
from tests.support import fork_server

NEW = {
    "title": "Retries 2",
    "content": "Retry five times.",
    "agent": "ann",
    "merge_key": "retries",
    "on_conflict": "supersede",
    "idempotency_key": "k",
}


def opened(data_dir: Path, faults: PlannedFaults | None = None) -> Lithos:
    return open_lithos(LithosConfig(storage=StorageSettings(data_dir=data_dir)), faults=faults)


def ask(lithos: Lithos, tool: str, **arguments: Any) -> dict[str, Any]:
    return catalogue().call(lithos, tool, arguments)


def supersede_and_die(data_dir: Path, point: str, visit: int) -> None:
    """In a process of its own: `python -m tests.faults.test_succession_faults DIR POINT VISIT`."""
    faults = PlannedFaults()
    lithos = opened(data_dir, faults)
    ask(lithos, "lithos_write", title="Retries", content="Retry thrice.", agent="ann", merge_key="retries")
    faults.seen.clear()
    faults.plan(point, "kill", visit)
    ask(lithos, "lithos_write", **NEW)


@pytest.mark.parametrize(
    ("point", "visit"),
    [("saga.opened", 1), ("saga.stepped", 1), ("saga.stepped", 2), ("saga.closed", 1)],
    ids=lambda value: str(value),
)
def test_a_supersession_is_whole_or_absent_after_a_kill(tmp_path: Path, point: str, visit: int) -> None:
    command = [sys.executable, "-m", "tests.faults.test_succession_faults", str(tmp_path), point, str(visit)]
    assert fork_server.run(command, timeout=120).returncode == 137
    lithos = opened(tmp_path)
    try:
        done = check_whole(lithos)
        again = ask(lithos, "lithos_write", **NEW)
        assert again["action"] == "superseded" and check_whole(lithos)
        assert ask(lithos, "lithos_list", status="all")["total"] == 2
        assert done or point != "saga.closed"
    finally:
        lithos.close()


def check_whole(lithos: Lithos) -> bool:
    """One active note, and marks on both sides or on none; whether there is a successor."""
    (active,) = ask(lithos, "lithos_list")["items"]
    replaced = ask(lithos, "lithos_list", status="superseded")["items"]
    current = ask(lithos, "lithos_read", id=active["id"])
    if not replaced:
        assert "supersedes" not in current["metadata"] and active["title"] == "Retries"
        return False
    (old,) = replaced
    assert current["metadata"]["supersedes"] == old["id"]
    assert ask(lithos, "lithos_read", id=old["id"])["successor"]["id"] == active["id"]
    return True


def test_readers_never_see_half_of_a_supersession(tmp_path: Path) -> None:
    lithos = opened(tmp_path)
    first = ask(lithos, "lithos_write", title="Rule", content="Version 0.", agent="ann", merge_key="rule")["id"]
    wrong: list[object] = []
    done = threading.Event()

    def read() -> None:
        known = first
        while not done.is_set():
            try:
                listed = ask(lithos, "lithos_list")["items"]
                if len(listed) != 1:
                    wrong.append(listed)
                seen = ask(lithos, "lithos_read", id=known)
                if seen["metadata"].get("status") == "superseded":
                    known = ask(lithos, "lithos_read", id=seen["metadata"]["superseded_by"])["id"]
            except LithosError as error:
                wrong.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        for number in range(1, 25):
            wish = {"title": "Rule", "content": f"Version {number}.", "agent": "ann", "merge_key": "rule"}
            assert ask(lithos, "lithos_write", **wish, on_conflict="supersede")["action"] == "superseded"
    finally:
        done.set()
        for reader in readers:
            reader.join()
        lithos.close()
    assert wrong == []


if __name__ == "__main__":
    supersede_and_die(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
