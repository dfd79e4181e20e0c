"""Hostile input: every string argument of every tool, over the wire to a real host.

The promise of each case: a typed error or an answer, within the bound; the process lives, its peak memory grows by at
most 50 MB, nothing is read or written outside the roots. The corpus (`corpus/*.jsonl`) keeps one case for each tool,
argument and outcome; `python -m tests.torture.hostile SEED COUNT` looks for new ones and adds them.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from lithos.tools.catalogue import catalogue
from lithos.tools.registry import Tool
from tests.support.guests import GuestProcess, Household

CORPUS = Path(__file__).with_name("corpus")
SECRET = "a-text-outside-of-every-root"
CPU_SECONDS = 5.0  # of the host's own time: how busy the machine is plays no part
MEMORY_MB = 50.0
OUR_BUGS = {"internal", "damaged", "config_invalid", "unsupported"}
Send = Callable[[str, dict[str, Any]], dict[str, Any]]

VALUES: list[Any] = json.loads((CORPUS / "values.json").read_text())


@dataclass(frozen=True)
class Case:
    tool: str
    argument: str
    value: Any

    def arguments(self, known: dict[str, Any]) -> dict[str, Any]:
        tool = catalogue().get(self.tool)
        return {**base_arguments(tool, known), self.argument: _wrapped(tool, self.argument, spelled_out(self.value))}


def spelled_out(value: Any) -> str:
    if isinstance(value, dict):
        text, times = value["repeat"]
        return str(text) * int(times)
    return str(value)


def cases() -> Iterator[Case]:
    """The corpus, as far as its tools and arguments still exist; one case more for each argument that it lacks."""
    places, kept = set(every_case()), [Case(**json.loads(line)) for line in _lines()]
    yield from (case for case in kept if (case.tool, case.argument) in places)
    known = {(case.tool, case.argument) for case in kept}
    for number, place in enumerate(sorted(places - known)):
        yield Case(*place, VALUES[number % len(VALUES)])


def _lines() -> Iterator[str]:
    for file in sorted(CORPUS.glob("*.jsonl")):
        yield from file.read_text().splitlines()


def every_case() -> list[tuple[str, str]]:
    """(tool, argument) of every argument that takes a string, alone or in a list."""
    return [
        (tool.name, name)
        for tool in catalogue()
        for name, schema in tool.argument_schema["properties"].items()
        if _takes_text(schema, tool) or _takes_texts(schema, tool)
    ]


def _variants(schema: dict[str, Any], tool: Tool) -> list[dict[str, Any]]:
    if "$ref" in schema:
        return _variants(tool.argument_schema["$defs"][schema["$ref"].rpartition("/")[2]], tool)
    if "anyOf" in schema:
        return [found for each in schema["anyOf"] for found in _variants(each, tool)]
    return [schema]


def _takes_text(schema: dict[str, Any], tool: Tool) -> bool:
    return any(each.get("type") == "string" for each in _variants(schema, tool))


def _takes_texts(schema: dict[str, Any], tool: Tool) -> bool:
    lists = [each for each in _variants(schema, tool) if each.get("type") == "array"]
    return any(_takes_text(each.get("items", {}), tool) for each in lists)


def _wrapped(tool: Tool, name: str, value: str) -> Any:
    schema = tool.argument_schema["properties"][name]
    return value if _takes_text(schema, tool) else [value]


def base_arguments(tool: Tool, known: dict[str, Any]) -> dict[str, Any]:
    """A call that would be right but for the hostile argument."""
    required = tool.argument_schema.get("required", [])
    chosen = {name: _plain(name, tool, known) for name in required}
    if tool.name == "lithos_board_wait":
        chosen["timeout"] = 0
    return chosen


def _plain(name: str, tool: Tool, known: dict[str, Any]) -> Any:
    of_tool = f"{tool.name}.{name}"
    if of_tool in known or name in known:
        return known.get(of_tool, known.get(name))
    first = _variants(tool.argument_schema["properties"][name], tool)[0]
    by_type = {"integer": 1, "number": 0.5, "boolean": False, "array": [], "object": {}}
    return first["enum"][0] if "enum" in first else by_type.get(first.get("type", ""), "plain")


class Room:
    """A host with a little of everything, and around its data directory things that are none of its business."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "outside").mkdir()
        for file in (folder / "outside" / "secret.md", folder / "secret.md"):
            file.write_text(f"# Secret\n{SECRET}\n")
        (folder / "home").mkdir()
        (folder / "data" / "knowledge").mkdir(parents=True)
        (folder / "data" / "knowledge" / "link").symlink_to(folder / "outside")
        self.home = Household(folder / "data")
        self._around = self._snapshot()

    def __enter__(self) -> Room:
        environment = {**os.environ, "HOME": str(self._folder / "home")}
        self.guest: GuestProcess = self.home.guest("--toolsets", "all", "--agent", "plain", env=environment)
        self.guest.initialize()
        self.known = self._fill()
        self.host = psutil.Process(self.home.host_pid())
        return self

    def __exit__(self, *_: object) -> None:
        self.home.check_out()

    def _fill(self) -> dict[str, Any]:
        call = self.guest.call
        note = call("lithos_write", title="plain", content="words [[other]]\n\n## Part\ntext\n", agent="plain")
        task = call("lithos_task_create", title="plain", agent="plain")
        call("mentisdb_append", thought_type="Insight", content="plain", agent_id="plain")
        garden = {"path": "users/plain/notes.md", "user_id": "plain", "agent": "plain"}
        call("lithos_fs_write", content="## Part\nplain\n", rationale="plain", **garden)
        call("lithos_semantic", query="plain")  # loads the model, once and for all cases
        call("lithos_tool_find", query="plain")  # makes the vectors of all tools, once for a memory: 4 s of CPU
        ids = {"id": note["id"], "note": note["id"], "task_id": task["task_id"], "agent": "plain", "agent_id": "plain"}
        names = {"aspect": "code", "path": garden["path"], "thought_type": "Insight", "user_id": "plain"}
        return {**ids, **names, "mentisdb_upload_skill.content": "---\nname: s\ndescription: d\n---\n# s\n"}

    def send(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self.guest.request("tools/call", {"name": tool, "arguments": arguments})

    def _snapshot(self) -> dict[str, bytes]:
        ours = {self._folder / "data", self._folder / "home" / ".cache"}  # what a host keeps for all its memories
        files = [each for each in self._folder.rglob("*") if each.is_file() and not ours & set(each.parents)]
        return {str(file): file.read_bytes() for file in files}

    def check(self, case: Case, send: Send | None = None) -> str:
        """The outcome: `ok` or the code of an error. Raises AssertionError where the promise is broken."""
        with contextlib.suppress(OSError):  # not in every container: then the peak is that of all cases
            Path(f"/proc/{self.host.pid}/clear_refs").write_text("5")
        memory, spent = self._memory_mb("VmRSS"), sum(self.host.cpu_times()[:2])
        answer = (send or self.send)(case.tool, case.arguments(self.known))
        outcome = judged(answer)
        assert self.host.is_running(), "the host died"
        assert (took := sum(self.host.cpu_times()[:2]) - spent) < CPU_SECONDS, f"{took:.1f} s of CPU"
        assert (grown := self._memory_mb("VmHWM") - memory) < MEMORY_MB, f"the memory grew by {grown:.0f} MB"
        return outcome

    def check_around(self) -> None:
        assert self._snapshot() == self._around, "something outside the roots was changed"

    def _memory_mb(self, name: str) -> float:
        lines = Path(f"/proc/{self.host.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith(name)).split()[1]) / 1024


def judged(answer: dict[str, Any]) -> str:
    text = json.dumps(answer)
    assert SECRET not in text, "a file outside the roots was read"
    if "error" in answer:
        assert answer["error"]["code"] != -32603, answer
        return f"rpc{answer['error']['code']}"
    content = answer["result"].get("structuredContent") or {}
    if not answer["result"].get("isError"):
        return "ok" if content.get("success") is not False else "refused"
    error = content["error"]
    assert {"code", "message", "hint", "retryable"} <= set(error) and error["code"] not in OUR_BUGS, error
    return str(error["code"])


def campaign(folder: Path, chosen: list[Case]) -> dict[str, Any]:
    """Counts of outcomes. Raises AssertionError that names the case."""
    with Room(folder) as room:
        outcomes = check_all(room, chosen)
    return {"hostile cases": len(chosen), "outcomes": dict(outcomes)}


def check_all(room: Room, chosen: list[Case], send: Send | None = None) -> Counter[str]:
    """`send` stands in for the host, with a bug."""
    outcomes: Counter[str] = Counter()
    for case in chosen:
        try:
            outcomes[room.check(case, send)] += 1
        except AssertionError as broken:
            raise AssertionError(f"{case.tool} {case.argument}={str(case.value)[:200]!r}: {broken}") from broken
    room.check_around()
    return outcomes


def invented(seed: int, count: int) -> list[Case]:
    dice = random.Random(seed)
    places = every_case()
    return [Case(*dice.choice(places), _value(dice)) for _ in range(count)]


def _value(dice: random.Random) -> Any:
    """One of the list, two of it joined, or any characters."""
    kind = dice.random()
    if kind < 0.6:
        return dice.choice(VALUES)
    short = [value for value in VALUES if isinstance(value, str) and len(value) < 100]
    if kind < 0.85:
        return dice.choice(short) + dice.choice(["", " ", "\n", "/", "plain"]) + dice.choice(short)
    planes = [(1, 32), (32, 127), (127, 0x800), (0x800, 0xFFFF), (0x10000, 0x10FFFF)]
    return "".join(chr(dice.randint(*dice.choice(planes))) for _ in range(dice.randint(1, 60)))


def grow(seed: int, count: int) -> None:
    """Add each invented case whose (tool, argument, outcome) the corpus does not have; print what breaks a promise."""
    seen: set[tuple[str, str, str]] = set()
    with tempfile.TemporaryDirectory() as folder, Room(Path(folder)) as room:
        for case in cases():
            seen.add((case.tool, case.argument, room.check(case)))
        for case in invented(seed, count):
            try:
                outcome = room.check(case)
            except AssertionError as broken:
                print("BROKEN", json.dumps(case.__dict__)[:300], str(broken)[:500], flush=True)
                continue
            if (case.tool, case.argument, outcome) not in seen:
                seen.add((case.tool, case.argument, outcome))
                _keep(case)
        room.check_around()
    print(f"{len(seen)} outcomes")


def _keep(case: Case) -> None:
    CORPUS.mkdir(exist_ok=True)
    with (CORPUS / f"{catalogue().get(case.tool).toolset}.jsonl").open("a") as file:
        file.write(json.dumps(case.__dict__) + "\n")


if __name__ == "__main__":
    grow(int(sys.argv[1]), int(sys.argv[2]))
