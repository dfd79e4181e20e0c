"""Installed packages: descriptions, READMEs and marks of deprecation, read within the root alone."""

from __future__ import annotations

from pathlib import Path

from lithos.habits.installed import NOT_INSTALLED, Installed, installed, uses_of
from lithos.habits.manifests import PackageUse

README = (
    "# A\n\n[![badge](https://x/y.svg)](https://x)\n\n- a list of words here\n\n"
    "Parses [ISO dates](https://x) into values.\n\nMore.\n"
)
TYPES = """
/** Formats a date. */
export declare function format(date: Date): string;
/**
 * Parses a date.
 * @deprecated use parseISO
 */
export declare function parse(text: string): Date;
/** @deprecated */
export type Old = string;
interface Kept { /** @deprecated inside */ field: string }
"""
PYTHON = '''
def kept():
    """Kept."""

@typing_extensions.deprecated("use fetch")
def load(): ...

class Reader:
    """Reads.

    .. deprecated:: 2.0
    """
'''


def _npm(name: str) -> PackageUse:
    return PackageUse(name, "npm", "runtime", manifest="package.json")


def _plain(found: Installed) -> tuple[str, str, str]:
    return found.summary, found.deprecated, found.where


def test_metadata_is_read_within_the_root_alone(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "node_modules" / "a", root / "node_modules" / ".store" / "b", outside):
        folder.mkdir(parents=True)
        (folder / "package.json").write_text('{"description": "formats dates", "deprecated": "use c"}')
    (root / "node_modules" / "b").symlink_to(root / "node_modules" / ".store" / "b")
    (root / "node_modules" / "evil").symlink_to(outside)
    (outside / "secret.md").write_text("a secret text of another project\n")
    (root / "node_modules" / "a" / "README.md").symlink_to(outside / "secret.md")
    metadata = root / ".venv" / "lib" / "python3.11" / "site-packages" / "my_lib-1.0.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(
        "Name: my-lib\nSummary: reads files\nClassifier: Development Status :: 7 - Inactive\n\nSummary: no\n"
    )
    read = ("formats dates", "use c", "installed package.json")
    assert {name: _plain(installed(root, _npm(name))) for name in "ab"} == {"a": read, "b": read}
    assert installed(root, _npm("a")).readme == ""
    assert installed(root, _npm("evil")) == NOT_INSTALLED
    python = installed(root, PackageUse("my-lib", "pypi", "runtime", manifest="sub/pyproject.toml"))
    assert _plain(python) == ("reads files", "marked inactive", "installed metadata")


def test_a_readme_is_its_first_paragraph_and_marks_are_found(tmp_path: Path) -> None:
    home = tmp_path / "node_modules" / "dates"
    home.mkdir(parents=True)
    (home / "package.json").write_text('{"keywords": ["calendar", "time zone"]}')
    (home / "README.md").write_text(README)
    (home / "index.d.ts").write_text(TYPES)
    found = installed(tmp_path, _npm("dates"))
    assert found.texts == ("calendar time zone", "Parses ISO dates into values.")
    assert found.deprecated_names == {"parse": "use parseISO", "Old": "marked deprecated"}


def test_marks_of_a_python_package_are_decorators_and_docstrings(tmp_path: Path) -> None:
    site = tmp_path / ".venv" / "lib" / "python3.12" / "site-packages"
    (site / "my_lib-1.0.dist-info").mkdir(parents=True)
    (site / "my_lib-1.0.dist-info" / "METADATA").write_text("Name: my-lib\n\nReads files of any kind.\n")
    (site / "my_lib").mkdir()
    (site / "my_lib" / "__init__.py").write_text(PYTHON)
    found = installed(tmp_path, PackageUse("my-lib", "pypi", "runtime", manifest="pyproject.toml"))
    assert found.readme == "Reads files of any kind."
    assert found.deprecated_names == {"load": "use fetch", "Reader": "deprecated since 2.0"}
    assert uses_of(found.deprecated_names, "my_lib", "import my_lib\nmy_lib.kept()\nx = my_lib.load()\n") == {"load": 3}


def test_a_package_without_a_summary_says_what_its_readme_says_first() -> None:
    assert Installed(readme="Encodes QR codes. It is small.").texts_shown == ("Encodes QR codes.",)
    assert Installed(summary="QR", readme="Encodes.").texts_shown == ("QR",) and NOT_INSTALLED.texts_shown == ()
