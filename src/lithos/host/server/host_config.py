"""Settings and log of a host: from its starter's flags, LITHOS_* and the settings file, not one client's."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from lithos.host.host_lock import HostLock
from lithos.host.options import CONFIG, ServeOptions
from lithos.host.spawn import LARGEST_LOG
from lithos.serving import BoundedLog, set_up_log
from lithos.settings import LithosConfig, load_config


def load_for_host(options: ServeOptions, host_lock: HostLock) -> LithosConfig:
    wide = options.host_wide()
    given = {
        "storage.data_dir": Path(host_lock.data_dir),
        "server.watch_files": False if "--no-watch" in wide else None,
    }
    return load_config(config_file=wide.get(CONFIG), command_line=given, environ=options.host_environment()).config


def set_up_host_log(config: LithosConfig, host_lock: HostLock) -> None:
    """`.lithos/host.log`, unless the settings name another; bounded, with the last two kept."""
    file = None
    if config.server.log_file is None:
        with contextlib.suppress(OSError):  # a read-only disk must not keep a host from reading
            file = _HostLog(host_lock.log_path, LARGEST_LOG)
    set_up_log(config, file)


class _HostLog(BoundedLog):
    """Sends stderr to the log file, also after a rotation, so that a crash of the interpreter is logged."""

    def _open(self):  # type: ignore[no-untyped-def]  # the type of logging's own stream differs between versions
        stream = super()._open()
        os.chmod(self.baseFilename, 0o600)
        os.dup2(stream.fileno(), 2)
        return stream
