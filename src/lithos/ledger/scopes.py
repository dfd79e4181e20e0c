"""Which thoughts of a chain belong to a session and are not promoted: `sessions.visible` as a mask over columns."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lithos.core.lazy import lazy
from lithos.ledger.chain.chain import Chain
from lithos.sessions import ScopedRow, Viewer

if TYPE_CHECKING:
    import numpy as np

    from lithos.ledger.chain.columns import Mask
else:
    np = lazy("numpy")

UUID_LENGTH = 36
PROMOTED = "promoted"
ENTRY = "entry"
REACH = "reach"  # keyword field of a session's thoughts: ENTRY, and PROMOTED or the session's id


class KnownSessions(Protocol):
    """The questions that the ledger asks about sessions."""

    def known(self, session_ids: Collection[str]) -> set[str]:
        """Those that have a row."""

    def promoted(self, chain_key: str) -> Mapping[int, str]:
        """Index → session, of the promoted thoughts of a chain. The same object until it changes."""


class NoSessions:
    """A ledger without sessions: every thought is public."""

    def known(self, session_ids: Collection[str]) -> set[str]:
        return set()

    def promoted(self, chain_key: str) -> Mapping[int, str]:
        return {}


@dataclass(frozen=True, slots=True)
class EntryScope:
    """Which entries of sessions a query is about. `fits` is its meaning; `any_of` and `none_of` say it to search."""

    own: str | None = None
    everything: bool = False  # of all sessions, promoted or not
    sessions: tuple[str, ...] = ()  # only of these; then promoted or not
    excluded: tuple[str, ...] = ()
    promoted_only: bool = False
    public: bool = False  # also thoughts of no session, unless only certain sessions or promoted ones are asked for

    @property
    def takes_public(self) -> bool:
        return self.public and not self.sessions and not self.promoted_only

    def fits(self, session: str, promoted: bool) -> bool:
        if session in self.excluded or (self.sessions and session not in self.sessions):
            return False
        if self.promoted_only:
            return promoted
        return promoted or self.everything or bool(self.sessions) or session == self.own

    @property
    def any_of(self) -> dict[str, tuple[str, ...]]:
        chosen = {"session": self.sessions} if self.sessions else {}
        if self.promoted_only:
            return {**chosen, REACH: (PROMOTED,)}
        if self.takes_public:
            return {}  # `Where.only_for` keeps out what the viewer may not see
        if self.everything or self.sessions:
            return {**chosen, REACH: (ENTRY,)}
        return {REACH: (PROMOTED,) if self.own is None else (PROMOTED, self.own)}

    @property
    def none_of(self) -> dict[str, tuple[str, ...]]:
        return {"session": self.excluded} if self.excluded else {}


class Marks(Mapping[int, str]):
    """Index → its session, or PROMOTED; of the thoughts that belong to a session. A view: a copy for every look at a
    chain of 100,000 thoughts would take longer than the search that asked for it."""

    def __init__(self, of: Mapping[int, str], promoted: Mapping[int, str]) -> None:
        self._of = of
        self._promoted = promoted

    def __getitem__(self, index: int) -> str:
        session = self._of[index]
        return PROMOTED if index in self._promoted else session

    def __iter__(self) -> Iterator[int]:
        return iter([*self._of])  # a copy: another thread may add to it

    def __len__(self) -> int:
        return len(self._of)


class ChainScopes:
    """The sessions of one chain's thoughts, read as the chain grows.

    Only ids of rows in `sessions` scope anything. An id that has no row yet is asked for again: a session may be
    restored after thoughts that name it.
    """

    def __init__(self, chain: Chain, sessions: KnownSessions) -> None:
        self._held = weakref.ref(chain)  # else it would keep its own key of a WeakKeyDictionary alive
        self._sessions = sessions
        self._lock = threading.Lock()
        self._clear()

    @property
    def _chain(self) -> Chain:
        chain = self._held()
        assert chain is not None, "its caller holds the chain"
        return chain

    def _clear(self) -> None:
        self._names = self._pairs = 0
        self._codes: dict[int, str] = {}
        self._of: dict[str, list[int]] = {}  # session → indexes of its thoughts
        self._at: dict[int, str] = {}  # the same by index
        self._numbers: dict[str, int] = {}  # session → its number in `_scoped`
        self._scoped = np.zeros(0, np.int32)  # number of each thought's session; 0: none
        self._promoted: tuple[Mapping[int, str], np.ndarray] | None = None
        self._unknown: dict[str, list[int]] = {}  # ids that have no row

    def marks(self) -> Marks:
        with self._lock:
            self._update()
            return Marks(self._at, self._sessions.promoted(self._chain.key))

    def entries(self, wanted: EntryScope) -> Mask:
        """The entries that a query over sessions asks for."""
        return self._mask(wanted.takes_public, wanted.fits)

    def seen(self, viewer: Viewer) -> Mask | None:
        """True at each thought that the viewer may see; None: all of them."""
        if viewer.everything or not self.marks():
            return None
        return self._mask(True, lambda session, promoted: promoted or session == viewer.session)

    def _mask(self, public: bool, fits: Callable[[str, bool], bool]) -> Mask:
        """True where a thought fits: each session is judged once, each thought by its session's number."""
        with self._lock:
            self._update()
            scoped = self._scoped_to(self._chain.columns.count)
            plain, raised = ([public, *(fits(each, way) for each in self._numbers)] for way in (False, True))
            mask: Mask = np.array(plain, np.bool_).take(scoped)
            promoted = self._promoted_to(len(scoped))
            mask[promoted] = np.array(raised, np.bool_).take(scoped[promoted])
            return mask

    def _promoted_to(self, size: int) -> np.ndarray:
        """Indexes of promoted thoughts, made again when the sessions give another mapping."""
        mapping = self._sessions.promoted(self._chain.key)
        if self._promoted is None or self._promoted[0] is not mapping:
            self._promoted = (mapping, np.fromiter(mapping, np.int64, len(mapping)))
        found = self._promoted[1]
        return found[found < size]

    def row(self, index: int) -> ScopedRow:
        """One thought, as `visible` judges it."""
        with self._lock:
            self._update()
            return ScopedRow(self._at.get(index), index in self._sessions.promoted(self._chain.key))

    def _update(self) -> None:
        columns = self._chain.columns
        if self._pairs > columns.pairs:  # a thought was forgotten: the pairs moved
            self._clear()
        if self._names < len(columns.names) or self._pairs < columns.pairs:
            new, terms, indexes = columns.sessions_since(self._names, self._pairs)
            self._names, self._pairs = len(columns.names), self._pairs + len(terms)
            self._codes |= new
            if self._codes:
                self._read(terms, indexes)
        if self._unknown:
            for session in self._sessions.known(self._unknown):
                self._add(session, self._unknown.pop(session))

    def _read(self, terms: np.ndarray, indexes: np.ndarray) -> None:
        for place in np.flatnonzero(np.isin(terms, list(self._codes))):
            session = self._codes[int(terms[place])]
            if session in self._of:
                self._add(session, [int(indexes[place])])
            elif len(session) == UUID_LENGTH:
                self._unknown.setdefault(session, []).append(int(indexes[place]))

    def _add(self, session: str, places: list[int]) -> None:
        self._of.setdefault(session, []).extend(places)
        self._at |= dict.fromkeys(places, session)
        self._scoped_to(max(places) + 1)[places] = self._numbers.setdefault(session, len(self._numbers) + 1)

    def _scoped_to(self, size: int) -> np.ndarray:
        if len(self._scoped) < size:
            grown = np.zeros(max(size, 2 * len(self._scoped)), np.int32)
            grown[: len(self._scoped)] = self._scoped
            self._scoped = grown
        return self._scoped[:size]
