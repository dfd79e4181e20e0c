"""Descriptions of installed packages: read within the root, never through a link out of it."""

from __future__ import annotations

from pathlib import Path

from lithos.habits.dependencies import described
from lithos.habits.manifests import PackageUse


def test_metadata_is_read_within_the_root_alone(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "node_modules" / "a", root / "node_modules" / ".store" / "b", outside):
        folder.mkdir(parents=True)
        (folder / "package.json").write_text('{"description": "formats dates", "deprecated": "use c"}')
    (root / "node_modules" / "b").symlink_to(root / "node_modules" / ".store" / "b")
    (root / "node_modules" / "evil").symlink_to(outside)
    metadata = root / ".venv" / "lib" / "python3.11" / "site-packages" / "my_lib-1.0.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(
        "Name: my-lib\nSummary: reads files\nClassifier: Development Status :: 7 - Inactive\n\nSummary: no\n"
    )
    read = ("formats dates", "use c", "installed package.json")
    found = {name: described(root, PackageUse(name, "npm", "runtime", manifest="package.json")) for name in "ab"}
    assert found == {"a": read, "b": read}
    assert described(root, PackageUse("evil", "npm", "runtime", manifest="package.json")) == ("", "", "")
    python = described(root, PackageUse("my-lib", "pypi", "runtime", manifest="sub/pyproject.toml"))
    assert python == ("reads files", "marked inactive", "installed metadata")
