"""The graph at scale: searches of history and of all domains, edges of a node, whole answers, the rebuild of `.graph/`.

THOUGHTS (100,000), SYMBOLS (50,000) and SOURCES (2,000) make the memory that is asked; words follow Zipf's law, and a
third of the thoughts belong to sessions. Vectors of texts are sums of random directions of their words: the model would
take half an hour for them. Questions pass through the model as well, so that its cost counts. KEEP names a folder where
the memory stays for the next run; PROFILE names one question, whose profile is printed; ANSWERS measures answers alone.
Times are CPU times of the whole process, those of answers wall times too.
"""

from __future__ import annotations

import cProfile
import itertools
import os
import pstats
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import lithos.app
from benchmarks.report import line, percentile
from lithos.app import Lithos, open_lithos
from lithos.core.call import Call
from lithos.graph.answers.pieces import Piece
from lithos.graph.history import HistoryQuestion
from lithos.graph.knowledge import (
    academic_for,
    code_for_academic,
    code_for_history,
    history_for_academic,
    history_for_code,
)
from lithos.ledger import Draft
from lithos.search import HashedEmbedder, open_embedder
from lithos.sessions import NewSession
from lithos.settings import CodeRoot, CodeSettings, LithosConfig, ServerSettings, StorageSettings

THOUGHTS = int(os.environ.get("THOUGHTS", "100000"))
SYMBOLS = int(os.environ.get("SYMBOLS", "50000"))
SOURCES = int(os.environ.get("SOURCES", "2000"))
FILES, COMMITS, SESSIONS, QUESTIONS = 500, 40, 30, 60
TYPES = ("Decision", "Mistake", "ActionTaken", "Insight", "PatternDetected", "TaskComplete", "Summary", "Question")
DIMENSION = 384
_SYLLABLES = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "ar", "en", "is", "on")]


class CheapEmbedder(HashedEmbedder):
    """Random directions of words, each made once; `asking`: the model reads the text as well, for its cost."""

    def __init__(self) -> None:
        super().__init__(DIMENSION, "cheap/1")
        self.asking = False
        self._model = open_embedder("all-MiniLM-L6-v2")
        self._known: dict[str, Any] = {}

    def embed(self, text: str) -> Any:
        if self.asking:
            self._model.embed(text)
        total = np.zeros(DIMENSION, np.float32)
        for word in text.lower().split():
            known = self._known.get(word)
            if known is None:
                known = self._known[word] = super().embed(word)
            total += known
        return total / (np.linalg.norm(total) or 1.0)


