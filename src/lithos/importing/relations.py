"""Relations by the entity that they start from: in a temporary database, as a file of 2 GB may have millions."""

from __future__ import annotations

from collections.abc import Iterator


class Relations:
    def __init__(self) -> None:
        import apsw

        self._database = apsw.Connection("")  # SQLite keeps it in memory up to its cache, then in a deleted file
        self._database.execute("CREATE TABLE relations (start TEXT, line TEXT); BEGIN")
        self._sorted = False

    def add(self, start: str, line: str) -> None:
        self._database.execute("INSERT INTO relations VALUES (?, ?)", (_text(start), _text(line)))

    def take(self, start: str) -> list[str]:
        """The lines of one entity, in the order of the file; they are gone afterwards."""
        if not self._sorted:
            self._database.execute("CREATE INDEX by_start ON relations (start)")
            self._sorted = True
        lines = [line for (line,) in self._database.execute(_OF, (_text(start),))]
        if lines:
            self._database.execute("DELETE FROM relations WHERE start = ?", (_text(start),))
        return lines

    def names(self) -> Iterator[str]:
        """Entities whose relations nothing has taken."""
        for (start,) in self._database.execute("SELECT start FROM relations GROUP BY start ORDER BY min(rowid)"):
            yield start


_OF = "SELECT line FROM relations WHERE start = ? ORDER BY rowid"


def _text(given: str) -> str:
    return given.encode("utf-8", "replace").decode()  # JSON may escape half a surrogate pair, which is no text
