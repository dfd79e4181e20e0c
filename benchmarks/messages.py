"""Messages beside one durable row in the same run: 64 callers, a message's whole way, growth, waiting takers, a flood.

In process on SQLite, then on PostgreSQL. Over MCP in memory (protocol and all, without a network), over HTTP, and over
stdio with the host in another process. Works are measured by turns and the smallest CPU of each counts, so that a
busy machine disturbs little.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from benchmarks.report import line, percentile
from lithos.app import Lithos, open_lithos
from lithos.core.call import Call
from lithos.messages import MessageDraft, TakeRequest
from lithos.sessions import NewSession
from lithos.settings import LithosConfig, MessageSettings, StorageSettings

CALLERS, EACH = 64, 30
ROUNDS, TIMES = 20, 10
FEW, MANY = 10, 20_000
WAITERS, SESSIONS = 1_000, 50
FLOOD = 900  # messages that wait; at 1,000 every sender is refused
LIMITS = MessageSettings(per_minute=10**9, per_target=10**6, per_session=10**6)
Work = Callable[[], object]


def main() -> None:
    with _opened(None) as lithos:
        _sending(lithos)
        _whole_way(lithos)
        _growth(lithos)
        _flood(lithos)
    with _opened(None) as lithos:
        _flood_by_the_clock(lithos)
    with _opened(None) as lithos:
        asyncio.run(_over_mcp(lithos))
        _over_http(lithos)
    _over_stdio()
    with _opened(None) as alone, _opened(None) as lithos:
        _waiters(alone, lithos)
    _on_postgres()


def _on_postgres() -> None:
    from tests.support.postgres_server import make_server, remove

    server = make_server()
    try:
        print("on PostgreSQL:")
        with _opened(server.url) as lithos:
            _sending(lithos)
            _whole_way(lithos)
            asyncio.run(_over_mcp(lithos))
            _over_http(lithos)
    finally:
        remove(server)


@contextmanager
def _opened(url: str | None) -> Iterator[Lithos]:
    folder = Path(tempfile.mkdtemp(prefix="lithos-bench-"))
    storage = StorageSettings(data_dir=folder, database_url=SecretStr(url) if url else None)
    lithos = open_lithos(LithosConfig(storage=storage, messages=LIMITS))
    try:
        for name in ("ann", "bob", "cat"):
            lithos.agents.seen(name)
        yield lithos
    finally:
        lithos.close()
        shutil.rmtree(folder, ignore_errors=True)


def _as(agent: str) -> Call:
    return Call("benchmark", agent=agent, connection=agent)


def _send(lithos: Lithos, number: int = 0, target: str = "bob", session: str | None = None) -> None:
    draft = MessageDraft("text", {"body": "please look"}, (target,), session_id=session)
    lithos.messages.send(_as(f"ann{number}"), draft)


def _row(lithos: Lithos, number: int = 0) -> None:
    sql = "INSERT INTO message_pipelines (id, closed_at) VALUES (?, 0) ON CONFLICT (id) DO NOTHING"
    lithos.storage.database.write(lambda tx: tx.run(sql, f"row {number} {time.perf_counter_ns()}"))


def _take_and_ack(lithos: Lithos) -> None:
    [taken] = lithos.messages.take_now(_as("bob"), TakeRequest("bob"))["messages"]
    lithos.messages.ack(_as("bob"), taken["message"]["id"], taken["token"])


def _way(lithos: Lithos) -> None:
    _send(lithos)
    _take_and_ack(lithos)


def _rate(work: Callable[[int], None]) -> float:
    threads = [threading.Thread(target=lambda n=n: [work(n) for _ in range(EACH)]) for n in range(CALLERS)]
    began = time.perf_counter()
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return CALLERS * EACH / (time.perf_counter() - began)


def _sending(lithos: Lithos) -> None:
    rows, sends = [], []
    for _ in range(5):
        rows.append(_rate(lambda number: _row(lithos, number)))
        sends.append(_rate(lambda number: _send(lithos, number, "cat")))
    line("send with 64 callers, share of the rate of one row", max(sends) / max(rows), 0.4, "", more_is_better=True)


def _cpu(work: Work, times: int = TIMES) -> float:
    """Milliseconds of CPU for one."""
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) * 1000 / times


def _by_turns(*works: Work) -> list[float]:
    rounds = [[_cpu(work) for work in works] for _ in range(ROUNDS)]
    return [min(times) for times in zip(*rounds, strict=True)]


def _whole_way(lithos: Lithos) -> None:
    row, way = _by_turns(lambda: _row(lithos), lambda: _way(lithos))
    line("send + take + ack, multiple of one row's CPU", way / row, 8, "x")


def _growth(lithos: Lithos) -> None:
    for _ in range(FEW):
        _send(lithos)
    [few] = _by_turns(lambda: _way(lithos))
    _rate(lambda number: [_send(lithos, number) for _ in range(MANY // (CALLERS * EACH))] and None)
    [many] = _by_turns(lambda: _way(lithos))
    line(f"take with {MANY:,} waiting beside {FEW}", many / few, 1.2, "x")


def _flood(lithos: Lithos) -> None:
    """Takes until a session's message is handed out, while another has ever more waiting; it is one take when alone."""
    lithos.agents.seen("dan")
    flood, other = (_session(lithos, name) for name in ("ann0", "ann1"))
    waits: list[float] = []
    for _ in range(200):
        for _ in range(3):
            _send(lithos, 0, "dan", flood)
        _send(lithos, 1, "dan", other)
        takes, got = 0, None
        while got != other:
            [taken] = lithos.messages.take_now(_as("dan"), TakeRequest("dan"))["messages"]
            takes, got = takes + 1, taken["message"]["session_id"]
        waits.append(takes)
    line("p95 wait beside a flood of another session, in takes", percentile(waits, 0.95), 2, "")


