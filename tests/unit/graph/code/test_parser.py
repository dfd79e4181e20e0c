"""The parsing child: what it does when a grammar crashes, hangs or the child cannot start."""

from __future__ import annotations

import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from lithos.errors import Unavailable
from lithos.graph.code.parser import Parser, Source

BROKEN = textwrap.dedent(
    """
    import os, time
    from lithos.graph.code import child
    real = child._answer
    def answer(frame):
        if b"CRASH" in frame:
            os.kill(os.getpid(), 11)
        while b"SPIN" in frame:
            pass
        if b"SLOW" in frame:
            end = time.process_time() + 2.5
            while time.process_time() < end:
                pass
        if b"HANG" in frame:
            time.sleep(60)
        return real(frame)
    child._answer = answer
    child.main()
    """
)


def parser(tmp_path: Path, script: str = BROKEN, seconds: float = 2.0) -> Parser:
    file = tmp_path / "child.py"
    file.write_text(script)
    return Parser(seconds=seconds, command=[sys.executable, str(file)])


def sources(*texts: str) -> list[Source]:
    return [Source(f"{number}.py", "python", text.encode()) for number, text in enumerate(texts)]


def test_the_child_imports_the_languages_and_nothing_else_of_lithos() -> None:
    frame = b"\x06python" + b"def a(): pass\n"
    code = f"import runpy, sys; runpy.run_path({Parser()._command[-1]!r}, run_name='__main__'); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], input=struct.pack(">I", len(frame)) + frame, capture_output=True, timeout=60
    )
    imported = {name for name in done.stderr.decode().split() if name.startswith("lithos.")}  # prints go to stderr
    assert "lithos.graph.code.languages.grammars" in imported
    assert {name for name in imported if not name.startswith("lithos.graph.code")} == {"lithos.graph"}


@pytest.mark.parametrize("bad", ["# CRASH\n", "# HANG\n", "# SPIN\n"])
def test_a_file_that_kills_or_stops_the_child_is_unparsed_and_the_others_are_not(tmp_path: Path, bad: str) -> None:
    it = parser(tmp_path, seconds=0.5)
    try:
        texts = ["def a(): pass\n", bad, "def b(): pass\n", *["def c(): pass\n"] * 20]
        found = list(it.parse(sources(*texts)))
    finally:
        it.close()
    assert [source.path for source, _ in found] == [f"{number}.py" for number in range(len(texts))]
    assert [facts is None for _, facts in found] == [text == bad for text in texts]
    assert it.restarts == 1


def test_many_large_files_do_not_block_both_ends(tmp_path: Path) -> None:
    it = Parser()
    try:
        text = "\n".join(f"def function_{number}(a, b): return a.call_{number}(b)" for number in range(3000))
        found = list(it.parse(sources(*[text] * 6)))
    finally:
        it.close()
    assert [len(facts.symbols) for _, facts in found if facts] == [3000] * 6


def test_large_files_behind_a_slow_one_get_their_own_facts_and_wait_once(tmp_path: Path) -> None:
    it = parser(tmp_path, seconds=1.0)
    texts = ["def a(): pass\n", "# SLOW\n", *(f"def f{number}(): pass\n" + "#" + "x" * 100_000 for number in range(8))]
    try:
        list(it.parse(sources(texts[0])))  # a child that has answered once has its seconds per file
        found = list(it.parse(sources(*texts)))
    finally:
        it.close()
    names = [None if facts is None else [symbol.name for symbol in facts.symbols] for _, facts in found]
    assert names == [["a"], None, *([f"f{number}"] for number in range(8))]
    assert it.restarts == 1


def test_a_child_that_never_starts_is_an_error_not_a_graph_without_symbols(tmp_path: Path) -> None:
    it = parser(tmp_path, "raise SystemExit(1)")
    with pytest.raises(Unavailable):
        list(it.parse(sources(*["def a(): pass\n"] * 9)))
    it.close()


def test_who_stops_half_way_leaves_no_answer_to_the_next(tmp_path: Path) -> None:
    """An error while a batch is stored ends the reading of facts with files still on their way to the child."""
    made = parser(tmp_path)
    try:
        first = made.parse(Source(f"{name}.py", "python", f"def {name}(): pass".encode()) for name in "abcdef")
        next(iter(first))
        first.close()  # type: ignore[attr-defined]
        ((_, facts),) = made.parse([Source("z.py", "python", b"def z(): pass")])
        assert facts is not None
        assert [symbol.name for symbol in facts.symbols] == ["z"]
    finally:
        made.close()


def test_a_child_that_was_ended_while_idle_costs_no_file(tmp_path: Path) -> None:
    it = Parser()
    try:
        list(it.parse(sources("def a(): pass\n")))
        assert it._process is not None
        it._process.kill()
        it._process.wait()
        assert [facts is None for _, facts in it.parse(sources("def b(): pass\n"))] == [False]
    finally:
        it.close()


@pytest.mark.parametrize(("once", "unparsed"), [(True, []), (False, ["1.py"])])
def test_a_file_at_which_another_program_ends_the_child_gets_one_more_try(
    tmp_path: Path, once: bool, unparsed: list[str]
) -> None:
    mark = tmp_path / "killed"
    condition = f'b"KILL" in frame and not ({once} and os.path.exists({str(mark)!r}))'
    script = BROKEN.replace('if b"CRASH" in frame:', f"if {condition}:\n        open({str(mark)!r}, 'w').close()")
    it = parser(tmp_path, script.replace("os.kill(os.getpid(), 11)", "os.kill(os.getpid(), 9)"))
    try:
        found = list(it.parse(sources("def a(): pass\n", "# KILL\n", "def b(): pass\n")))
    finally:
        it.close()
    assert [source.path for source, facts in found if facts is None] == unparsed
