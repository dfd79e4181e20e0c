"""The workshop over real HTTP: rights of tokens, a caller that goes away, answers that come later."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import httpx
import pytest

from lithos.core.call import Call
from lithos.errors import HostRestarted, NotFound
from lithos.tools.caller import Caller
from lithos.workshop.sandbox.bubblewrap import bubblewrap_works
from tests.support.served import lithos, served
from tests.support.waiting import until
from tests.support.workbench import Workbench, is_running, make_project

pytestmark = pytest.mark.skipif(not bubblewrap_works(), reason="no user namespaces")


def test_over_http_commands_need_a_token_of_the_scope_and_die_with_their_caller(tmp_path: Path) -> None:
    project, data = make_project(tmp_path / "project"), tmp_path / "data"
    data.mkdir()
    settings = {"projects": {"project": str(project)}, "enabled": True}
    (data / "config.yaml").write_text(json.dumps({"workshop": settings}))
    with served(data) as host:
        tokens = {}
        for scope in ("full", "workshop"):
            made = lithos(data, "token", "new", "--name", scope, "--scope", scope, "--agent", "ann", "--json")
            tokens[scope] = {"authorization": f"Bearer {json.loads(made.stdout)['token']}"}

        def call(tool: str, scope: str, **arguments: object) -> dict[str, object]:
            answer = host.request(tool, dict(arguments), headers=tokens[scope])
            found: dict[str, object] = answer.json()["result"]["structuredContent"]
            return found

        session = call("lithos_session_create", "full", name="work")["session_id"]
        call("lithos_session_activate", "full", session_id=session)
        call("lithos_worktree_open", "full")
        assert call("lithos_work_write", "full", path="new.py", content="x\n")["created"] is True
        refused = call("lithos_work_run", "full", argv=["true"])
        assert refused["error"]["code"] == "forbidden"  # type: ignore[index]
        assert call("lithos_work_merge", "full")["error"]["code"] == "forbidden"  # type: ignore[index]
        assert call("lithos_work_run", "workshop", argv=["cat", "new.py"])["stdout"] == "x\n"
        mark = "lithos-gone-caller"
        argv = ["sh", "-c", "sleep 600; true", mark]
        with pytest.raises(httpx.ReadTimeout):
            # Its own limit must not be what ends it.
            host.request("lithos_work_run", {"argv": argv, "timeout": 600}, headers=tokens["workshop"], timeout=3.0)
        until(lambda: not is_running(mark))


def test_a_run_that_takes_longer_is_answered_later(tmp_path: Path) -> None:
    with Workbench(tmp_path) as bench:
        bench.open()
        jobs, go = bench.lithos.workshop.jobs, threading.Event()

        def work() -> dict[str, object]:
            assert go.wait(60)
            return {"exit_code": 0, "stdout": "x" * 100_000}

        job = jobs.start(Call("lithos_work_run", agent="ann"), bench.worktree(), "run", ["slow"], work)
        assert asyncio.run(jobs.answer(job, 0.01)) == {"run_id": job.run_id, "pending": True}
        assert bench.call("lithos_work_result", run_id=job.run_id, wait=0)["pending"] is True
        go.set()
        done = bench.call("lithos_work_result", run_id=job.run_id)
        assert done["exit_code"] == 0 and len(done["stdout"]) == 100_000
        with pytest.raises(NotFound):
            bench.call("lithos_work_result", run_id="01a1eafb-79a1-718c-aae5-f1c9d2cf26e5")
    with Workbench(tmp_path) as bench:  # the row outlives the host, without the long output
        operator = Caller(agent="ann", operator=True)
        kept = bench.call("lithos_work_result", run_id=job.run_id, caller=operator)
        assert kept["exit_code"] == 0 and kept["truncated"] is True
        with pytest.raises(HostRestarted):
            bench.lithos.storage.database.write(lambda tx: tx.put("UPDATE work_runs SET answer = NULL, state = 'lost'"))
            bench.call("lithos_work_result", run_id=job.run_id, caller=operator)
