"""Compare what clients were told with what tools can reach, after a crash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import lithos.app
from lithos.app import Lithos, open_lithos
from lithos.errors import LithosError
from lithos.search.embedding.embedder import HashedEmbedder
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.support.waiting import until
from tests.torture.load import ABSENT, Told

OPERATOR = Caller(operator=True)


def opened(data_dir: Path) -> Lithos:
    return open_lithos(LithosConfig(storage=StorageSettings(data_dir=data_dir)))


def embed_cheaply() -> None:
    """The fake of the embedder: the model costs more than everything else, and crashes do not depend on it."""
    lithos.app.open_embedder = lambda _: HashedEmbedder()  # type: ignore[attr-defined]


def judge(data_dir: Path, told: Told) -> None:
    """Every acknowledged operation is there once and search finds it, the doctor is green, and a rebuild of what is
    derived differs in nothing. Raises AssertionError."""
    memory = opened(data_dir)
    try:
        memory.notes.reindex()
        before = compare(memory, told)
        check_search(memory, told)
        check_doctor(memory)
        derived = indexed(memory)
        memory.notes.reindex(clear=True)
        assert compare(memory, told) == before
        assert indexed(memory) == derived
        check_search(memory, told)
    finally:
        memory.close()


def compare(memory: Lithos, told: Told) -> dict[str, Any]:
    """All that is there. Raises AssertionError where it is not what clients were told."""
    there = {
        "note": notes(memory),
        "task": tasks(memory),
        "finding": findings(memory),
        "thought": thoughts(memory),
        "file": files(memory, told),
        "skill": skills(memory),
    }
    for (kind, name), values in told.may_be.items():
        found = there[kind].get(name, [ABSENT])
        assert len(found) == 1, f"{kind} {name!r} is there {len(found)} times: {found}"
        assert found[0] in values, f"{kind} {name!r} is {found[0]!r}, not one of {values!r}"
    return there


def check_search(memory: Lithos, told: Told) -> None:
    ids = {note["title"]: note["id"] for note in _list(memory)}
    for title, word in told.sure("note").items():
        found = [hit["id"] for hit in _whole_answer(memory, word)["results"]]
        assert found == [ids[title]], f"a search for {word!r} ({title}) finds {found}"


def _whole_answer(memory: Lithos, word: str) -> dict[str, Any]:
    """A search that meets damage says `degraded` and has it rebuilt; it must not stay so."""

    def ask() -> dict[str, Any] | None:
        answer = call(memory, "lithos_search", query=word)
        return None if answer.get("degraded") else answer

    answer: dict[str, Any] = until(ask, "an answer that is not degraded")
    return answer


def check_doctor(memory: Lithos) -> None:
    """Green; where it meets damage of something derived, green as soon as that is rebuilt."""

    def is_green() -> bool:
        wrong[:] = [each for each in _findings(memory) if each["severity"] == "error"]
        return not wrong

    wrong: list[dict[str, Any]] = []
    try:
        until(is_green, "a green doctor")
    except AssertionError:
        raise AssertionError(f"the doctor stays red: {wrong}") from None


def _findings(memory: Lithos) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = catalogue().call(memory, "lithos_doctor", {"full": True}, OPERATOR)["findings"]
    return found


def indexed(memory: Lithos) -> dict[str, Any]:
    """What is derived from notes, as readers see it."""
    found = _list(memory)
    return {
        "notes": sorted(found, key=lambda note: str(note["id"])),
        "tags": call(memory, "lithos_tags"),
        "search": dict(memory.note_search.collection.known()),
    }


def call(memory: Lithos, tool: str, **arguments: Any) -> dict[str, Any]:
    return catalogue().call(memory, tool, arguments)


def _list(memory: Lithos) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while True:
        page = call(memory, "lithos_list", limit=100, offset=len(found), detail=True)["items"]
        found += page
        if len(page) < 100:
            return found


def _grouped(pairs: list[tuple[str, Hashable]]) -> dict[str, list[Any]]:
    grouped: dict[str, list[Any]] = {}
    for name, value in pairs:
        grouped.setdefault(name, []).append(value)
    return grouped


def notes(memory: Lithos) -> dict[str, list[Any]]:
    listed = _list(memory)
    return _grouped([(each["title"], call(memory, "lithos_read", id=each["id"])["content"].strip()) for each in listed])


def _all_tasks(memory: Lithos) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    more: dict[str, Any] = {}
    while True:
        page = call(memory, "lithos_task_list", limit=100, detail=True, **more)
        found += page["tasks"]
        if page.get("next_cursor") is None:
            return found
        more = {"cursor": page["next_cursor"]}


def tasks(memory: Lithos) -> dict[str, list[Any]]:
    return _grouped([(task["title"], "".join(task["tags"])) for task in _all_tasks(memory)])


def findings(memory: Lithos) -> dict[str, list[Any]]:
    rows = memory.storage.database.read(lambda tx: tx.all("SELECT summary FROM findings"))
    return _grouped([(row["summary"], True) for row in rows])


def thoughts(memory: Lithos) -> dict[str, list[Any]]:
    said: Counter[str] = Counter()
    for key in [each["chain_key"] for each in call(memory, "mentisdb_list_chains", detail=True)["chains"]]:
        chain = memory.ledger.chain(key)
        said.update(str(entry.body["content"]) for entry in chain.entries(range(chain.size)) if entry.body)
    return {text: [True] * times for text, times in said.items()}


def files(memory: Lithos, told: Told) -> dict[str, list[Any]]:
    found = {}
    for kind, path in told.may_be:
        if kind == "file":
            try:
                read = call(memory, "lithos_fs_read", path=path, user_id=path.split("/")[1], detail=True)
            except LithosError:
                continue
            found[path] = [read["content"]]
    return found


def skills(memory: Lithos) -> dict[str, list[Any]]:
    return _grouped([(skill["name"], True) for skill in call(memory, "mentisdb_list_skills", detail=True)["skills"]])
