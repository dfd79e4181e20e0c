"""For every kind of file under the data directory and every damage: healed, refused with the way out, or detected;
never silent, never a hang, nothing outside written. `python -m tests.faults.test_damage` prints the whole table."""

from __future__ import annotations

import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lithos.graph.code.surveyed import SURVEY
from tests.faults.damage import (
    DAMAGES,
    DERIVED,
    EDIT,
    HEALED,
    Case,
    Damage,
    Hung,
    answers,
    fifo,
    files,
    flip,
    kind_of,
    red,
    ruling,
)
from tests.faults.data import everything, opened
from tests.support.file_modes import possible

DERIVED_FOLDERS = (".catalogue", ".graph", ".tantivy", ".vectors")
PARTS = 4  # no test of the short form takes long on a busy machine


@dataclass
class Ground:
    """One data directory that every case copies, with what it answers while it is well."""

    folder: Path

    def __post_init__(self) -> None:
        self.data = self.folder / "pristine"
        everything(self.data, self.folder / "repository")
        for name in ("host.lock", "host.log"):
            (self.data / ".lithos" / name).touch()
        case = Case(self.data, self.folder / "well")
        with opened(case.data) as memory:
            self.expected: dict[str, Any] = answers(memory)
            self.usual = set(red(memory))

    def verdict(self, kind: str, place: Path, damage: Damage) -> str:
        case = Case(self.data, self.folder / "case")
        damage(case.data / place)
        found, why = case.judge(self.expected, self.usual)
        allowed = ruling(place.as_posix()) or set()
        if found == "silent" and EDIT in allowed:
            found = EDIT
        if found not in allowed:
            raise AssertionError(f"{kind}, {damage.__name__}: {found}, not one of {sorted(allowed)}. {why}")
        return found


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    yield Ground(tmp_path_factory.mktemp("damage"))


def test_a_sound_memory_is_green(ground: Ground) -> None:
    assert ground.usual == set()


def test_every_kind_has_a_ruling(ground: Ground) -> None:
    unruled = [str(path) for path in files(ground.data).values() if kind_of(path.as_posix()) is None]
    assert unruled == [], "a new kind of file: say in RULINGS what is owed when it is damaged"


def test_a_loss_that_nothing_shows_turns_the_matrix_red(ground: Ground) -> None:
    def lose(path: Path) -> None:
        (path.parents[1] / "knowledge/note-1.md").unlink()

    with pytest.raises(AssertionError, match="silent"):
        ground.verdict("coordination.db.reserve", Path(".lithos/coordination.db.reserve"), lose)


def faults(ground: Ground, damages: list[tuple[str, Path, Damage]]) -> list[str]:
    wrong = []
    for kind, place, damage in damages:
        try:
            ground.verdict(kind, place, damage)
        except (Exception, Hung) as failure:
            wrong.append(f"{kind}, {damage.__name__}: {failure!r}")
    return wrong


@pytest.mark.parametrize("part", range(PARTS))
def test_each_kind_is_healed_refused_or_detected_after_some_damage(ground: Ground, part: int) -> None:
    """The short form: every kind meets one damage, every damage several kinds."""
    kinds = list(enumerate(files(ground.data).items()))[part::PARTS]
    cases = [(kind, place, DAMAGES[number % len(DAMAGES)]) for number, (kind, place) in kinds]
    assert faults(ground, cases) == []


@pytest.mark.parametrize(
    ("kind", "damage"), [(".graph/knowledge.db", flip), (f".graph/surveys/shop-style-{SURVEY}.json", fifo)]
)
def test_what_was_silent_or_hung_once_is_healed(ground: Ground, kind: str, damage: Damage) -> None:
    assert faults(ground, [(kind, files(ground.data)[kind], damage)]) == []


@pytest.mark.skipif(not possible(), reason="root reads everything on this system")
def test_all_derived_files_without_any_right_are_healed_at_once(ground: Ground) -> None:
    case = Case(ground.data, ground.folder / "case")
    derived = [path for path in case.data.rglob("*") if path.is_file() and ruling(_name(case, path)) == DERIVED]
    assert len({kind_of(_name(case, path)) for path in derived}) > 10
    for path in derived:
        path.chmod(0)
    assert case.judge(ground.expected, ground.usual) == (HEALED, "")


def _name(case: Case, path: Path) -> str:
    return path.relative_to(case.data).as_posix()


@pytest.mark.torture
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_each_kind_is_healed_refused_or_detected_after_each_damage(ground: Ground, damage: Damage) -> None:
    cases = [(kind, place, damage) for kind, place in files(ground.data).items()]
    assert faults(ground, cases) == []


def main() -> None:
    import logging
    import sys

    logging.disable()
    wanted = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        ground = Ground(Path(folder))
        print("usual:", ground.usual)
        for kind, place in files(ground.data).items():
            if wanted and not any(each in kind for each in wanted):
                continue
            row = []
            for damage in DAMAGES:
                try:
                    row.append(ground.verdict(kind, place, damage))
                except BaseException as failure:
                    row.append(f"\n    !! {damage.__name__}: {failure!r}"[:900])
            print(kind, *row, flush=True)


if __name__ == "__main__":
    main()


def test_a_folder_behind_a_link_in_place_of_one_of_ours_stays_as_it_is(ground: Ground) -> None:
    """Its mode too. Derived folders: authority may be kept elsewhere on purpose."""
    derived = [path for name in DERIVED_FOLDERS for path in (ground.data / name, *(ground.data / name).glob("*/"))]
    for place in (path.relative_to(ground.data) for path in derived):
        case = Case(ground.data, ground.folder / "case")
        theirs = case.data.with_name("theirs")
        theirs.mkdir()
        theirs.chmod(0o755)
        shutil.rmtree(case.data / place)
        (case.data / place).symlink_to(theirs)
        case.judge(ground.expected, ground.usual)
        assert (stat.S_IMODE(theirs.stat().st_mode), list(theirs.iterdir())) == (0o755, []), place
