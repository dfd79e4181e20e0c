"""Messages in process, beside one durable row in the same run: 64 callers, a message's whole way, growth."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.report import line
from lithos.app import Lithos, open_lithos
from lithos.core.call import Call
from lithos.messages import MessageDraft, TakeRequest
from lithos.settings import LithosConfig, MessageSettings, StorageSettings

CALLERS, EACH = 64, 30
WAYS = 500
FEW, MANY = 10, 20_000
LIMITS = MessageSettings(per_minute=10**9, per_target=10**6, per_session=10**6)


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="lithos-bench-"))
    lithos = open_lithos(LithosConfig(storage=StorageSettings(data_dir=folder), messages=LIMITS))
    try:
        for name in ("ann", "bob", "cat"):
            lithos.agents.seen(name)
        _sending(lithos)
        _whole_way(lithos)
        _growth(lithos)
    finally:
        lithos.close()
        shutil.rmtree(folder, ignore_errors=True)


def _as(agent: str) -> Call:
    return Call("benchmark", agent=agent, connection=agent)


def _send(lithos: Lithos, number: int = 0, target: str = "bob") -> None:
    lithos.messages.send(_as(f"ann{number}"), MessageDraft("text", {"body": "please look"}, (target,)))


def _row(lithos: Lithos, number: int) -> None:
    sql = "INSERT INTO message_pipelines (id, closed_at) VALUES (?, 0) ON CONFLICT (id) DO NOTHING"
    lithos.storage.database.write(lambda tx: tx.run(sql, f"row {number} {time.perf_counter_ns()}"))


def _rate(work: Callable[[int], None]) -> float:
    threads = [threading.Thread(target=lambda n=n: [work(n) for _ in range(EACH)]) for n in range(CALLERS)]
    began = time.perf_counter()
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return CALLERS * EACH / (time.perf_counter() - began)


def _sending(lithos: Lithos) -> None:
    """Interleaved, so that a busy machine slows both."""
    rows, sends = [], []
    for _ in range(3):
        rows.append(_rate(lambda number: _row(lithos, number)))
        sends.append(_rate(lambda number: _send(lithos, number, "cat")))
    line("send with 64 callers, share of the rate of one row", max(sends) / max(rows), 0.4, "", more_is_better=True)


def _cpu(work: Callable[[], None], times: int) -> float:
    """Milliseconds of CPU for one."""
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) * 1000 / times


def _whole_way(lithos: Lithos) -> None:
    def way() -> None:
        _send(lithos)
        [taken] = lithos.messages.take_now(_as("bob"), TakeRequest("bob"))["messages"]
        lithos.messages.ack(_as("bob"), taken["message"]["id"], taken["token"])

    row = _cpu(lambda: _row(lithos, 0), WAYS)
    line("send + take + ack, multiple of one row's CPU", _cpu(way, WAYS) / row, 8, "x")


def _growth(lithos: Lithos) -> None:
    def take_and_give_back() -> None:
        [taken] = lithos.messages.take_now(_as("bob"), TakeRequest("bob"))["messages"]
        lithos.messages.ack(_as("bob"), taken["message"]["id"], taken["token"])
        _send(lithos)

    for _ in range(FEW):
        _send(lithos)
    few = _cpu(take_and_give_back, 200)
    _rate(lambda number: [_send(lithos, number) for _ in range(MANY // (CALLERS * EACH))] and None)
    line(f"take with {MANY:,} waiting beside {FEW}", _cpu(take_and_give_back, 200) / few, 1.2, "x")


if __name__ == "__main__":
    main()
