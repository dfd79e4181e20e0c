"""Mixed load: agents that create, update and delete, and what each of them was told."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Hashable
from typing import Any

Answer = dict[str, Any]
Call = Callable[..., Answer | None]  # None: an error, or no answer; the call may have had its effect
Thing = tuple[str, str]  # (kind, name)
ABSENT = None


class Told:
    """What clients were told: for each thing the values that it may have now. A call in flight adds one value, its
    acknowledgement leaves that one alone, an error leaves both."""

    def __init__(self) -> None:
        self.may_be: dict[Thing, set[Hashable]] = {}
        self.calls = 0
        self.answers = 0
        self.errors = 0
        self._lock = threading.Lock()

    def begin(self, thing: Thing, value: Hashable) -> None:
        with self._lock:
            self.calls += 1
            self.may_be.setdefault(thing, {ABSENT}).add(value)

    def acknowledge(self, thing: Thing, value: Hashable) -> None:
        with self._lock:
            self.answers += 1
            self.may_be[thing] = {value}

    def fail(self) -> None:
        with self._lock:
            self.errors += 1

    def sure(self, kind: str) -> dict[str, Any]:
        """Things whose value is known and that are there."""
        known = ((name, *values) for (of, name), values in self.may_be.items() if of == kind and len(values) == 1)
        return {name: value for name, value in known if value is not ABSENT}

    def counts(self) -> dict[str, int]:
        kinds = sorted({kind for kind, _ in self.may_be})
        return {kind: sum(1 for of, _ in self.may_be if of == kind) for kind in kinds}


class Agent:
    """One client. Every note, task, thought, finding and file is its own, so that their order is its order."""

    def __init__(self, call: Call, told: Told, who: str, seed: int) -> None:
        self._call, self._told, self._who = call, told, who
        self._dice = random.Random(f"{seed} {who}")
        self._notes: dict[str, str] = {}  # title → id
        self._tasks: dict[str, str] = {}
        self._files: dict[str, str] = {}  # path → content
        self._number = 0
        self._registered = False  # on the chain of the skills: by its first thought there

    def act(self) -> None:
        self._number += 1
        acts: list[tuple[int, Callable[[], None]]] = [
            (5, self._create),
            (5, self._update if self._notes else self._create),
            (2, self._delete if self._notes else self._create),
            (3, self._task),
            (2, self._change_task if self._tasks else self._task),
            (2, self._find if self._tasks else self._task),
            (4, self._think),
            (2, self._write_file),
            (2, self._append_file if self._files else self._write_file),
            (1, self._skill if self._registered else self._think),
            (1, self._search),
        ]
        self._dice.choices([act for _, act in acts], [weight for weight, _ in acts])[0]()

    def _try(self, thing: Thing, value: Hashable, tool: str, **arguments: Any) -> Answer | None:
        self._told.begin(thing, value)
        answer = self._call(tool, **arguments)
        if answer is None or answer.get("success") is False:
            self._told.fail()
            return None
        self._told.acknowledge(thing, value)
        return answer

    @property
    def _word(self) -> str:
        return f"w{self._who}x{self._number}q"

    def _create(self) -> None:
        title = f"note {self._who} {self._number}"
        made = self._try(("note", title), self._word, "lithos_write", title=title, content=self._word, agent=self._who)
        if made is not None:
            self._notes[title] = made["id"]

    def _update(self) -> None:
        title, note = self._dice.choice(sorted(self._notes.items()))
        self._try(("note", title), self._word, "lithos_write", id=note, content=self._word, agent=self._who)

    def _delete(self) -> None:
        title = self._dice.choice(sorted(self._notes))
        self._try(("note", title), ABSENT, "lithos_delete", id=self._notes.pop(title), agent=self._who)

    def _task(self) -> None:
        title = f"task {self._who} {self._number}"
        made = self._try(("task", title), "", "lithos_task_create", title=title, agent=self._who)
        if made is not None:
            self._tasks[title] = made["task_id"]

    def _change_task(self) -> None:
        title, task = self._dice.choice(sorted(self._tasks.items()))
        self._try(("task", title), self._word, "lithos_task_update", task_id=task, tags=[self._word], agent=self._who)

    def _find(self) -> None:
        task = self._dice.choice(sorted(self._tasks.values()))
        summary = f"finding {self._word}"
        self._try(("finding", summary), True, "lithos_finding_post", task_id=task, summary=summary, agent=self._who)

    def _think(self) -> None:
        chain, content = self._dice.choice(["lithos", f"own-{self._who}"]), f"thought {self._word}"
        thought = {"chain_key": chain, "thought_type": "Insight", "content": content, "agent_id": self._who}
        if self._try(("thought", content), True, "mentisdb_append", **thought) and chain == "lithos":
            self._registered = True

    def _write_file(self) -> None:
        path = f"users/u{self._who}/parts/p{self._dice.randrange(6)}/notes.md"
        self._put_file(path, f"{self._word}\n", "lithos_fs_write", content=f"{self._word}\n")

    def _append_file(self) -> None:
        path, old = self._dice.choice(sorted(self._files.items()))
        self._put_file(path, f"{old}{self._word}\n", "lithos_fs_append", text=f"{self._word}\n")

    def _put_file(self, path: str, value: str, tool: str, **change: str) -> None:
        about = {"path": path, "rationale": "load", "user_id": f"u{self._who}", "agent": self._who}
        made = self._try(("file", path), value, tool, **about, **change)
        if made is None:
            self._files.pop(path, None)  # which of both it is now is not known
        else:
            self._files[path] = value

    def _skill(self) -> None:
        text = f"---\nname: skill {self._word}\ndescription: {self._word}\n---\n# {self._word}\n"
        self._try(("skill", f"skill {self._word}"), True, "mentisdb_upload_skill", agent_id=self._who, content=text)

    def _search(self) -> None:
        self._call("lithos_search", query=self._word)