class Words:
    """A vocabulary of 20,000 invented words, drawn as often as words of a language are."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        made = ("".join(each) for each in itertools.product(_SYLLABLES, repeat=3))
        every = [*itertools.islice(made, 0, 400_000, 20)]
        random.Random(7).shuffle(every)
        self.all = every
        self._sums = [*itertools.accumulate(1 / (place + 3) for place in range(len(every)))]

    def text(self, least: int, most: int) -> str:
        count = self.chance.randint(least, most)
        return " ".join(self.chance.choices(self.all, cum_weights=self._sums, k=count))

    def question(self) -> str:
        """Words of middling frequency, as people ask with."""
        return f"why did we {' '.join(self.chance.sample(self.all[50:3_000], 3))} the {self.text(1, 2)}"


def main() -> None:
    kept = os.environ.get("KEEP", "")
    base = Path(kept) if kept else Path(tempfile.mkdtemp(prefix="lithos-scale-"))
    base.mkdir(parents=True, exist_ok=True)
    embedder = CheapEmbedder()
    try:
        if not (base / "built").exists():
            build(base, embedder)
        measure(base, embedder)
    finally:
        if not kept:
            shutil.rmtree(base)


def opened(base: Path, embedder: CheapEmbedder) -> Lithos:
    before = lithos.app.open_embedder
    lithos.app.open_embedder = lambda name: embedder  # type: ignore[assignment]
    try:
        return open_lithos(
            LithosConfig(
                storage=StorageSettings(data_dir=base / "data"),
                server=ServerSettings(watch_files=False),
                code=CodeSettings(roots=(CodeRoot(name="repo", path=base / "repo"),)),
            )
        )
    finally:
        lithos.app.open_embedder = before


def build(base: Path, embedder: CheapEmbedder) -> None:
    words = Words(1)
    repository(base / "repo", words)
    memory = opened(base, embedder)
    try:
        memory.embedding.start()
        thoughts(memory, words)
        ingest(memory, base, words)
        (root,) = memory.code.roots()
        root.index.reconcile()
        while memory.code.collection.status().unindexed or memory.graph.catch_up(60):
            time.sleep(0.1)
        settle(memory, words)
    finally:
        memory.close()
    (base / "built").touch()


def settle(memory: Lithos, words: Words) -> None:
    """Until every text is indexed and embedded. Seldom asked: vectors wait while a question runs."""
    call = Call("benchmark", agent="bench")
    while (found := memory.everything.search_all(call, words.question(), (), 5, None))["degraded"]:
        print(f"  {found['degraded_reason'][:100]}", flush=True)
        time.sleep(10)


def thoughts(memory: Lithos, words: Words) -> None:
    chance = words.chance
    call = Call("benchmark", agent="bench")
    made = [memory.sessions.create(call, NewSession(f"session {n}"))["session_id"] for n in range(SESSIONS)]
    for number in range(THOUGHTS):
        file, function = chance.randrange(FILES), chance.randrange(SYMBOLS // FILES)
        said = words.text(12, 60) + (f" see RFC {chance.randrange(SOURCES)}" if number % 4 == 0 else "")
        mark = "modified" if number % 5 == 0 else "code"
        draft = Draft(
            TYPES[number % len(TYPES)],
            said,
            "bench",
            tags=[words.text(1, 1)],
            concepts=[f"{mark}:repo:{path_of(file)}#{name_of(words, file, function)}"],
            session_id=made[number % SESSIONS] if number % 3 == 0 else None,
        )
        memory.ledger.append(call, draft, chain_key="history")


def path_of(file: int) -> str:
    return f"pkg{file % 20}/module{file}.py"


def name_of(words: Words, file: int, function: int) -> str:
    return f"{words.all[(file * 131 + function * 17) % 5_000]}_{words.all[(file + function * 7) % 5_000]}_{function}"


def repository(folder: Path, words: Words) -> None:
    each = SYMBOLS // FILES
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    folder.mkdir(parents=True)
    subprocess.run([*git, "init", "-q"], cwd=folder, check=True)
    for commit in range(COMMITS):
        for file in range(FILES) if commit == 0 else words.chance.sample(range(FILES), 20):
            path = folder / path_of(file)
            path.parent.mkdir(exist_ok=True)
            path.write_text("\n\n".join(function(words, file, number, commit) for number in range(each)) + "\n")
        subprocess.run([*git, "add", "-A"], cwd=folder, check=True)
        subprocess.run([*git, "commit", "-qm", f"Fix {words.text(4, 9)}, closes #{commit}"], cwd=folder, check=True)


def function(words: Words, file: int, number: int, commit: int) -> str:
    name = name_of(words, file, number)
    said = words.all[(number * 31 + file) % 3_000]
    rfc = f" See RFC {(file * 100 + number) % SOURCES}." if number % 25 == 0 else ""
    added = commit if number % 10 == 0 else 0
    return f'def {name}(x):\n    """The {said} of {words.all[number]}.{rfc}"""\n    return x + {added}'


def ingest(memory: Lithos, base: Path, words: Words) -> None:
    """Sources as files that the vault finds by itself: two thousand writes would measure the vault."""
    folder = base / "data" / "knowledge" / "academic"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(SOURCES):
        head = f"---\nid: {number:08d}-0000-4000-8000-000000000000\ntitle: RFC {number}\nkind: rfc\n---\n"
        body = "\n\n".join(f"## Section {n}\n\n{words.text(80, 160)}." for n in range(6))
        cites = f"\n\nReferences: RFC {words.chance.randrange(SOURCES)}, RFC {words.chance.randrange(SOURCES)}.\n"
        (folder / f"rfc{number}.md").write_text(f"{head}# RFC {number}\n\n{body}{cites}")
    memory.notes.ensure_scanned()


def measure(base: Path, embedder: CheapEmbedder) -> None:
    if "PROFILE" not in os.environ and "ANSWERS" not in os.environ:
        rebuild(base, embedder)
    memory = opened(base, embedder)
    call, words = Call("benchmark", agent="bench"), Words(2)
    try:
        memory.embedding.start()
        for root in memory.code.roots():
            root.index.reconcile()
        memory.notes.ensure_scanned()
        settle(memory, words)
        embedder.asking = True
        rows = [row["id"] for row in memory.history.recent(call, frozenset(), 50)]
        sources = [f"{number:08d}-0000-4000-8000-000000000000" for number in range(SOURCES)]
        symbols = [f"repo:{path_of(n)}#{name_of(words, n, n % 90)}" for n in range(QUESTIONS + 1)]
        graph = memory.graph
        ask = {
            "search_history": (10, lambda n: memory.history.search(call, HistoryQuestion(words.question()))),
            "search_all": (25, lambda n: memory.everything.search_all(call, words.question(), (), 5, None)),
            "get_history_for_code": (5, lambda n: history_for_code(graph, call, symbols[n], 10)),
            "get_code_for_history": (5, lambda n: code_for_history(graph, call, rows[n % len(rows)])),
            "get_academic_for, code": (5, lambda n: academic_for(graph, call, symbols[n], 5)),
            "get_academic_for, history": (5, lambda n: academic_for(graph, call, rows[n % len(rows)], 5)),
            "get_code_for_academic": (5, lambda n: code_for_academic(graph, call, sources[n], 5)),
            "get_history_for_academic": (5, lambda n: history_for_academic(graph, call, sources[n])),
        }
        model = percentile([*spent(lambda n: embedder._model.embed(words.question()))], 0.5)
        print(f"  the bare model takes {model:.2f} ms CPU for a question")
        for name, (limit, work) in ask.items():
            if os.environ.get("PROFILE", name) == name and "ANSWERS" not in os.environ:
                p50(name, limit, work)
        if os.environ.get("PROFILE", "answers") == "answers":
            answers(memory, call, words, model)
    finally:
        memory.close()


def asked(words: Words) -> dict[str, list[str]]:
    """Questions of every intent, each about something else."""
    names = [name_of(words, n * 7 % FILES, n % 90) for n in range(3, 3 + QUESTIONS)]
    topics = [" ".join(words.chance.sample(words.all[50:3_000], 2)) for _ in range(QUESTIONS)]
    return {
        "LOCATE": [f"where is {name}" for name in names[0::4]],
        "callers": [f"what calls {name}" for name in names[1::4]],
        "EXPLAIN": [f"explain {name}" for name in names[2::4]],
        "ACTIVITY": [f"what changed in {name}" for name in names[3::4]],
        "PATTERN": [f"how do we handle {topic}" for topic in topics[0::4]],
        "HISTORICAL": [f"how did we handle {topic}" for topic in topics[1::4]],
        "SIMILAR": [f"have we seen problems like {topic}" for topic in topics[2::4]],
        "RESEARCH": [f"best practices for {topic}" for topic in topics[3::4]],
    }


def answers(memory: Lithos, call: Call, words: Words, model: float) -> None:
    """Whole answers, cold and from the cache, and conflicts among fifty nodes."""

    def ask(query: str) -> dict[str, Any]:
        return memory.answers.ask(call, query, 1_500, None, allow_llm=False, explain=False)

    for queries in asked(words).values():  # what a first question loads is no part of an answer
        ask(queries.pop())
    profile = cProfile.Profile(time.perf_counter) if "PROFILE" in os.environ else None
    cold: list[float] = []
    spent_cpu: list[float] = []
    for intent, queries in asked(words).items():
        walls = []
        for query in queries:
            before, started = time.process_time(), time.perf_counter()
            if profile:
                profile.enable()
            ask(query)
            if profile:
                profile.disable()
            walls.append((time.perf_counter() - started) * 1000)
            spent_cpu.append((time.process_time() - before) * 1000)
        cold += walls
        print(f"  {intent}: {len(walls)} answers, wall p50 {percentile(walls, 0.5):.1f} ms, most {max(walls):.1f} ms")
    if profile:
        pstats.Stats(profile).sort_stats(os.environ.get("SORT", "cumulative")).print_stats(70)
    line("whole answer, wall p50", percentile(cold, 0.5), 25, "ms")
    line("whole answer, wall p95", percentile(cold, 0.95), 60, "ms")
    print(f"  CPU p50 {percentile(spent_cpu, 0.5):.1f} ms, p95 {percentile(spent_cpu, 0.95):.1f} ms")
    line("whole answer, p50 as a multiple of the bare model", percentile(cold, 0.5) / model, 80, "x")
    warm = cached(ask, [query for queries in asked(words).values() for query in queries])
    line("answer from the cache, wall p50", percentile(warm, 0.5), 1, "ms")
    print(f"  p95 {percentile(warm, 0.95):.2f} ms, of {len(warm)} answers")
    conflicts(memory, call)


def cached(ask: Callable[[str], dict[str, Any]], queries: list[str]) -> list[float]:
    found = []
    for query in queries:
        ask(query)
        started = time.perf_counter()
        level = ask(query)["level"]
        took = (time.perf_counter() - started) * 1000
        found += [took] if level == "cache" else []
    return found


def conflicts(memory: Lithos, call: Call) -> None:
    tools = ("Redis", "Memcached", "Valkey", "DynamoDB", "etcd")
    times = [f"We use {tools[n % 5]} for job{n % 10}. It went well in week {n}." for n in range(50)]
    now = memory.storage.clock.now()
    pieces = [Piece(f"t{n}", "history", "entry", text, text, 1.0, time=now) for n, text in enumerate(times)]
    judge = memory.answers.judge
    judge.judged(call, pieces)
    took = []
    for _ in range(20):
        started = time.perf_counter()
        found = judge.conflicts(call, pieces)
        took.append((time.perf_counter() - started) * 1000)
    print(f"  {len(found)} conflicts shown")
    line("conflicts among 50 nodes with stored verdicts, wall p50", percentile(took, 0.5), 5, "ms")


def rebuild(base: Path, embedder: CheapEmbedder) -> None:
    """Without `knowledge.db`; the index of code beside it is another benchmark's."""
    for path in (base / "data" / ".graph").glob("knowledge.db*"):
        path.unlink()
    memory = opened(base, embedder)
    try:
        for root in memory.code.roots():
            root.index.reconcile()
        memory.notes.ensure_scanned()
        before, started = time.process_time(), time.perf_counter()
        while memory.graph.catch_up():
            pass
        took, wall = time.process_time() - before, time.perf_counter() - started
    finally:
        memory.close()
    nodes = THOUGHTS + SOURCES + SYMBOLS
    print(f"  rebuild: {took:.1f} s CPU, {wall:.1f} s wall")
    line("rebuild of the graph, nodes per CPU second", nodes / took, 5_000, "  ", more_is_better=True)


def spent(work: Callable[[int], object]) -> Iterator[float]:
    work(0)
    for number in range(1, QUESTIONS + 1):
        before = time.process_time()
        work(number)
        yield (time.process_time() - before) * 1000


def p50(name: str, limit: float, work: Callable[[int], object]) -> None:
    """CPU milliseconds of this process: wall time on a shared machine says little."""
    profile = cProfile.Profile(time.thread_time) if "PROFILE" in os.environ else None
    if profile:
        work(0)
        profile.enable()
    times = [*spent(work)]
    if profile:
        profile.disable()
        pstats.Stats(profile).sort_stats(os.environ.get("SORT", "cumulative")).print_stats(60)
    line(f"{name}, CPU p50", percentile(times, 0.5), limit, "ms")
    print(f"  p95 {percentile(times, 0.95):.1f} ms")


if __name__ == "__main__":
    main()
