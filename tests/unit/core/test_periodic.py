"""Periodic jobs: one thread, a failure of one job is its own."""

from __future__ import annotations

import threading

from lithos.core.periodic import Job, PeriodicJobs, RunningWrites

SOON = 60.0


def test_a_job_that_fails_is_named_until_it_succeeds_and_the_others_go_on() -> None:
    runs: list[str] = []
    failed, healed, let_go = threading.Event(), threading.Event(), threading.Event()

    def flaky() -> None:
        runs.append("flaky")
        if not let_go.is_set():
            raise OSError("no space")

    def steady() -> None:
        if "flaky" in runs:
            failed.set()
        if let_go.is_set() and runs.count("flaky") > 1 and jobs.problem() is None:
            healed.set()

    jobs = PeriodicJobs([Job("flaky", 0.001, flaky), Job("steady", 0.001, steady)])
    assert jobs.problem() is None
    jobs.start()
    try:
        assert failed.wait(SOON)
        assert "flaky" in (jobs.problem() or "") and "steady" not in (jobs.problem() or "")
        let_go.set()
        assert healed.wait(SOON)
    finally:
        jobs.close()


def test_closing_waits_for_the_running_job_and_not_for_one_that_is_due_later() -> None:
    started, ended = threading.Event(), []

    def slow() -> None:
        started.set()
        threading.Event().wait(0.05)
        ended.append("slow")

    jobs = PeriodicJobs([Job("slow", 0.001, slow), Job("tomorrow", 86_400, lambda: ended.append("tomorrow"))])
    jobs.start()
    assert started.wait(SOON)
    jobs.close()
    assert ended and "tomorrow" not in ended
    jobs.close()


def test_a_job_runs_as_often_as_it_says() -> None:
    counts = {"often": 0, "seldom": 0}
    enough = threading.Event()

    def often() -> None:
        counts["often"] += 1
        if counts["often"] == 20:
            enough.set()

    def seldom() -> None:
        counts["seldom"] += 1

    jobs = PeriodicJobs([Job("often", 0.001, often), Job("seldom", 3600, seldom)])
    jobs.start()
    assert enough.wait(SOON)
    jobs.close()
    assert counts["seldom"] == 0


def test_a_patient_job_gives_way_to_writes_and_runs_behind_them() -> None:
    writes, runs = RunningWrites(), list[str]()
    passed, done = threading.Event(), threading.Event()

    def steady() -> None:
        runs.append("steady")
        if runs.count("steady") == 20:
            passed.set()

    def patient() -> None:
        runs.append("patient")
        done.set()

    jobs = PeriodicJobs([Job("steady", 0.001, steady), Job("patient", 0.001, patient, patience=3600)], writes)
    with writes:
        jobs.start()
        assert passed.wait(SOON) and "patient" not in runs
    assert done.wait(SOON)
    jobs.close()


def test_a_patient_job_runs_though_writes_never_end() -> None:
    writes, done = RunningWrites(), threading.Semaphore(0)
    jobs = PeriodicJobs([Job("patient", 0.001, lambda: done.release(), patience=0.01)], writes)
    with writes:
        jobs.start()
        assert all(done.acquire(timeout=SOON) for _ in range(3))
    jobs.close()