def _flood_by_the_clock(lithos: Lithos) -> None:
    """From a send to its acknowledgement, by one worker: alone, and beside 900 that another session keeps waiting."""
    lithos.agents.seen("dan")
    flood, other = (_session(lithos, name) for name in ("ann0", "ann1"))
    settled, stopped, ahead = threading.Semaphore(0), threading.Event(), threading.Semaphore(FLOOD)

    def work() -> None:
        while not stopped.is_set():
            for taken in lithos.messages.take_now(_as("dan"), TakeRequest("dan"))["messages"]:
                lithos.messages.ack(_as("dan"), taken["message"]["id"], taken["token"])
                (settled if taken["message"]["session_id"] == other else ahead).release()

    def fill() -> None:
        while not stopped.is_set():
            if ahead.acquire(timeout=0.1):
                _send(lithos, 0, "dan", flood)

    threads = [threading.Thread(target=work), threading.Thread(target=fill)]
    threads[0].start()
    alone = _waits(lithos, other, settled)
    threads[1].start()
    while lithos.messages.counts()["waiting"] < FLOOD * 0.9:
        time.sleep(0.1)
    beside = _waits(lithos, other, settled)
    stopped.set()
    for each in threads:
        each.join()
    line("p95 wait beside a flood of another session, by the clock", beside / alone, 2, "x")


def _waits(lithos: Lithos, session: str, settled: threading.Semaphore) -> float:
    waits = []
    for _ in range(300):
        began = time.perf_counter()
        _send(lithos, 1, "dan", session)
        settled.acquire()
        waits.append(time.perf_counter() - began)
    return percentile(waits, 0.95)


def _session(lithos: Lithos, owner: str) -> str:
    session: str = lithos.sessions.create(_as(owner), NewSession(f"of {owner}"))["session_id"]
    lithos.sessions.activate(_as(owner), session)
    return session


