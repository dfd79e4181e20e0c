"""Any sequence of edits, moves, checkouts and kills ends in the graph of a fresh build."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lithos.graph.code import OpenRoot, index
from tests.support.code_repos import code_graph, graph

NAMES = ("a", "b", "pkg/__init__", "pkg/c", "pkg/d")
BODIES = (
    "",
    "def f():\n    return g()\n\ndef g():\n    pass\n",
    "from pkg.c import *\n\n\ndef f():\n    K().m()\n",
    "from b import K\n\n\nclass L(K):\n    def m(self):\n        super().m()\n        self.n()\n",
    "class K:\n    def m(self):\n        pass\n\n    def n(self):\n        return K()\n",
    "import pkg.c\nfrom pkg import d\n\nx = pkg.c.K()\nx.n().m()\nd.only()\n",
    "def only():\n    pass\n\n\ndef user(z):\n    z.only()\n    z.m()\n",
    "from .c import K as Q\n\n\ndef make() -> Q:\n    return Q()\n\n\nmake().m()\n",
    "def broken(:\n  class\n",
)
EDIT = st.tuples(st.just("edit"), st.sampled_from(NAMES), st.sampled_from(range(len(BODIES))))
MOVE = st.tuples(st.just("move"), st.sampled_from(NAMES), st.sampled_from(NAMES))
DELETE = st.tuples(st.just("delete"), st.sampled_from(NAMES), st.just(0))
CHECKOUT = st.tuples(st.just("checkout"), st.sampled_from(NAMES), st.integers(0, 5))
LOOK = st.tuples(st.sampled_from(["look", "scan", "kill"]), st.just(""), st.just(0))
STEPS = st.lists(st.one_of(EDIT, MOVE, DELETE, CHECKOUT, LOOK), min_size=3, max_size=14)


class _Killed(Exception):
    pass


def change(folder: Path, step: tuple[str, str, object]) -> set[str]:
    """Do one step; the paths that a watcher would hint at."""
    kind, name, value = step
    path = folder / f"{name}.py"
    if kind == "edit":
        assert isinstance(value, int)
        path.parent.mkdir(exist_ok=True)
        path.write_text(BODIES[value])
    elif kind == "move" and path.exists():
        target = folder / f"{value}.py"
        target.parent.mkdir(exist_ok=True)
        path.replace(target)
        return {f"{name}.py", f"{value}.py"}
    elif kind == "delete":
        path.unlink(missing_ok=True)
    elif kind == "checkout":  # every file at once
        assert isinstance(value, int)
        for number, each in enumerate(NAMES):
            (folder / f"{each}.py").parent.mkdir(exist_ok=True)
            (folder / f"{each}.py").write_text(BODIES[(number + value) % len(BODIES)])
        return {f"{each}.py" for each in NAMES}
    return {f"{name}.py"}


def killed_update(root: OpenRoot) -> None:
    """Take in all changes, and die before their edges are resolved."""
    real_apply, real_resolve = root.store.apply, root.store.resolve_stale

    def apply(changed: object, gone: object, *, resolve: bool) -> None:
        real_apply(changed, gone, resolve=False)  # type: ignore[arg-type]
        raise _Killed

    root.store.apply = apply  # type: ignore[method-assign]
    try:
        root.index.reconcile()
    except _Killed:
        pass
    finally:
        root.store.apply, root.store.resolve_stale = real_apply, real_resolve  # type: ignore[method-assign]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS, at_once=st.sampled_from([1, 2, index.AT_ONCE]))
def test_every_history_ends_in_the_graph_of_a_fresh_build(steps: list[tuple[str, str, object]], at_once: int) -> None:
    """Few files at once: changes go the way of large ones, and a first one the way of a first build."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "AT_ONCE", at_once)
        patch.setattr(index, "RESOLVED_AT_ONCE", at_once)
        _history(steps)


def _history(steps: list[tuple[str, str, object]]) -> None:
    base = Path(tempfile.mkdtemp())
    folder = base / "r"
    folder.mkdir()
    try:
        with code_graph(base / "data", ("r", folder)) as code:
            root = code.roots()[0]
            hints: set[str] = set()
            for step in steps:
                if step[0] == "look":
                    root.index.follow(sorted(hints))
                    hints = set()
                elif step[0] == "scan":
                    root.index.reconcile()
                elif step[0] == "kill":
                    killed_update(root)
                else:
                    hints |= change(folder, step)
            root.index.reconcile()
            if ("kill", "", 0) in steps:
                code.projector.resume()  # as the next start does
            grown = graph(root)
            searched = code.collection.known()
        with code_graph(base / "fresh", ("r", folder)) as code:
            assert graph(code.roots()[0]) == grown
            assert searched == code.collection.known()
    finally:
        shutil.rmtree(base)
