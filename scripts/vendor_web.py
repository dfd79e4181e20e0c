"""Copy the browser libraries of the web page from npm packages into the wheel; the same bytes every time.

    python scripts/vendor_web.py            # fetch with `npm pack`, write static/vendor/ and its NOTICE.md
    python scripts/vendor_web.py --check    # judge the files that are there; needs no network

A package is taken at one version and one sha512. `npm pack` asks the registry that npm is configured for.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "src" / "lithos" / "serving" / "web" / "static" / "vendor"


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    sha512: str  # of the archive, as npm's `dist.integrity` writes it
    licence: str
    why: str
    files: tuple[tuple[str, str, str], ...]  # path in the archive, name here, sha256

    @property
    def archive(self) -> str:
        return f"{self.name.replace('@', '').replace('/', '-')}-{self.version}.tgz"


PACKAGES = (
    Package(
        "htmx.org",
        "2.0.11",
        "Thx/WtpeOQqSrqBCw/A1cwGJGg4UrVa3+sW0GmrM3p4gJgO89ecH4qtbnyzDDWFvBTqjnIMCgELTNt636dtamA==",
        "Zero-Clause BSD",
        "replaces parts of a page with what the server rendered; `allowEval` and `includeIndicatorStyles` are off",
        (
            (
                "package/dist/htmx.min.js",
                "htmx.min.js",
                "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
            ),
            ("package/LICENSE", "htmx.LICENSE.txt", "d3d2456f76414f2456104660ebd65aff1c04cd7966b942bdabd63f3cdb316a38"),
        ),
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description="Vendor the browser libraries of the web page.")
    parser.add_argument("--check", action="store_true", help="compare the files that are there; fetch nothing")
    if parser.parse_args().check:
        wrong = check()
        print("\n".join(wrong) or "the vendored files are those that scripts/vendor_web.py names")
        return 1 if wrong else 0
    TARGET.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        vendor(package)
    (TARGET / "NOTICE.md").write_text(notice(), encoding="utf-8")
    return 0


def vendor(package: Package) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", f"{package.name}@{package.version}"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        archive = Path(folder, package.archive)
        found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if found != package.sha512:
            raise SystemExit(f"{package.name} {package.version} has another sha512: {found}")
        with tarfile.open(archive) as packed:
            for inside, name, sha256 in package.files:
                member = packed.extractfile(inside)
                if member is None:
                    raise SystemExit(f"{package.archive} has no file {inside}")
                data = member.read()
                if _sha256(data) != sha256:
                    raise SystemExit(f"{inside} has another sha256: {_sha256(data)}")
                (TARGET / name).write_bytes(data)


def check() -> list[str]:
    """One sentence for each file that is missing, changed or not listed."""
    listed = {name: sha256 for package in PACKAGES for _, name, sha256 in package.files}
    wrong = [f"{name} is missing" for name in listed if not (TARGET / name).is_file()]
    for path in sorted(TARGET.iterdir()):
        if path.name == "NOTICE.md":
            if path.read_text(encoding="utf-8") != notice():
                wrong.append("NOTICE.md is not what the script writes")
        elif path.name not in listed:
            wrong.append(f"{path.name} is not listed")
        elif _sha256(path.read_bytes()) != listed[path.name]:
            wrong.append(f"{path.name} was changed")
    return wrong


def notice() -> str:
    rows = [
        f"| {package.name} {package.version} | {package.licence} | {package.files[-1][1]} | {package.why} |"
        for package in PACKAGES
    ]
    head = [
        "# Browser libraries of the web page",
        "",
        "Unchanged files of npm packages, taken by `scripts/vendor_web.py`.",
        "",
    ]
    return "\n".join([*head, "| package | licence | text | why |", "|---|---|---|---|", *rows, ""])


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
