"""Published keys of a root, as resolution asks for them, inside the transaction that resolves."""

from __future__ import annotations

from typing import Any

import orjson

from lithos.graph.code.schema import number
from lithos.graph.code.values import CALLABLE
from lithos.storage import Tx

_CALLABLE = ", ".join(str(int(kind)) for kind in CALLABLE)
_CALLABLES = (
    "SELECT n.name, f.path || '#' || n.local AS id FROM nodes n JOIN files f ON f.number = n.file "
    f"WHERE n.type IN ({_CALLABLE})"
)


class StoredKeys:
    """Reads each key when it is asked for: for a change of few files."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx

    def number(self, key: str) -> int:
        return number(key)

    def values(self, place: int) -> list[Any]:
        rows = self._tx.all("SELECT value FROM published WHERE key = ? ORDER BY file", place)
        return [orjson.loads(row["value"]) for row in rows]

    def unique(self, name: str) -> str | None:
        rows = self._tx.all(f"{_CALLABLES} AND n.name = ? LIMIT 2", name)
        return str(rows[0]["id"]) if len(rows) == 1 else None


class HeldKeys(StoredKeys):
    """Holds all keys and unique names, 20 MB at 50,000 symbols: for a pass over many files, while none changes."""

    def __init__(self, tx: Tx) -> None:
        super().__init__(tx)
        self._values: dict[int, list[bytes]] = {}
        for row in tx.all("SELECT key, value FROM published ORDER BY key, file"):
            self._values.setdefault(row["key"], []).append(row["value"])
        self._unique: dict[str, str] = {}
        for row in tx.all(f"{_CALLABLES} GROUP BY n.name HAVING count(*) = 1"):
            self._unique[row["name"]] = row["id"]

    def values(self, place: int) -> list[Any]:
        return [orjson.loads(value) for value in self._values.get(place, ())]

    def unique(self, name: str) -> str | None:
        return self._unique.get(name)
