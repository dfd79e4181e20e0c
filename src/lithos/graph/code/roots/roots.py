"""Roots: which folders of code Lithos reads, and which it refuses to read."""

from __future__ import annotations

import pwd
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from lithos.core.call import Call
from lithos.errors import ConfigInvalid, Conflict, Damaged, Forbidden, InvalidInput, NotFound
from lithos.graph.code.roots.rule import Rule
from lithos.storage import make_folder, read_file, replace_file

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}\Z")
_KERNELS = tuple(map(Path, ("/proc", "/sys")))  # no files of people: watching them never ends
_HINT = "Name one repository, for example: lithos code add ~/work/shop."


@dataclass(frozen=True, slots=True)
class RootSpec:
    """One root. `users` empty: every caller sees it; else only calls of these users, and the operator."""

    name: str
    path: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    configured: bool = False  # by `code.roots`; such a root is not removed by a command

    @property
    def rule(self) -> Rule:
        return Rule(self.include, self.exclude)

    def visible_to(self, call: Call) -> bool:
        return not self.users or call.operator or bool({call.user, call.login} & set(self.users))


def checked(spec: RootSpec, data_dir: Path, *, must_exist: bool) -> RootSpec:
    """The same with an absolute path, or the reason why this folder is no root."""
    if not _NAME.match(spec.name):
        raise InvalidInput(
            f"{spec.name[:60]!r} is no name of a root",
            hint="Use up to 40 small letters, digits, dots, dashes, underscores.",
        )
    spec.rule.check()
    if not spec.path.strip():
        raise InvalidInput("a root has a path", hint=_HINT)
    path = Path(spec.path).expanduser().absolute()
    if must_exist and not path.is_dir():
        raise NotFound(f"there is no folder {path}", hint="A root is an existing folder; Lithos never creates one.")
    real, data = path.resolve(), data_dir.resolve()
    if real == Path("/") or real in _homes() or any(home.is_relative_to(real) for home in _homes()):
        raise Forbidden(f"{path} is too wide for a root: it is, or holds, a home folder", hint=_HINT)
    if any(real.is_relative_to(each) for each in _KERNELS):
        raise Forbidden(f"{path} holds no files: the kernel makes them", hint=_HINT)
    if real.is_relative_to(data) or data.is_relative_to(real):
        raise Forbidden(f"{path} is at, above or inside the data directory", hint=_HINT)
    return RootSpec(spec.name, str(real), spec.include, spec.exclude, spec.users, spec.configured)


def _homes() -> set[Path]:
    """Home folders of this machine's people; the root folder of a system account is none."""
    found = {Path(user.pw_dir) for user in pwd.getpwall() if user.pw_uid == 0 or user.pw_uid >= 1000}
    found.add(Path.home())
    return {home.resolve() for home in found if home.is_absolute() and str(home) not in ("/", "/nonexistent")}


class Roots:
    """Those of the settings, and those that the operator added; the latter are kept in a file of `.lithos/`."""

    def __init__(self, file: Path, data_dir: Path, configured: Iterable[RootSpec]) -> None:
        self._file = file
        self._data_dir = data_dir
        self._configured: dict[str, RootSpec] = {}
        for spec in configured:
            if spec.name in self._configured:
                raise ConfigInvalid(f"code.roots names {spec.name!r} twice")
            self._configured[spec.name] = checked(spec, data_dir, must_exist=False)

    def all(self) -> dict[str, RootSpec]:
        return {**self._added(), **self._configured}

    def add(self, spec: RootSpec) -> RootSpec:
        known = self.all()
        spec = checked(spec, self._data_dir, must_exist=True)
        if spec.name in known:
            raise Conflict(
                f"there is a root {spec.name!r} already", hint="Choose another --name, or remove that root first."
            )
        same = next((each.name for each in known.values() if each.path == spec.path), None)
        if same is not None:
            raise Conflict(f"{spec.path} is the root {same!r} already")
        self._write({**self._added(), spec.name: spec})
        return spec

    def remove(self, name: str) -> RootSpec:
        added = self._added()
        if name in self._configured:
            raise Forbidden(f"{name!r} comes from the settings", hint="Take it out of code.roots.")
        if name not in added:
            raise unknown(name, self.all())
        spec = added.pop(name)
        self._write(added)
        return spec

    def _added(self) -> dict[str, RootSpec]:
        try:
            rows: list[dict[str, Any]] = orjson.loads(read_file(self._file))
            specs = [
                RootSpec(row["name"], row["path"], tuple(row["include"]), tuple(row["exclude"]), tuple(row["users"]))
                for row in rows
            ]
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError):
            raise Damaged(
                f"{self._file.name} cannot be read",
                hint="Restore it from a backup, or delete it and name the roots again: lithos code add.",
            ) from None
        return {spec.name: spec for spec in specs}

    def _write(self, specs: dict[str, RootSpec]) -> None:
        make_folder(self._file.parent)
        replace_file(self._file, orjson.dumps([asdict(spec) for spec in specs.values()], option=orjson.OPT_INDENT_2))


def unknown(name: str, known: Iterable[str]) -> NotFound:
    names = sorted(known)
    return NotFound(
        f"there is no root {name[:60]!r}", hint=f"There are: {', '.join(names)}." if names else "There is none yet."
    )