async def _over_mcp(lithos: Lithos) -> None:
    """Server and client in one process: the client's share is the same for each call."""
    import mcp

    from lithos.serving import build_server
    from lithos.tools.caller import Caller

    async with mcp.Client(build_server(lithos, default=Caller(("all",), agent="bob"))) as client:

        async def call(tool: str, **arguments: Any) -> dict[str, Any]:
            found: dict[str, Any] | None = (await client.call_tool(tool, arguments)).structured_content
            assert found is not None and found.get("success", True), found
            return found

        task = (await call("lithos_task_create", title="t"))["task_id"]
        numbers = iter(range(10**6))

        async def claim() -> None:
            await call("lithos_task_claim", task_id=task, aspect=f"a{next(numbers)}", agent="bob")

        async def way() -> None:
            await call("lithos_message_send", target="bob", body="please look")
            [taken] = (await call("lithos_inbox_take"))["messages"]
            await call("lithos_inbox_ack", message_id=taken["message"]["id"], token=taken["token"])

        best: dict[str, float] = {}
        for _ in range(ROUNDS):
            for name, work in (("claim", claim), ("way", way)):
                best[name] = min(best.get(name, 1e9), await _cpu_async(work))
        line("send + take + ack over MCP (3 calls), multiple of a claim", best["way"] / best["claim"], 3, "x")


def _over_http(lithos: Lithos) -> None:
    """Server and client in one process."""
    from tests.support.wire import Raw, serving

    with (
        serving(lithos) as (url, _),
        Raw(url, "auto", path="/mcp?toolsets=all", headers={"x-lithos-agent": "bob"}) as raw,
    ):
        _clients("over HTTP", lambda tool, **more: raw.call(tool, **more)["structuredContent"], time.process_time, 10)


def _over_stdio() -> None:
    """A guest process; the CPU of the host's process counts."""
    import psutil
    from tests.support.guests import household

    folder = Path(tempfile.mkdtemp(prefix="lithos-bench-"))
    try:
        with household(folder / "data") as home:
            guest = home.guest("--toolsets", "all", "--agent", "bob")
            guest.initialize()
            host = psutil.Process(home.host_pid())
            _clients("over stdio", guest.call, lambda: sum(host.cpu_times()[:2]), 50)  # counted in steps of 10 ms
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _clients(where: str, call: Callable[..., Any], cpu: Callable[[], float], times: int) -> None:
    task = call("lithos_task_create", title=where, agent="bob")["task_id"]
    numbers = iter(range(10**6))

    def claim() -> None:
        call("lithos_task_claim", task_id=task, aspect=f"a{next(numbers)}", agent="bob")

    def way() -> None:
        call("lithos_message_send", target="bob", body="please look")
        [taken] = call("lithos_inbox_take")["messages"]
        call("lithos_inbox_ack", message_id=taken["message"]["id"], token=taken["token"])

    call("lithos_inbox_take")
    best: dict[str, float] = {}
    for _ in range(5):
        for name, work in (("claim", claim), ("way", way)):
            began = cpu()
            for _ in range(times):
                work()
            best[name] = min(best.get(name, 1e9), cpu() - began)
    line(f"send + take + ack {where} (3 calls), multiple of a claim", best["way"] / best["claim"], 3, "x")


async def _cpu_async(work: Callable[[], Awaitable[None]]) -> float:
    began = time.process_time()
    for _ in range(TIMES):
        await work()
    return (time.process_time() - began) * 1000 / TIMES


def _waiters(quiet: Lithos, lithos: Lithos) -> None:
    """A message's way beside takers that wait for other inboxes, and sessions in which something waits.

    By turns with a store where nothing waits. Its sender has a session too: a message in a session asks two questions
    more than one in none.
    """
    _session(quiet, "ann0")
    for number in range(SESSIONS):
        _send(lithos, number, "cat", _session(lithos, f"ann{number}"))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def wait_all() -> None:
        takes = (
            lithos.messages.take(_as(f"taker {number}"), TakeRequest(f"taker {number}"), 300)
            for number in range(WAITERS)
        )
        await asyncio.gather(*takes)

    waiting = asyncio.run_coroutine_threadsafe(wait_all(), loop)
    while len(lithos.messages.followers) < WAITERS:
        time.sleep(0.1)
    alone, beside = _by_turns(lambda: _way(quiet), lambda: _way(lithos))
    waiting.cancel()
    while len(lithos.messages.followers):
        time.sleep(0.1)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    line(f"a message beside {WAITERS:,} waiting takers, {SESSIONS} sessions", beside / alone, 1.2, "x")


if __name__ == "__main__":
    main()
