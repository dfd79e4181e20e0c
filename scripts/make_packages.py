"""Makes the shipped table of packages and their capabilities: `python scripts/make_packages.py` reads packages.txt.

The table is dated: its words are those of the packages' own documentation at that time. Installed metadata comes first.
"""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("packages.txt")
TABLE = Path(__file__).parent.parent / "src" / "lithos" / "habits" / "data" / "packages.json"
ECOSYSTEMS = ("npm", "pypi", "go", "cargo", "gem", "composer", "maven", "nuget")


def main() -> int:
    rows, packages = [], set()
    for number, line in enumerate(SOURCE.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        row = read_row(line, number)
        rows.append(row)
        packages |= {(each, name) for each in ECOSYSTEMS for name in row.get(each, [])}
    made = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    table = {"made": made, "packages": len(packages), "capabilities": rows}
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text(json.dumps(table, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{len(rows)} capabilities of {len(packages)} packages")
    return 0


def read_row(line: str, number: int) -> dict[str, Any]:
    head, *parts = [part.strip() for part in line.split("|")]
    name, _, words = head.partition(" = ")
    row: dict[str, Any] = {"name": name.strip(), "words": [each.strip() for each in words.split(",") if each.strip()]}
    for part in parts:
        ecosystem, *names = part.split()
        if ecosystem == "std":
            std: dict[str, list[str]] = {}
            for each in names:
                language, _, module = each.partition(":")
                std.setdefault(language, []).append(module)
            row["std"] = std
        elif ecosystem not in ECOSYSTEMS:
            sys.exit(f"line {number}: there is no ecosystem {ecosystem}")
        elif names:
            row[ecosystem] = names
    return row


if __name__ == "__main__":
    sys.exit(main())
