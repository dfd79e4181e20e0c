"""A person at an editor, in a process of its own: `python -m tests.torture.editor FOLDER ENOUGH WHO OF SAVES SEED`.

Every save adds a line to what the file holds, in one of five habits. The editors share out `FOLDER/*.md`: what one
person saves over another's text is between the two. So many saves, and on until the file ENOUGH is there; the number of
saves is then in ENOUGH.WHO.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

READ_TRIES = 2000


def in_place(path: Path, data: bytes) -> None:
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()


def rename_over(path: Path, data: bytes) -> None:
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_bytes(data)
    fresh.replace(path)


def swap_and_back_up(path: Path, data: bytes) -> None:
    fresh, backup = path.with_name(f".{path.name}.swp"), path.with_name(f"{path.name}~")
    fresh.write_bytes(data)
    path.replace(backup)
    fresh.replace(path)


def truncate_and_write(path: Path, data: bytes) -> None:
    with path.open("wb", buffering=0) as file:
        time.sleep(random.random() * 0.001)
        file.write(data)


def delete_and_create(path: Path, data: bytes) -> None:
    path.unlink()
    path.write_bytes(data)


HABITS = (in_place, rename_over, swap_and_back_up, truncate_and_write, delete_and_create)


def read(path: Path) -> bytes:
    """As an editor shows it: a file that is being replaced is looked at again."""
    for _ in range(READ_TRIES):
        try:
            if data := path.read_bytes():
                return data
        except FileNotFoundError:
            pass
        time.sleep(0.001)
    raise SystemExit(f"{path} is gone or empty")


def main(folder: Path, enough: Path, who: int, editors: int, saves: int, seed: int) -> None:
    dice = random.Random(seed)
    files = sorted(each for each in folder.glob("*.md") if not each.name.startswith("."))[who::editors]
    number = 0
    while number < saves or not enough.exists():
        path = dice.choice(files)
        data = read(path).rstrip(b"\n") + f"\nperson{who} {number}\n".encode()
        try:
            dice.choice(HABITS)(path, data)
        except FileNotFoundError:
            path.write_bytes(data)  # taken away in between; an editor writes it as a new file
        time.sleep(dice.random() * 0.04)  # a write of an agent takes some milliseconds, and some must get through
        number += 1
    enough.with_suffix(f".{who}").write_text(str(number))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
