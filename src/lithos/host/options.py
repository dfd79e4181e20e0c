"""The options of `lithos serve`, parsed without typer or settings: a guest only needs to find its host.

Unknown options (a typo, `--help`) are left to the full command line, which explains them. Toolsets, agent and
read-only belong to one connection. All other options are the host's, passed on by the guest that starts it.
"""

from __future__ import annotations

import os

from lithos.core.read_only import folded, read_switch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DATA_DIR, CONFIG = "--data-dir", "--config"
DEFAULT_DATA_DIR = "~/lithos"
_TAKES_VALUE = {
    DATA_DIR: DATA_DIR,
    "-d": DATA_DIR,
    CONFIG: CONFIG,
    "-c": CONFIG,
    "--transport": "--transport",
    "-t": "--transport",
    "--toolsets": "--toolsets",
    "--agent": "--agent",
    "--host": "--host",
    "--port": "--port",
}
_SWITCHES = ("--read-only", "--standalone", "--no-watch", "--json")
# Flag → the variables that mean the same, as lithos.settings reads them: the nested spelling wins.
_VARIABLES = {
    DATA_DIR: ("LITHOS_STORAGE__DATA_DIR", "LITHOS_DATA_DIR"),
    CONFIG: ("LITHOS_CONFIG",),
    "--transport": ("LITHOS_SERVER__TRANSPORT", "LITHOS_TRANSPORT"),
    "--toolsets": ("LITHOS_SERVER__TOOLSETS", "LITHOS_TOOLSETS"),
    "--agent": ("LITHOS_SERVER__AGENT", "LITHOS_AGENT"),
    "--read-only": ("LITHOS_SERVER__READ_ONLY", "LITHOS_READ_ONLY"),
}
_NOT_THE_HOSTS = {*_VARIABLES, "--standalone", "--host", "--port", "--json"}
_NOT_THE_HOSTS_VARIABLES = {variable for variables in _VARIABLES.values() for variable in variables}
# What a host keeps of its starter's environment besides LITHOS_*; PYTHON* so that it finds the same Lithos.
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "TZ", "PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "VIRTUAL_ENV")
_KEPT_PREFIXES = ("LC_", "XDG_", "PG", "LITHOS_")  # PG*: how PostgreSQL is reached


class ServeOptions:
    """The flags of one `lithos serve`, and its environment."""

    def __init__(self, given: dict[str, str], environment: Mapping[str, str]) -> None:
        self._given = given
        self._environment = environment

    def get(self, flag: str) -> str | None:
        """From the command line, else from the environment."""
        stated = [self._given.get(flag), *(self._environment.get(name) for name in _VARIABLES.get(flag, ()))]
        return next(filter(None, stated), None)

    @property
    def standalone(self) -> bool:
        return "--standalone" in self._given

    def place(self) -> tuple[str, str] | None:
        """(data directory, transport); None if a settings file decides it, which takes longer to read."""
        data_dir, transport = self.get(DATA_DIR), self.get("--transport")
        if self.get(CONFIG) and not (data_dir and transport):
            return None
        data_dir = os.path.expanduser(data_dir or DEFAULT_DATA_DIR)
        if not transport and os.path.exists(os.path.join(data_dir, "config.yaml")):
            return None
        return data_dir, transport or "stdio"

    def connection(self) -> dict[str, str | bool | None]:
        """Options of this client alone; None: as the host's settings say."""
        read_only = read_switch(self.get("--read-only") or "0")
        return {"toolsets": self.get("--toolsets"), "agent": self.get("--agent"), "read_only": read_only}

    def read_only_is_spelled_right(self) -> bool:
        """Whether LITHOS_READ_ONLY is spelled as the settings read it: a safety switch must not be ignored."""
        exact = _VARIABLES["--read-only"]
        meant = {folded(name) for name in exact}
        misspelt = [name for name in self._environment if folded(name) in meant and name not in exact]
        return not misspelt and read_switch(self.get("--read-only") or "0") is not None

    def host_wide(self) -> dict[str, str]:
        """Options of the host, for all its guests: those of its starter count."""
        flags = {flag: value for flag, value in self._given.items() if flag not in _NOT_THE_HOSTS}
        config = self.get(CONFIG)
        if config:
            flags[CONFIG] = os.path.realpath(config)
        stated = {name: value for name, value in self._environment.items() if name.startswith("LITHOS_")}
        return flags | {name: value for name, value in stated.items() if name not in _NOT_THE_HOSTS_VARIABLES}

    def host_arguments(self, data_dir: str) -> list[str]:
        """The command line of a host; the data directory is in it because `ps` shows it."""
        arguments = [DATA_DIR, data_dir]
        for flag, value in self.host_wide().items():
            if flag.startswith("-"):
                arguments += [flag] if flag in _SWITCHES else [flag, value]
        return arguments

    def host_environment(self) -> dict[str, str]:
        return {
            name: value
            for name, value in self._environment.items()
            if name not in _NOT_THE_HOSTS_VARIABLES and (name in _KEPT or name.startswith(_KEPT_PREFIXES))
        }


def parse_serve(arguments: Sequence[str], environment: Mapping[str, str]) -> ServeOptions | None:
    """The options after `serve`; None: only the full command line can explain what is wrong."""
    given: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        if flag in _SWITCHES and not equals:
            given[flag] = "true"
        elif flag in _TAKES_VALUE and (equals or rest):
            given[_TAKES_VALUE[flag]] = value if equals else rest.pop(0)
        else:
            return None
    options = ServeOptions(given, environment)
    return options if options.read_only_is_spelled_right() else None


def differing(wanted: Mapping[str, str], running: Mapping[str, str]) -> list[str]:
    """Names of the host-wide options in which a guest differs from its host, without values, which may be secret."""
    return sorted(name for name, value in wanted.items() if running.get(name) != value)
