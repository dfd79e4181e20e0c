"""View: everything that a run can see. System folders and toolchains to read, one worktree to write."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lithos.workshop.values import Worktree

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store")
# No file with a secret: /etc as a whole holds host keys, shadow and the credentials of services.
OF_ETC = (
    *("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl/certs", "ssl/openssl.cnf", "pki/tls/certs"),
    *("ca-certificates", "localtime", "timezone", "locale.alias", "mime.types", "nsswitch.conf", "passwd", "group"),
    *("os-release", "debian_version", "fonts", "java-11-openjdk", "java-17-openjdk", "java-21-openjdk", "hosts"),
)
OF_NETWORK = ("/etc/resolv.conf", "/run/systemd/resolve/stub-resolv.conf")
# Toolchains that are installed in a home: the programs alone, not the credentials beside them.
OF_HOME = (
    *(".cargo/bin", ".rustup", ".pyenv/versions", ".nvm/versions", ".volta/tools", ".bun/bin", ".deno/bin"),
    *(".local/share/uv/python", ".local/share/mise/installs", ".asdf/installs", ".sdkman/candidates", "sdk", "go/bin"),
)
# Folders of programs that installers name, whether or not the host was started with them on its PATH.
PROGRAMS_OF_HOME = (".cargo/bin", "go/bin", ".bun/bin", ".deno/bin")
PROGRAMS = ("/usr/local/go/bin", "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")
DEPENDENCIES = ("node_modules", ".venv", "vendor")
_KEPT = ("LANG", "LC_ALL", "LC_CTYPE", "TZ")  # of our own environment
HOME, TEMPORARY = "/home/lithos", "/tmp"
_INTERPRETER = re.compile(r"^home\s*=\s*(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Scratch:
    """Private folders of a worktree's runs: home and caches live as long as the worktree, the temporary one a run."""

    home: Path
    temporary: Path


@dataclass(frozen=True, slots=True)
class View:
    worktree: Worktree
    readable: tuple[str, ...]
    dependencies: tuple[tuple[Path, Path], ...]  # folder of the main checkout, its place in the worktree
    scratch: Scratch
    environment: Mapping[str, str]
    network: bool

    def program(self, name: str, cwd: Path) -> str | None:
        """The absolute path of a program as a run would find it; None: it is not installed."""
        if "/" in name:
            path = Path(name) if name.startswith("/") else cwd / name
            return str(path) if path.is_file() and os.access(path, os.X_OK) else None
        for folder in self.environment["PATH"].split(":"):
            if shutil.which(name, path=self._outside(folder)) is not None:
                return f"{folder}/{name}"
        return None

    def _outside(self, folder: str) -> str:
        """The folder as the host sees it: dependencies are mounted in the worktree for the run alone."""
        for source, place in self.dependencies:
            if folder == str(place) or folder.startswith(f"{place}/"):
                return str(source) + folder[len(str(place)) :]
        return folder


def view_of(worktree: Worktree, scratch: Scratch, *, toolchains: Sequence[Path], network: bool, inside: bool) -> View:
    """`inside`: home and temporary folder are mounted at fixed places; else they are named as they are."""
    dependencies = tuple(_dependencies(worktree))
    interpreters = [str(base) for folder, _ in dependencies if (base := _interpreter(folder)) is not None]
    readable = _system(tuple(toolchains), network)
    readable += tuple(each for each in dict.fromkeys(interpreters) if each not in readable)
    home, temporary = (HOME, TEMPORARY) if inside else (str(scratch.home), str(scratch.temporary))
    shown = [place if inside else source for source, place in dependencies]
    programs = _programs(tuple(toolchains), os.environ.get("PATH", ""))
    environment = _environment(worktree, shown, programs, home, temporary)
    return View(worktree, readable, dependencies, scratch, environment, network)


