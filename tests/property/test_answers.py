"""Over random edits and writes a cached answer never contradicts a fresh one, and every number in it is a row's."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.call import Call
from lithos.core.clock import FakeClock
from lithos.graph.answers import StoredJudge
from lithos.graph.answers.cache import AnswerCache
from lithos.settings import CodeRoot, CodeSettings, LithosConfig, ServerSettings, StorageSettings
from lithos.storage import Row
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.support.code_repos import git, repository, write

OPERATOR, AGENT = Caller(operator=True), Caller(agent="ann", toolsets=("all",))
NAMES = ("alpha_one", "beta_two", "gamma_three", "DeltaFour", "EpsilonFive")
QUESTIONS = (
    "where is {name}",
    "find {name}",
    "what calls {name}",
    "what does {name} call",
    "explain {name}",
    "how does {name} work",
    "how do we handle {name}",
    "how did we handle {name}",
    "what changed in {name}",
)
_SOURCE = re.compile(r"\[\d+\] Code: (\w+):([\w/.]+):(\d+)(?:-\d+)? ")
_DATE = re.compile(r"\[\d+\] History: (\d{4}-\d\d-\d\d) ")
_NUMBER = re.compile(r"^\[\d+\] ")
STEPS = 40
EXACT = ("LOCATE", "EXPLAIN", "ACTIVITY")  # equal to a fresh answer; the others may rank unrelated pieces otherwise


class Trial:
    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.chance = chance
        self.clock = FakeClock("2026-11-17T12:00:00Z")
        self.root = repository(folder / "shop", {"a.py": self.file(), "pack/b.py": self.file()})
        config = LithosConfig(
            storage=StorageSettings(data_dir=folder / "data"),
            server=ServerSettings(watch_files=False),
            code=CodeSettings(roots=(CodeRoot(name="shop", path=self.root),)),
        )
        self.lithos: Lithos = open_lithos(config, clock=self.clock)
        self.look()

    def look(self) -> None:
        for root in self.lithos.code.roots():
            root.index.reconcile()

    def file(self) -> str:
        """Some of the names, each defined once, calling others, at random lines."""
        parts = []
        for name in self.chance.sample(NAMES, self.chance.randint(1, 4)):
            callee = self.chance.choice(NAMES)
            if name[0].isupper():
                parts.append(f"class {name}:\n    def run(self):\n        return {callee}()\n")
            else:
                head = f"def {name}(item={self.chance.randint(1, 9)}):"
                parts.append(head + f"\n    '''Does {callee}.'''\n    return {callee}(item)\n")
        return "\n" * self.chance.randint(0, 4) + "\n\n".join(parts)

    def change(self) -> None:
        action = self.chance.choice(("edit", "edit", "add", "remove", "write", "claim", "note", "resolve", "wait"))
        if action == "edit":
            write(self.root, {self.chance.choice(("a.py", "pack/b.py")): self.file()})
        elif action == "add":
            write(self.root, {f"pack/new{self.chance.randint(1, 3)}.py": self.file()})
        elif action == "remove":
            (self.root / "pack" / f"new{self.chance.randint(1, 3)}.py").unlink(missing_ok=True)
        elif action == "write":
            text = f"We moved {self.chance.choice(NAMES)} because of {self.chance.randint(1, 99)} reasons."
            catalogue().call(self.lithos, "lithos_store_entry", {"content": text, "category": "decision"}, AGENT)
        elif action == "claim":
            text = f"`{self.chance.choice(NAMES)}` is defined in `{self.chance.choice(('a.py', 'pack/b.py'))}`."
            catalogue().call(self.lithos, "lithos_store_entry", {"content": text, "category": "insight"}, AGENT)
        elif action == "note":
            name = self.chance.choice(NAMES)
            given = {"title": f"On {name}", "content": f"`{name}` is defined in `a.py`.", "agent": "ann"}
            catalogue().call(self.lithos, "lithos_write", given, AGENT)
        elif action == "resolve":
            for row in catalogue().call(self.lithos, "lithos_graph_conflicts", {"limit": 1}, OPERATOR)["conflicts"]:
                chosen = {"conflict_id": row["conflict_id"], "resolution": "checked", "winner": row["node_a"]}
                catalogue().call(self.lithos, "lithos_graph_conflict_resolve", chosen, AGENT)
        else:
            self.clock.advance(self.chance.choice((30, 600, 4_000)))
        self.look()
        self.lithos.trust.follow()

    def ask(self, query: str) -> dict[str, Any]:
        return catalogue().call(self.lithos, "lithos_ask", {"query": query}, OPERATOR)

    def rows(self) -> set[tuple[str, int]]:
        """Every (path, line) at which a symbol or a use of one is."""
        sql = (
            "SELECT f.path, n.line FROM nodes n JOIN files f ON f.number = n.file UNION "
            "SELECT f.path, e.line FROM edges e JOIN nodes n ON n.number = e.source JOIN files f ON f.number = n.file"
        )
        rows: list[Row] = self.lithos.code.roots()[0].store.read(lambda tx: tx.all(sql))
        return {(row["path"], row["line"]) for row in rows}

    def dates(self) -> set[str]:
        """The days on which an entry, a note or a commit was written."""
        call = Call("test", operator=True)
        entries = [row["timestamp"] for row in self.lithos.history.recent(call, frozenset(), 500)]
        notes = [row["updated"] for row in catalogue().call(self.lithos, "lithos_list", {}, OPERATOR)["items"]]
        commits = git(self.root, "log", "--format=%cI").split()
        return {each[:10] for each in (*entries, *notes, *commits)}


def content_of(answer: dict[str, Any]) -> tuple[set[str], set[str]]:
    """What an answer says and cites; the order of pieces that match by meaning alone may differ."""
    return {_NUMBER.sub("", line) for line in answer["answer"].splitlines()}, {
        _NUMBER.sub("", line) for line in answer["sources"]
    }


def warned(answer: dict[str, Any]) -> list[str]:
    """The lines of an answer that pass a warning on, without their numbers."""
    lines = (line.partition("] ")[2] for line in answer["answer"].splitlines() if "⚠️" in line)
    return sorted(line for line in lines)


def try_out(folder: Path, seed: int) -> None:
    """Ask, change something, ask again: an answer from the cache says what a fresh one does."""
    trial = Trial(folder, random.Random(seed))
    hits = 0
    try:
        for _ in range(STEPS):
            query = trial.chance.choice(QUESTIONS).format(name=trial.chance.choice(NAMES))
            for _ in range(2):  # so that the second may come from the cache
                given = trial.ask(query)
            trial.change()
            given = trial.ask(query)
            if given["level"] == "cache":
                hits += 1
                trial.lithos.answers.cache.clear()
                compare(query, given, trial.ask(query))
            trace(trial, query, given)
    finally:
        trial.lithos.close()
    assert hits > STEPS // 10


def compare(query: str, given: dict[str, Any], fresh: dict[str, Any]) -> None:
    if given["intent"]["intent"] in EXACT:
        assert content_of(given) == content_of(fresh), query
        assert given.get("conflicts") == fresh.get("conflicts"), query
    assert warned(given) == warned(fresh), query
    said = [line for line in fresh["answer"].splitlines() if query.split()[-1] in line and "moved" in line]
    assert all(line.partition("] ")[2] in given["answer"] for line in said), query


def trace(trial: Trial, query: str, given: dict[str, Any]) -> None:
    """Every line and date of an answer is one of a row."""
    places, dates = trial.rows(), trial.dates()
    for source in given["sources"]:
        found, date = _SOURCE.match(source), _DATE.match(source)
        assert found or date, (query, source)
        assert found is None or (found[2], int(found[3])) in places, (query, source)
        assert date is None or date[1] in dates, (query, source)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.torture)])
def test_a_cached_answer_never_contradicts_a_fresh_one(tmp_path: Path, seed: int) -> None:
    try_out(tmp_path, seed)


def _blind(name: str) -> Callable[[pytest.MonkeyPatch], None]:
    def plant(patch: pytest.MonkeyPatch) -> None:
        if name == "no source is looked at":
            put = AnswerCache.put
            patch.setattr(AnswerCache, "put", lambda self, i, s, answer, *state: put(self, i, s, answer, lambda: 1, 1))
        elif name == "no verdict is looked at":
            patch.setattr(StoredJudge, "state", lambda self, ids: 0)
        else:
            patch.setattr("lithos.graph.answers.code_finder.names_state", lambda *given: 0)
            patch.setattr("lithos.graph.answers.code_finder._versions", lambda *given: 0)

    return plant


@pytest.mark.torture
@pytest.mark.parametrize("bug", ["no source is looked at", "no verdict is looked at", "no file is looked at"])
def test_a_planted_bug_of_the_cache_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bug: str) -> None:
    _blind(bug)(monkeypatch)
    with pytest.raises(AssertionError):
        for seed in range(1, 6):
            try_out(tmp_path / str(seed), seed)
