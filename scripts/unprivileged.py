"""Run tests as a user without rights: `python scripts/unprivileged.py [pytest arguments]`, or `make test-unprivileged`.

The suite may run as root, where the kernel exempts runs from some limits. This copies the checkout into a folder of
the user 65534, and runs the workshop's tests there as that user, with an interpreter that it can read. Started by
anyone but root, it runs them as they are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
UNPRIVILEGED = 65534
TESTS = (
    *("tests/unit/workshop", "tests/flows/test_workshop.py", "tests/flows/test_workshop_tools.py"),
    *("tests/flows/test_session_work.py", "tests/faults/test_workshop_kills.py"),
)


def main(arguments: list[str]) -> int:
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *(arguments or TESTS)]
    if os.geteuid() != 0:
        return subprocess.run([sys.executable, *command], cwd=HERE, check=False).returncode
    with tempfile.TemporaryDirectory(prefix="lithos-unprivileged-", dir="/var/tmp") as name:
        folder = Path(name)
        checkout = _checkout(folder / "checkout")
        python = _environment(folder)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, UNPRIVILEGED, UNPRIVILEGED, follow_symlinks=False)
        temporary = Path(tempfile.mkdtemp(prefix="lithos-unprivileged-"))
        os.chown(temporary, UNPRIVILEGED, UNPRIVILEGED)
        try:
            return _without_rights([str(python), *command], checkout, temporary).returncode
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _checkout(place: Path) -> Path:
    """The files as they are now, committed or not, without what git ignores."""
    list_files = ["git", "ls-files", "-co", "--exclude-standard", "-z", "--deduplicate"]
    listed = subprocess.run(list_files, cwd=HERE, check=True, capture_output=True).stdout.decode()
    for each in filter(None, listed.split("\0")):
        if (HERE / each).is_file():
            (place / each).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(HERE / each, place / each)
    return place


def _environment(folder: Path) -> Path:
    """A virtual environment that this user can read: a copy of ours, which a run sees as a whole."""
    venv = folder / "venv"
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    known = [Path(sys.base_prefix) / "bin" / name, Path("/usr/local/bin", name), Path("/usr/bin", name)]
    base = next((each for each in known if each.exists() and _readable(each)), None)
    if base is None:
        raise SystemExit(f"that user can read no {name}: install one for all users (apt install {name}-venv)")
    subprocess.run([str(base), "-m", "venv", "--without-pip", str(venv)], check=True)
    packages = venv / "lib" / name / "site-packages"
    shutil.copytree(sysconfig.get_path("purelib"), packages, symlinks=True, dirs_exist_ok=True)
    (packages / "aaa-checkout.pth").write_text(f"{folder / 'checkout' / 'src'}\n")
    for program in (Path(sys.prefix) / "bin").iterdir():
        if program.is_file() and not (venv / "bin" / program.name).exists():
            first, _, rest = program.read_bytes().partition(b"\n")
            shutil.copy2(program, venv / "bin" / program.name)
            if first.startswith(b"#!") and b"python" in first:
                (venv / "bin" / program.name).write_bytes(b"#!%s\n%s" % (bytes(venv / "bin/python"), rest))
    return venv / "bin" / "python"


def _readable(path: Path) -> bool:
    return _without_rights(["ls", str(path)], Path("/"), Path("/tmp"), quiet=True).returncode == 0


def _without_rights(
    argv: list[str], cwd: Path, temporary: Path, *, quiet: bool = False
) -> subprocess.CompletedProcess[bytes]:
    environment = {
        "PATH": f"{Path(argv[0]).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(temporary),
        "TMPDIR": str(temporary),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        **{name: os.environ[name] for name in ("TORTURE",) if name in os.environ},
    }
    return subprocess.run(
        argv,
        cwd=cwd,
        env=environment,
        user=UNPRIVILEGED,
        group=UNPRIVILEGED,
        extra_groups=[],
        capture_output=quiet,
        check=False,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
