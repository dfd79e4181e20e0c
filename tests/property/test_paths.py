"""Hostile paths: whatever text comes, nothing outside the root is read, made or changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lithos.core.canonical import version_of
from lithos.core.clock import FakeClock
from lithos.errors import LithosError
from lithos.storage import Root
from lithos.storage.files import PortableKernel, best_kernel, checked
from tests.support.hostile_paths import HOSTILE

SECRET = b"outside the root"
NAMES = st.sampled_from(
    ["..", ".", "", "a", "link", "file.md", "loop", "dangling.md", "\x00", "~", "secret.md", "fifo.md", "x" * 260, "é"]
)
PATHS = st.one_of(
    st.lists(NAMES, max_size=6).map("/".join), st.text(max_size=30), st.binary(max_size=20).map(os.fsdecode)
)


def world(tmp_path: Path) -> tuple[Path, dict[str, bytes]]:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_bytes(SECRET)
    vault = tmp_path / "vault"
    vault.mkdir()
    os.symlink(tmp_path / "outside", vault / "link")
    os.symlink(tmp_path / "outside" / "secret.md", vault / "file.md")
    os.symlink("nowhere", vault / "dangling.md")
    os.symlink("loop", vault / "loop")
    os.mkfifo(vault / "fifo.md")
    return vault, outside(tmp_path)


def outside(tmp_path: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in (tmp_path / "outside").rglob("*") if path.is_file()}


def attempts(root: Root, path: str) -> int:
    """How many of all the ways in were refused."""
    ways = (
        lambda: root.read(path),
        lambda: root.replace(path, b"x", version_of(SECRET)),
        lambda: root.trash(path, version_of(SECRET)),
        lambda: root.move(path, "moved.md", version_of(SECRET)),
        lambda: root.history(path) and None,
    )
    refused = 0
    for way in ways:
        try:
            assert way() != SECRET
        except LithosError as error:
            assert error.hint or error.code == "too_large"
            refused += 1
    return refused


@pytest.mark.parametrize("kernel", [best_kernel, PortableKernel])
def test_sixty_hostile_paths_are_refused_and_nothing_outside_is_touched(tmp_path: Path, kernel: type) -> None:
    assert len(HOSTILE) >= 60
    vault, before = world(tmp_path)
    root = Root(vault, name="vault", keep=tmp_path / "keep", clock=FakeClock(), kernel=kernel())
    for path in HOSTILE:
        assert attempts(root, path) >= 4, path
        with pytest.raises(LithosError):
            root.replace(path, b"x", None)
        with pytest.raises(LithosError):
            root.make_folder(path)
    assert outside(tmp_path) == before
    assert sorted(os.listdir(vault)) == ["dangling.md", "fifo.md", "file.md", "link", "loop"]
    assert os.listdir(tmp_path / "keep") == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=PATHS, portable=st.booleans())
def test_no_path_reaches_outside(tmp_path_factory: pytest.TempPathFactory, path: str, portable: bool) -> None:
    tmp_path = tmp_path_factory.mktemp("hostile")
    vault, before = world(tmp_path)
    kernel = PortableKernel() if portable else best_kernel()
    root = Root(vault, name="vault", keep=tmp_path / "keep", clock=FakeClock(), kernel=kernel)
    for act in (
        lambda: root.read(path),
        lambda: root.replace(path, b"x", None),
        lambda: root.make_folder(path),
        lambda: attempts(root, path),
    ):
        try:
            act()
        except LithosError as error:
            assert error.message
    assert outside(tmp_path) == before
    assert sorted(os.listdir(tmp_path)) == ["keep", "outside", "vault"]
    root.close()


@given(st.text(max_size=40))
def test_an_accepted_path_is_plain(path: str) -> None:
    try:
        accepted = checked(path)
    except LithosError:
        return
    assert accepted == path
    assert not accepted.startswith("/") and "\x00" not in accepted
    assert all(name not in ("", ".", "..") for name in accepted.split("/"))
