"""Child: the process that parses. A grammar is native code that reads strangers' files: it may crash, never us.

Run by its path, with packages that import nothing: as a module it would import all of Lithos first, 0.35 s of CPU.

Frames on stdin: 4 bytes length, 1 byte length of the language's name, the name, the source. On stdout: 4 bytes length,
the facts as JSON. An empty answer: the file could not be read by its grammar.
"""

from __future__ import annotations

import gc
import os
import resource
import struct
import sys
from pathlib import Path
from types import ModuleType

import orjson

MOST_MEMORY = 2 * 1024**3  # of address space; parsing a file of 1 MB needs 60 MB


def main() -> None:
    os.nice(10)
    for package, folder in (("lithos.graph", Path(__file__).parents[1]), ("lithos.graph.code", Path(__file__).parent)):
        bare = ModuleType(package)
        bare.__path__ = [str(folder)]
        sys.modules.setdefault(package, bare)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.set_threshold(200_000, 10, 10)  # a file's facts go without it; looking for cycles took a tenth of the time
    source, answers = os.dup(0), os.dup(1)
    os.dup2(2, 1)  # a stray print must not break the frames
    with open(source, "rb") as incoming, open(answers, "wb") as outgoing:
        while len(header := incoming.read(4)) == 4:
            frame = incoming.read(struct.unpack(">I", header)[0])
            answer = _answer(frame)
            outgoing.write(struct.pack(">I", len(answer)) + answer)
            outgoing.flush()


def _answer(frame: bytes) -> bytes:
    from lithos.graph.code.languages.grammars import read

    name = frame[1 : 1 + frame[0]].decode()
    try:
        return orjson.dumps(read(name, frame[1 + frame[0] :]).as_json())
    except (RecursionError, MemoryError, ValueError, IndexError, AttributeError, KeyError, TypeError) as error:
        sys.stderr.write(
            f"{name}: {type(error).__name__}: {error}\n"
        )  # the file becomes "unparsed"; the next may be fine
        return b""


if __name__ == "__main__":
    main()
