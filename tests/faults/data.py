"""A data directory with something of every kind in it, for tests that damage it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lithos.app import Lithos, open_lithos
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue

TASK = {"title": "t", "agent": "ann"}
OPERATOR = Caller(agent="ann", operator=True, toolsets=("all",))


@contextmanager
def opened(data_dir: Path) -> Iterator[Lithos]:
    memory = open_lithos(LithosConfig(storage=StorageSettings(data_dir=data_dir)))
    try:
        yield memory
    finally:
        memory.close()


def everything(data_dir: Path, repository: Path | None = None) -> None:
    """Notes with a history and a trash, tasks, claims, findings, thoughts, skills, a garden file, code; all closed."""
    with opened(data_dir) as memory:

        def call(tool: str, /, **arguments: object) -> dict[str, object]:
            return catalogue().call(memory, tool, arguments, OPERATOR)

        notes = [
            call("lithos_write", title=f"note {number}", content=f"word{number} [[note 0]]", agent="ann")
            for number in range(4)
        ]
        memory.note_search.collection.settle(60)
        call("lithos_write", id=notes[0]["id"], title="note 0", content="word0 changed", agent="ann")
        call("lithos_delete", id=notes[3]["id"], agent="ann")
        task = call("lithos_task_create", **TASK, idempotency_key="k1")
        call("lithos_task_claim", task_id=task["task_id"], aspect="all", agent="ann")
        call("lithos_finding_post", task_id=task["task_id"], agent="ann", summary="found")
        for number in range(3):
            call("mentisdb_append", thought_type="Insight", content=f"thought {number}", agent_id="ann")
        call("mentisdb_upsert_agent", agent_id="ann", description="an agent")
        call("mentisdb_upload_skill", skill_id="s1", content="# Skill\n\nDo it.", agent_id="ann")
        call("lithos_fs_append", path="users/u1/notes.md", text="- a theme", agent="ann", user_id="u1", rationale="new")
        if repository is not None:
            make_repository(repository)
            call("lithos_code_add", name="shop", path=str(repository))
            call("lithos_get_style_guide", root="shop")
            call("lithos_session_create", name="s", agent="ann")
            call("lithos_get_file", path="shop.py")
            call("lithos_search_history", query="price")
        call("lithos_message_send", target="ann", body="a letter")
        call("mentisdb_search", text="thought")
        call("lithos_recall", query="found thought word1")
        memory.notes.reindex()
        for collection in memory.collections().values():
            assert collection.settle(60)
    with opened(data_dir):  # some files are made by the second start
        pass


def make_repository(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "shop.py").write_text("def price(item):\n    return tax(item)\n\n\ndef tax(item):\n    return 1\n")
    who = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "Add prices"]):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)
