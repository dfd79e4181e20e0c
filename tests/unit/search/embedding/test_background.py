"""Embedding gives way to whoever writes, and is never kept from its work for good."""

from __future__ import annotations

import threading

from lithos.search import Embedding, HashedEmbedder
from lithos.search.embedding.background import Job

DEADLINE = 60.0


def test_texts_are_embedded_though_writes_never_end() -> None:
    embedding = Embedding(HashedEmbedder(), threads=1)
    done = threading.Semaphore(0)
    jobs = [Job("text", lambda vector: done.release(), lambda: None) for _ in range(3)]
    embedding.add_source(lambda: jobs.pop() if jobs else None)
    try:
        with embedding.writes:
            embedding.start()
            embedding.wake()
            assert all(done.acquire(timeout=DEADLINE) for _ in range(3))
    finally:
        embedding.close()


def test_a_question_that_waits_for_vectors_ends_the_rest() -> None:
    embedding = Embedding(HashedEmbedder(), threads=1)
    latest = float("inf")  # of a rest that would never end by itself
    with embedding.writes:
        assert embedding._pause(latest)
        with embedding.awaited():
            assert embedding._pause(latest) == 0
    embedding.close()
