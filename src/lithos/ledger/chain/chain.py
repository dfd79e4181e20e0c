"""One chain: an append-only log of thoughts, its tree, its columns and its registry."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from lithos.core.clock import micros, rfc3339
from lithos.errors import Damaged, LedgerFork, NotFound
from lithos.ledger.chain import admission
from lithos.ledger.chain import idempotency as repeats
from lithos.ledger.chain.acknowledged import Mark
from lithos.ledger.chain.format import SALT_BYTES, Entry, open_entry, seal
from lithos.ledger.chain.log import Log, translated
from lithos.ledger.chain.opening import Opening, Tail, check_link, read_header
from lithos.ledger.chain.segments import ADAPTERS, list_segments
from lithos.ledger.chain.tickets import Flushed, Stored, Ticket
from lithos.ledger.environment import Environment
from lithos.ledger.proofs import merkle
from lithos.ledger.proofs.checkpoints import Checkpoint, CheckpointFile, sign_checkpoint
from lithos.ledger.proofs.merkle_file import Nodes
from lithos.ledger.registry.history import Change, History, Op
from lithos.ledger.registry.registry import Key, Registry
from lithos.ledger.thoughts import Draft, Request

CHECKPOINT_EVERY = 1024
FORGETTING = "forgetting.json"  # there while a forgetting is under way
_log = logging.getLogger(__name__)


class Unhashed:
    """How far the part that was taken on trust has been hashed anew."""

    def __init__(self, trusted: int) -> None:
        self.place = 0
        self._end = trusted
        self._head: str | None = None

    @property
    def is_done(self) -> bool:
        return self.place >= self._end

    def advance(self, chain: Chain, count: int = 256) -> None:
        indexes = range(self.place, min(self._end, self.place + count))
        try:
            entries: Iterable[Entry] = chain.entries(indexes)
        except Damaged:
            entries = map(chain.entry, indexes)  # as far as they are right
        head = self._head or chain.origin
        for entry in entries:
            check_link(entry, self.place, head)
            head = entry.hash
            self.place += 1
        self._head = head


class Chain:
    def __init__(self, folder: Path, world: Environment) -> None:
        self.folder = folder
        self._world = world
        self.header = read_header(folder)
        self.origin = self.header.origin
        self.checkpoint_file = CheckpointFile(world.checkpoints / f"{folder.name}.jsonl")
        self.checkpoint_file.cut_torn_tail()
        self._lock = threading.RLock()
        self._flushing = threading.Lock()
        self._pending: list[Ticket] = []
        self._writing = False  # somebody is writing, and will wake whoever comes meanwhile
        self._open()

    def _open(self) -> None:
        segments = list_segments(self.folder)
        adapter = segments[-1].adapter if segments else ADAPTERS["jsonl"]
        self._log = Log(self.folder, adapter, self._world.faults, self._world.segment_bytes)
        # A forgetting that was cut short may have left derived files that no longer fit.
        trust = not (self.folder / FORGETTING).exists()
        tail = Opening(self.folder, self.origin, self.checkpoint_file, self._log, trust=trust).run()
        self._take_over(tail)
        self._mark = Mark(self.folder)
        self._open_registry()
        self._since_checkpoint = self.size - tail.trusted
        # Thoughts before this were vouched for by a checkpoint at opening; `verify_some` hashes them anew in passing.
        self._unhashed = Unhashed(tail.trusted)

    def _take_over(self, tail: Tail) -> None:
        self.columns = tail.columns
        self.problem = tail.problem
        self._files = tail.files
        self._nodes = tail.settle(self.folder) if tail.problem is None else None
        self._head = self._next_head = tail.head
        self._next_index = self.size

    def _open_registry(self) -> None:
        self.history = History(self.folder / "registry.jsonl", self.origin)
        self.history.cut_torn_tail()
        self.registry = Registry()
        try:
            self.registry = Registry(self.history.load())
        except Damaged as error:
            self.problem = self.problem or error

    # -- reading

    @property
    def key(self) -> str:
        return self.header.chain_key

    @property
    def size(self) -> int:
        return self.columns.count

    @property
    def adapter(self) -> str:
        return self._log.adapter.name

    @property
    def head_hash(self) -> str | None:
        return self._head if self.size else None

    def entry(self, index: int) -> Entry:
        """One thought, its hash and place checked against what is known of it."""
        return self.entries([index])[0]

    def entries(self, indexes: Sequence[int]) -> list[Entry]:
        try:
            return self._read(indexes)
        except Damaged:
            # A forgetting may have moved entries meanwhile; under the lock the index and the segments agree.
            with self._lock:
                return self._read(indexes)

    def _read(self, indexes: Sequence[int]) -> list[Entry]:
        offsets, sizes, hashes = self.columns["offset"], self.columns["size"], self.columns["hash"]
        places = [(index, int(offsets[index]), int(sizes[index])) for index in indexes]
        found = []
        for index, raw in zip(indexes, self._log.read_many(places), strict=True):
            entry = open_entry(raw)
            if entry.index != index or int(entry.hash[:16], 16) != int(hashes[index]):
                raise Damaged(
                    f"thought {index} is not where the index says",
                    hint="Run `lithos ledger verify --full`; deleting rows.bin lets the index be made anew.",
                    finding="index_damaged",
                    index=index,
                )
            found.append(entry)
        return found

    def find_id(self, thought_id: str) -> int | None:
        text = thought_id.lower().replace("-", "")
        if len(text) != 32 or not set(text) <= set("0123456789abcdef"):
            return None
        wanted = thought_id.lower()
        return self._first("id", text[16:], lambda entry: entry.record["id"] == wanted)

    def find_hash(self, digest: str) -> int | None:
        if len(digest) != 64 or not set(digest.lower()) <= set("0123456789abcdef"):
            return None
        return self._first("hash", digest[:16], lambda entry: entry.hash == digest.lower())

    def _first(self, column: str, value: str, matches: Callable[[Entry], bool]) -> int | None:
        """Eight bytes narrow it down to one row, nearly always; the entry itself decides."""
        places = self.columns.places_of(column, value)
        return next((entry.index for entry in self.entries(places) if matches(entry)), None)

    # -- the full check, in passing

    @property
    def verified_through(self) -> int | None:
        """The last thought of those that were all hashed since this process opened the chain."""
        done = self.size if self._unhashed.is_done else self._unhashed.place
        return done - 1 if done else None

    def verify_some(self, seconds: float) -> None:
        if self.problem is not None or self._unhashed.is_done:
            return
        end = time.monotonic() + seconds
        while not self._unhashed.is_done and time.monotonic() < end:
            try:
                self._unhashed.advance(self)
            except Damaged as error:
                self.problem = error
                return

    # -- proofs

    @property
    def nodes(self) -> Nodes:
        if self._nodes is None:
            raise self.refusal()
        return self._nodes

    def checkpoint(self, at_most: int | None = None) -> Checkpoint:
        """Of the chain as it is now, or as it was a moment ago, so that an answer names one and the same size."""
        with self._lock:
            size, head = self.size, self.head_hash
        if at_most is not None and at_most < size:
            size, head = at_most, self.entry(at_most - 1).hash if at_most else None
        return self._sign(size, head, self.registry.head, rfc3339(self._world.clock.now()), self.nodes.root(size))

    def checkpoint_of(self, stored: Stored) -> Checkpoint:
        """For the answer to an append. With an idempotency key its own, which a repetition of the call gets again."""
        entry, flushed = stored
        if flushed is not None and (flushed.last is entry or "request_key" not in entry.record):
            return flushed.checkpoint(self._sign_end)
        return self._sign_end(entry, self.nodes.root(entry.index + 1))

    def _sign_end(self, last: Entry, root: bytes) -> Checkpoint:
        record = last.record
        return self._sign(last.index + 1, last.hash, record.get("registry"), record["timestamp"], root)

    def _sign(self, size: int, head: str | None, registry: str | None, timestamp: str, root: bytes) -> Checkpoint:
        return sign_checkpoint(
            self._world.key,
            chain_key=self.key,
            origin=self.origin,
            size=size,
            root=root,
            head_hash=head,
            registry=registry,
            timestamp=timestamp,
        )

    def prove_growth(self, earlier: Checkpoint) -> None:
        """That the chain only grew since an earlier checkpoint, or `ledger_fork`."""
        old, new = earlier["size"], self.size
        same_chain = earlier["origin"] == self.origin and earlier["chain_key"] == self.key
        if not same_chain or old > new or self.nodes.root(old).hex() != earlier["root"]:
            raise LedgerFork(
                f"this chain is not the one of your checkpoint of {old} thoughts; it has {new} now",
                hint="Thoughts were rewritten, cut off or restored from an old copy. Stop, and keep your checkpoint.",
                chain_key=self.key,
                size=new,
            )
        registry = earlier["registry"]
        if registry is not None and self.registry.place(registry) is None:
            raise LedgerFork(
                "the registry of this chain is not the one of your checkpoint",
                hint="Names, keys or revocations were rewritten. Stop, and keep your checkpoint.",
                chain_key=self.key,
                size=new,
            )

    def growth_proof(self, old: int, new: int) -> list[str]:
        return [step.hex() for step in merkle.consistency_proof(old, new, self.nodes.read)]

    def inclusion_proof(self, index: int, size: int) -> list[str]:
        return [step.hex() for step in merkle.inclusion_proof(index, size, self.nodes.read)]

    # -- appending

    def append(self, draft: Draft) -> Stored:
        """Durable when it returns; a repetition of an earlier request returns what that one wrote."""
        signer = admission.signer_of(self, draft)
        fresh = self._fresh()
        with self._lock:
            ticket = self._repeated(draft.request) or self._enqueue(draft, signer, fresh)
            turn = self._take_turn(ticket)
        return self._settled(ticket, turn)

    def _fresh(self) -> tuple[str, bytes]:
        """Id and salt, before the lock is taken: asking for randomness lets other threads run."""
        return self._world.ids.sortable(), self._world.noise(SALT_BYTES)

    def _take_turn(self, ticket: Ticket | Entry) -> bool:
        """True: nobody writes now, so this caller does, for all that wait."""
        if isinstance(ticket, Entry) or self._writing:
            return False
        self._writing = True
        return True

    def _settled(self, ticket: Ticket | Entry, turn: bool) -> Stored:
        if isinstance(ticket, Entry):
            return Stored(ticket, None)
        if turn or ticket.wait():
            self._write_for_all()
        if ticket.error is not None:
            raise ticket.error
        return Stored(ticket.entry, ticket.flushed)

    def append_first(self, draft: Draft) -> Stored | None:
        """Only if the chain has no thought, durable or on its way; None: it has."""
        fresh = self._fresh()
        with self._lock:
            ticket = self._repeated(draft.request)
            if ticket is None and self._next_index:
                return None
            ticket = ticket or self._enqueue(draft, None, fresh)
            turn = self._take_turn(ticket)
        return self._settled(ticket, turn)

    def _repeated(self, request: Request) -> Entry | Ticket | None:
        """What an earlier call with the same key, or the same delivery sent again, wrote or is writing."""
        if request.key is None and not (request.delivery and request.resent):
            return None
        oldest = micros(self._world.clock.now()) - int(self._world.remember_hours * 3_600_000_000)
        return repeats.pending(self._pending, request) or repeats.stored(self, request, oldest)

    def _enqueue(self, draft: Draft, signer: Key | None, fresh: tuple[str, bytes]) -> Ticket:
        """Give the thought its place; from here on it is written, or everything after it fails with it."""
        admission.check(self, draft, signer, self._next_index, self._pending)
        record = draft.record()
        record["id"], noise = fresh
        record["index"] = self._next_index
        record["prev_hash"] = self._next_head
        record["timestamp"] = rfc3339(self._world.clock.now())
        if self.registry.head is not None:
            record["registry"] = self.registry.head
        raw, entry = seal(record, draft.body(), noise)
        ticket = Ticket(raw, entry, self._log.adapter.encode(raw))
        self._pending.append(ticket)
        self._next_index += 1
        self._next_head = entry.hash
        return ticket

    def refusal(self) -> Damaged:
        problem = self.problem
        reason = problem.message if problem else "its derived files are missing"
        return Damaged(
            f"chain {self.key!r} is damaged: {reason}",
            hint="Nothing is appended to it. Run `lithos ledger verify`, then restore the chain from a backup.",
            **(problem.details if problem else {}),
        )

    def _write_for_all(self) -> None:
        """One write and one flush for everything that waits; then the next in line does the same for the rest."""
        try:
            with self._flushing:
                self._flush()
        finally:
            with self._lock:
                self._writing = bool(self._pending)
                if self._pending:
                    self._pending[0].call_up()

    def _flush(self) -> None:
        with self._lock:
            batch = list(self._pending)
        if not batch:
            return
        try:
            offsets = self._log.append(self.size, [ticket.data for ticket in batch])
        except Exception as error:  # noqa: BLE001 - whatever it is, each waiting caller must hear of it
            self._fail_all(error)
            return
        self._publish(batch, offsets)

    def _publish(self, batch: list[Ticket], offsets: list[int]) -> None:
        rows = [(ticket.entry, offset, len(ticket.data)) for ticket, offset in zip(batch, offsets, strict=True)]
        with self._lock:
            flushed = self._grow(rows)
            self._head = batch[-1].entry.hash
            del self._pending[: len(batch)]
            for ticket in batch:
                ticket.flushed = flushed
                ticket.finish()
        self._since_checkpoint += len(batch)
        if self._since_checkpoint >= CHECKPOINT_EVERY:
            self.checkpoint_soon()

    def _grow(self, rows: list[tuple[Entry, int, int]]) -> Flushed:
        """The thoughts are durable: whatever happens to what is derived, they are there after the next opening."""
        self._files.append(self.columns.add(rows))
        root = self.nodes.append([bytes.fromhex(entry.hash) for entry, _, _ in rows])
        try:
            self._mark.set(self.size)
        except OSError as error:
            self.problem = Damaged(f"the index could not be written: {error}", finding="index_damaged")
        return Flushed(rows[-1][0], root)

    def _fail_all(self, error: Exception) -> None:
        """What waits was chained to what could not be written: all of it fails, and the chain is as before."""
        with self._lock:
            failed, self._pending = self._pending, []
            self._next_index, self._next_head = self.size, self._head
            for ticket in failed:
                ticket.finish(error)

    # -- registry

    def record_change(self, op: Op, agent_id: str, details: dict[str, Any], by: str | None) -> Change:
        """One more entry of the registry's history, durable; thoughts appended from now on are bound to it."""
        with self._lock:
            if self.problem is not None:
                raise self.refusal()
            change = Change(
                seq=len(self.registry.hashes),
                op=op,
                agent_id=agent_id,
                details=details,
                at=rfc3339(self._world.clock.now()),
                by=by,
                thoughts=self.size,
                prev_hash=self.registry.head or self.origin,
            )
            stored = self.history.append(change)
            self.registry.take(stored)
            return stored

    # -- forgetting

    def erase(self, index: int) -> None:
        """Remove a thought's body from its segment and from everything derived; hashes and proofs stay."""
        with self._flushing:
            while not self._erase_unless_pending(index):
                self._flush()

    def _erase_unless_pending(self, index: int) -> bool:
        with self._lock:
            if self._pending:
                return False
            if self.problem is not None:
                raise self.refusal()
            self._erase(index)
            return True

    def _erase(self, index: int) -> None:
        """One segment is rewritten, and the columns are changed as that changes them: nothing else is read."""
        offset, size = int(self.columns["offset"][index]), int(self.columns["size"][index])
        [(record, _, _, digest)] = self._log.read_many([(index, offset, size)])
        bare = self._log.adapter.encode((record, b"", b"", digest))
        segment = self._log.segment_of(index)
        try:
            self._log.rewrite(segment, offset, size, bare)
            end = next((one.first for one in self._log.segments if one.first > index), self.size)
            self.columns = self.columns.without_content(index, len(bare), end)
            self._files.replace(self.columns)
        except OSError as error:
            # The announcement is still there: the next opening reads everything anew and finishes.
            self.problem = Damaged(f"forgetting was cut short: {error}", finding="index_damaged")
            raise translated(error) from error

    # -- checkpoints and the end

    @property
    def needs_checkpoint(self) -> bool:
        return self.problem is None and self._since_checkpoint > 0

    def checkpoint_soon(self) -> None:
        """If one is due, and the disk lets us. The thoughts are durable without it: nobody's call fails with it."""
        try:
            if self.needs_checkpoint:
                self.write_checkpoint()
        except OSError as error:
            _log.warning("no checkpoint of chain %s could be written: %s", self.folder.name, error)

    def write_checkpoint(self) -> Checkpoint:
        """Flush the derived files, then sign what they hold: the next opening trusts them that far."""
        with self._lock:
            if self.problem is not None:
                raise self.refusal()
            self._files.flush()
            self.nodes.flush()
            self._mark.set(self.size)
            checkpoint = self.checkpoint()
            self.checkpoint_file.append(checkpoint)
            self._since_checkpoint = 0
        return checkpoint

    def close(self) -> None:
        with self._flushing:
            self.checkpoint_soon()
            self._files.close()
            if self._nodes is not None:
                self._nodes.close()
            self._mark.close()
            self._log.close()


def not_there(chain_key: str) -> NotFound:
    return NotFound(f"there is no chain {chain_key!r}", hint="mentisdb_list_chains names those that exist.")