@cache
def _system(toolchains: tuple[Path, ...], network: bool) -> tuple[str, ...]:
    """System folders and toolchains that are there; looked up once, a fifth of the cost of a run."""
    found = [Path(each) for each in SYSTEM]
    found += [Path("/etc") / each for each in OF_ETC]
    found += [*(Path.home() / name for name in OF_HOME), *toolchains]
    if network:
        found += [Path(each) for each in OF_NETWORK]
    # A folder that we may not read is not there.
    return tuple(dict.fromkeys(str(each) for each in found if os.access(each, os.R_OK)))


@cache
def _programs(toolchains: tuple[Path, ...], path: str) -> tuple[str, ...]:
    """Folders of programs: the operator's toolchains, what a run sees of the host's own PATH, the usual places."""
    seen = _system(toolchains, network=False)
    own = [Path(each) for each in path.split(":") if each.startswith("/")]
    found = [each / "bin" if (each / "bin").is_dir() else each for each in toolchains]
    found += [each for each in own if any(each.is_relative_to(top) for top in seen)]
    found += [*(Path.home() / name for name in PROGRAMS_OF_HOME), *map(Path, PROGRAMS)]
    return tuple(str(each) for each in dict.fromkeys(found) if each.is_dir())


def _dependencies(worktree: Worktree) -> Iterator[tuple[Path, Path]]:
    """A fresh worktree has none; those of the main checkout are shown in their place, unless something is there."""
    for name in DEPENDENCIES:
        source = f"{worktree.main}/{name}"  # a string: most projects have one of the three, and Path is slow
        if os.path.isdir(source) and not os.path.islink(source):  # noqa: PTH112, PTH114
            place = worktree.path / name
            if not os.path.lexists(place) or _is_empty(place):
                yield Path(source), place


def _is_empty(place: Path) -> bool:
    """The mount point that an earlier run left."""
    return place.is_dir() and not place.is_symlink() and next(place.iterdir(), None) is None


def _interpreter(venv: Path) -> Path | None:
    """The installation of Python that a virtual environment was made from."""
    try:
        found = _INTERPRETER.search((venv / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")[:4096])
    except OSError:
        return None
    base = Path(found[1].strip()).resolve().parent if found else None
    if base is None or not any((each / "os.py").is_file() for each in base.glob("lib/python3*")):
        return None
    return base


def _environment(
    worktree: Worktree, dependencies: Sequence[Path], programs: Sequence[str], home: str, temporary: str
) -> dict[str, str]:
    """An allow list: no token, key or agent socket of the host's environment is passed on."""
    names = [*map(str, dependencies), *(f"{worktree.path}/{each}" for each in DEPENDENCIES)]
    folders = [f"{each}/bin" for each in names if each.endswith("/.venv")]
    folders += [f"{each}/.bin" for each in names if each.endswith("/node_modules")]
    found = {name: os.environ[name] for name in _KEPT if name in os.environ}
    found |= {
        "PATH": ":".join(dict.fromkeys([*folders, *programs])),
        "HOME": home,
        "USER": "lithos",
        "LOGNAME": "lithos",
        "TMPDIR": temporary,
        "XDG_CACHE_HOME": f"{home}/.cache",
        "CARGO_HOME": f"{home}/.cargo",
        "GOCACHE": f"{home}/.cache/go-build",
        "PYTHONDONTWRITEBYTECODE": "1",  # in the worktree it would be a change
        "TERM": "dumb",
        "NO_COLOR": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    if (rustup := _rustup()) is not None:
        found["RUSTUP_HOME"] = rustup
    if any(each.name == ".venv" for each in dependencies):
        # An editable install of the main checkout names its folder, which is not there: the worktree's code counts.
        paths = [worktree.path / "src", worktree.path]
        found["PYTHONPATH"] = ":".join(str(each) for each in paths if each.is_dir())
    return found


@cache
def _rustup() -> str | None:
    folder = Path.home() / ".rustup"
    return str(folder) if os.access(folder, os.R_OK) else None
