"""One chain: an append-only log of thoughts, its Merkle tree, its index and its registry."""

from __future__ import annotations

import hmac
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, overload

from lithos.core.clock import micros, rfc3339
from lithos.errors import Damaged, LedgerFork, ReadOnly
from lithos.ledger.chain import admission, idempotency
from lithos.ledger.chain.announcement import FORGETTING
from lithos.ledger.chain.columns import FORGETS, half_of_id
from lithos.ledger.chain.convert import convert, finish_conversion
from lithos.ledger.chain.format import (
    SALT_BYTES,
    Json,
    ThoughtEntry,
    canonical_bytes,
    is_redacted,
    open_entry,
    redacted_hash,
    seal,
)
from lithos.ledger.chain.log import Log, translated
from lithos.ledger.chain.opening import ACKNOWLEDGED, Opening, Tail, read_header
from lithos.ledger.chain.rehash import Rehash
from lithos.ledger.chain.segments import ADAPTERS, check_magic, list_segments
from lithos.ledger.chain.tickets import Flushed, Stored, Ticket
from lithos.ledger.environment import Environment
from lithos.ledger.proofs import merkle
from lithos.ledger.proofs.checkpoints import Checkpoint, CheckpointFile, sign_checkpoint
from lithos.ledger.proofs.merkle_file import Nodes
from lithos.ledger.registry.history import History, Op, RegistryChange
from lithos.ledger.registry.registry import Key, Registry
from lithos.ledger.thoughts import Draft, Request
from lithos.storage import Mark

CHECKPOINT_EVERY = 1024
REBUILD_AT_ONCE = 4096  # thoughts; bounds memory
FORGOTTEN_ARGUMENTS = b"lithos.forgotten.v1\n"
_log = logging.getLogger(__name__)


class Chain:
    def __init__(self, folder: Path, environment: Environment) -> None:
        self.folder = folder
        self._environment = environment
        self.header = read_header(folder)
        self.origin = self.header.origin
        self.checkpoint_file = CheckpointFile(environment.checkpoints / f"{folder.name}.jsonl")
        self._lock = threading.RLock()
        self._flushing = threading.RLock()
        self._pending: list[Ticket] = []
        self.lost_evidence: Damaged | None = None  # found by `verify_some` and `verify_again`
        self._writing = False  # a caller writes for all that wait, and calls up the next one
        self._open()

    def _open(self) -> None:
        # On a read-only disk the chain is read as it is, and opened again before the first change.
        self._frozen = not os.access(self.folder, os.W_OK)
        if not self._frozen:
            finish_conversion(self.folder)
            self.checkpoint_file.cut_torn_tail()
        segments = list_segments(self.folder)
        adapter = segments[-1].adapter if segments else ADAPTERS["jsonl"]
        environment = self._environment
        self._log = Log(self.folder, adapter, environment.faults, environment.segment_bytes, frozen=self._frozen)
        # A forgetting that was cut short may have left derived files that no longer fit.
        trust = not (self.folder / FORGETTING).exists()
        tail = Opening(self.folder, self.origin, self.checkpoint_file, self._log, trust=trust).run()
        self._forgets: dict[int, int] = {}  # index of a forgotten thought → of the newest thought that says so
        self._forgets_seen = 0
        self._take_over(tail)
        self._mark = Mark(self.folder / ACKNOWLEDGED)
        self._open_registry()
        self._since_checkpoint = self.size - tail.trusted
        # Thoughts before this were vouched for by a checkpoint at opening; `verify_some` hashes them in passing.
        self._trusted = Rehash(tail.trusted)
        self._again = Rehash(0)

    def _take_over(self, tail: Tail) -> None:
        self.columns = tail.columns
        self.problem = tail.problem
        self._files = tail.files
        self._nodes = tail.settle(self.folder, frozen=self._frozen) if tail.problem is None else None
        self._head = self._next_head = tail.head
        self._next_index = self.size

    def _open_registry(self) -> None:
        self.history = History(self.folder / "registry.jsonl", self.origin)
        self.registry = Registry()
        try:
            self.registry = Registry(self.history.load(), self._environment.known_name)
            self._check_registry()
        except Damaged as error:
            self.problem = self.problem or error.with_traceback(None)
        else:
            if not self._frozen:
                self.history.cut_torn_tail()

    def _check_registry(self) -> None:
        """Raise where entries are missing that the last checkpoint or thought is bound to: a revocation, say."""
        signed = self.checkpoint_file.last(self.origin)
        bound = {signed["registry"] if signed is not None else None}
        if self.problem is None and self.size:
            bound.add(self.entry(self.size - 1).record.get("registry"))
        if any(digest is not None and self.registry.place(digest) is None for digest in bound):
            raise Damaged(
                "entries of the registry are missing: names, keys or revocations",
                hint="Restore registry.jsonl from a backup.",
                finding="registry_damaged",
            )

    def _thaw(self) -> None:
        """Before a change: open a chain that a read-only disk had frozen as usual, or refuse."""
        if not self._frozen:
            return
        with self._flushing, self._lock:
            if not os.access(self.folder, os.W_OK):
                raise ReadOnly("the disk of the ledger is read-only", hint="Give it write access, then call again.")
            self.close()
            self._open()

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

    def refuse_if_cut_short(self) -> None:
        """Thoughts are missing from some index on: an answer about all of them would leave them out without a word."""
        if self.problem is not None and self.problem.details.get("index") == self.size:
            raise self.refusal()

    def entry(self, index: int) -> ThoughtEntry:
        """One thought, its hash and place checked against what is known of it."""
        return self.entries([index])[0]

    def entries(self, indexes: Sequence[int]) -> list[ThoughtEntry]:
        try:
            return self._read(indexes)
        except Damaged:
            # A forgetting may have moved entries meanwhile; under the lock the index and the segments agree.
            with self._lock:
                return self._read(indexes)

    def _read(self, indexes: Sequence[int]) -> list[ThoughtEntry]:
        offsets, sizes, hashes = self.columns["offset"], self.columns["size"], self.columns["hash"]
        places = [(index, int(offsets[index]), int(sizes[index])) for index in indexes]
        found = []
        for index, raw in zip(indexes, self._log.read_many(places), strict=True):
            entry = open_entry(raw)
            if entry.index != index or int(entry.hash[:16], 16) != int(hashes[index]):
                raise Damaged(
                    f"thought {index} is not where the index says",
                    hint="Run `lithos ledger verify`. The next start rebuilds the index.",
                    finding="index_damaged",
                    index=index,
                )
            found.append(entry)
        return found

    def find_id(self, thought_id: str) -> int | None:
        half = half_of_id(thought_id)
        wanted = thought_id.lower()
        return self._first("id", half, lambda entry: entry.record["id"] == wanted) if half else None

    def places_of_ids(self, thought_ids: Sequence[str]) -> list[int]:
        """Where thoughts of these ids are, each read entry to be compared: another id may share eight bytes."""
        halves = [half for each in thought_ids if (half := half_of_id(each))]
        return self.columns.places_of_any("id", halves) if halves else []

    def find_hash(self, digest: str) -> int | None:
        if len(digest) != 64 or not set(digest.lower()) <= set("0123456789abcdef"):
            return None
        return self._first("hash", digest[:16], lambda entry: entry.hash == digest.lower())

    def _first(self, column: str, value: str, matches: Callable[[ThoughtEntry], bool]) -> int | None:
        """Eight bytes narrow it down to one row, nearly always; the entry itself decides."""
        places = self.columns.places_of(column, value)
        return next((entry.index for entry in self.entries(places) if matches(entry)), None)

    # -- the full check, in passing

    @property
    def verified_through(self) -> int | None:
        """The last thought of those that were all hashed since this process opened the chain."""
        done = self.size if self._trusted.is_done else self._trusted.place
        return done - 1 if done else None

    @property
    def is_damaged(self) -> bool:
        return self.problem is not None or self.lost_evidence is not None

    @property
    def integrity(self) -> bool | None:
        """Whether everything was hashed and found right; None: not everything was hashed yet."""
        if self.is_damaged:
            return False
        return True if self._trusted.is_done else None

    def verify_some(self, seconds: float) -> None:
        """Hash what opening took on trust, for so long."""
        end = time.monotonic() + seconds
        with self._trusted.lock:
            while self.problem is None and not self._trusted.is_done and time.monotonic() < end:
                self._advance(self._trusted)
            if self.problem is None and not self._trusted.is_vouched:
                self.lost_evidence = self._wrong_evidence()
                self._trusted.is_vouched = True

    def verify_again(self) -> None:
        """Hash a few of all thoughts once more: a bit that flips under a running host is found within minutes."""
        with self._trusted.lock:
            if self.problem is not None or not self._trusted.is_done:
                return
            if self._again.is_done:
                self._again = Rehash(self.size)
                self.lost_evidence = self._wrong_evidence()
            if not self._again.is_done:
                self._advance(self._again)

    def _advance(self, pass_: Rehash) -> None:
        try:
            pass_.advance(self)
        except Damaged as error:
            error.details.setdefault("index", pass_.place)
            self.problem = error.with_traceback(None)

    def _wrong_evidence(self) -> Damaged | None:
        return self._wrong_checkpoint() or self._wrong_registry()

    def _wrong_registry(self) -> Damaged | None:
        with self._lock:  # no entry is being written
            try:
                self.history.load()
                self._check_registry()
            except Damaged as error:
                return error.with_traceback(None)
        return None

    def _wrong_checkpoint(self) -> Damaged | None:
        """Thoughts can be appended without them, but a chain whose signed checkpoints were changed is not whole."""
        for number, found in self.checkpoint_file.lines():
            if found is None or found["origin"] != self.origin:
                message = f"line {number} of the checkpoints is no checkpoint of this chain"
                return Damaged(message, finding="checkpoint_damaged")
        return None

    def check_segments(self) -> None:
        """Check what no hash covers: each segment begins as one does."""
        with self._lock:  # a conversion replaces them
            for segment in self._log.segments:
                check_magic(segment)

    def check_forgotten(self, entry: ThoughtEntry) -> None:
        """A content may be missing only where a later thought says so; it vouches for what is left of the record."""
        said = self.forgetting_record(entry.index)
        wanted = redacted_hash(entry.record) if is_redacted(entry.record) else None
        if said is None or (wanted is not None and said.record.get("redacted") != wanted):
            what = "is gone, and nothing says why" if said is None else "was forgotten, and its record changed since"
            raise Damaged(f"the content of thought {entry.index} {what}", finding="content_missing", index=entry.index)

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
        return self._sign(size, head, self.registry.head, rfc3339(self._environment.clock.now()), self.nodes.root(size))

    def checkpoint_of(self, stored: Stored) -> Checkpoint:
        """For the answer to an append. With an idempotency key its own, which a repetition of the call gets again."""
        entry, flushed = stored
        if flushed is not None and (flushed.last is entry or "request_key" not in entry.record):
            return flushed.checkpoint(self._sign_end)
        return self._sign_end(entry, self.nodes.root(entry.index + 1))

    def _sign_end(self, last: ThoughtEntry, root: bytes) -> Checkpoint:
        record = last.record
        return self._sign(last.index + 1, last.hash, record.get("registry"), record["timestamp"], root)

    def _sign(self, size: int, head: str | None, registry: str | None, timestamp: str, root: bytes) -> Checkpoint:
        return sign_checkpoint(
            self._environment.key,
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
        if not same_chain or old > new or not self._has_root(old, earlier["root"]):
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

    def _has_root(self, size: int, root: str) -> bool:
        if self.nodes.root(size).hex() == root:
            return True
        self._rebuild_tree()  # the file may be damaged: only the thoughts themselves can contradict a checkpoint
        return self.nodes.root(size).hex() == root

    def growth_proof(self, old: int, new: int) -> list[str]:
        def proof() -> list[bytes]:
            return merkle.consistency_proof(old, new, self.nodes.read)

        if not merkle.consistent(old, new, self.nodes.root(old), self.nodes.root(new), found := proof()):
            self._rebuild_tree()
            found = proof()
        return [step.hex() for step in found]

    def inclusion_proof(self, index: int, size: int) -> list[str]:
        def proof() -> list[bytes]:
            return merkle.inclusion_proof(index, size, self.nodes.read)

        leaf = merkle.leaf_hash(bytes.fromhex(self.entry(index).hash))
        if not merkle.included(leaf, index, size, found := proof(), self.nodes.root(size)):
            self._rebuild_tree()
            found = proof()
        return [step.hex() for step in found]

    def _rebuild_tree(self) -> None:
        """From the thoughts: `merkle.bin` is damaged. Reads the whole chain."""
        _log.warning("chain %s: the tree in merkle.bin is damaged and is rebuilt", self.folder.name)
        with self._flushing, self._lock:
            self.nodes.close()
            self._nodes = Nodes(self.folder / "merkle.bin", 0, frozen=self._frozen)
            for start in range(0, self.size, REBUILD_AT_ONCE):
                entries = self.entries(range(start, min(self.size, start + REBUILD_AT_ONCE)))
                self._nodes.append([bytes.fromhex(entry.hash) for entry in entries])

    # -- appending

    @overload
    def append(self, draft: Draft) -> Stored: ...

    @overload
    def append(self, draft: Draft, *, only_first: bool) -> Stored | None: ...

    def append(self, draft: Draft, *, only_first: bool = False) -> Stored | None:
        """Append durably; a repetition of an earlier request returns what that one wrote.

        With `only_first`: None if the chain already has a thought, flushed or pending.
        """
        self._thaw()
        signer = admission.signer_of(self, draft)
        # Before the lock is taken: asking for randomness lets other threads run.
        fresh = self._environment.ids.sortable(), self._environment.noise(SALT_BYTES)
        with self._lock:
            ticket = self.repeated(draft.request)
            if ticket is None and only_first and self._next_index:
                return None
            ticket = ticket or self._enqueue(draft, signer, fresh)
            if isinstance(ticket, ThoughtEntry):
                return Stored(ticket, None)
            is_writer, self._writing = not self._writing, True
        if is_writer or ticket.wait():
            self._flush()
        if ticket.error is not None:
            raise ticket.error
        return Stored(ticket.entry, ticket.flushed)

    def repeated(self, request: Request) -> ThoughtEntry | Ticket | None:
        """The thought of an earlier call with the same key or delivery, stored or still pending."""
        if request.key is None and not (request.delivery and request.resent):
            return None
        oldest = micros(self._environment.clock.now()) - int(self._environment.remember_hours * 3_600_000_000)
        return idempotency.pending(self, self._pending, request) or idempotency.stored(self, request, oldest)

    def _enqueue(self, draft: Draft, signer: Key | None, fresh: tuple[str, bytes]) -> Ticket:
        """Give the thought its place; from here on it is written, or everything after it fails with it."""
        admission.check(self, draft, signer, self._next_index, self._pending)
        record = draft.record()
        record["id"], noise = fresh
        record["index"] = self._next_index
        record["prev_hash"] = self._next_head
        record["timestamp"] = rfc3339(self._environment.clock.now())
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

    def _flush(self) -> None:
        """One write and one flush for everything that waits; then the next in line does the same for the rest."""
        with self._flushing:
            with self._lock:
                batch = list(self._pending)
            try:
                offsets = self._log.append(self.size, [ticket.data for ticket in batch]) if batch else []
            except Exception as error:  # noqa: BLE001 - every waiting caller must get it
                self._fail_all(error)
            else:
                if batch:
                    self._publish(batch, offsets)
            finally:
                with self._lock:
                    self._writing = bool(self._pending)
                    if self._pending:
                        self._pending[0].call_up()

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

    def _grow(self, rows: list[tuple[ThoughtEntry, int, int]]) -> Flushed:
        """The thoughts are durable: if a derived file fails, the next opening rebuilds it from them."""
        self._files.append(self.columns.add(rows))
        root = self.nodes.append([bytes.fromhex(entry.hash) for entry, _, _ in rows])
        try:
            self._mark.set(self.size)
        except OSError as error:
            self.problem = Damaged(f"the index could not be written: {error}", finding="index_damaged")
        return Flushed(rows[-1][0], root)

    def _fail_all(self, error: Exception) -> None:
        """Fail every pending append: each is chained to one that could not be written. The chain is as before."""
        with self._lock:
            if isinstance(error, Damaged):
                self.problem = self.problem or error.with_traceback(None)
            failed, self._pending = self._pending, []
            self._next_index, self._next_head = self.size, self._head
            for ticket in failed:
                ticket.finish(error)

    # -- registry

    def record_change(self, op: Op, agent_id: str, details: dict[str, Any], by: str | None) -> RegistryChange:
        """One more entry of the registry's history, durable; thoughts appended from now on are bound to it."""
        self._thaw()
        with self._lock:
            if self.problem is not None:
                raise self.refusal()
            change = RegistryChange(
                seq=len(self.registry.hashes),
                op=op,
                agent_id=agent_id,
                details=details,
                at=rfc3339(self._environment.clock.now()),
                by=by,
                thoughts=self.size,
                prev_hash=self.registry.head or self.origin,
            )
            stored = self.history.append(change)
            self.registry.take(stored)
            self._since_checkpoint += 1  # the next one is signed for the registry too
            return stored

    # -- forgetting

    def forgetting_record(self, index: int) -> ThoughtEntry | None:
        """The newest thought that says that this one was forgotten."""
        for place in self.columns.flagged(FORGETS, self._forgets_seen):
            self._forgets[self.entry(place).record["forgets"]] = place
            self._forgets_seen = place + 1
        recorded = self._forgets.get(index)
        return None if recorded is None else self.entry(recorded)

    def keyed_hash(self, arguments: str) -> str:
        """A hash of arguments that only the holder of the host's key can compare with a guess."""
        return hmac.new(self._environment.key.seed(), FORGOTTEN_ARGUMENTS + arguments.encode(), "sha256").hexdigest()

    def erase(self, index: int, record: Json) -> None:
        """Replace an entry by this record alone, in its segment and in the index; hashes and proofs stay."""
        self._thaw()
        with self._flushing:
            self._flush()  # nothing is written while this lock is held, so nothing waits to be written below
            with self._lock:
                if self.problem is not None:
                    raise self.refusal()
                self._erase(index, record)

    def _erase(self, index: int, record: Json) -> None:
        """Rewrite one segment, and the part of the index that describes it."""
        offset, size = int(self.columns["offset"][index]), int(self.columns["size"][index])
        [(_, _, _, digest)] = self._log.read_many([(index, offset, size)])
        bare = self._log.segment_of(index).adapter.encode((canonical_bytes(record), b"", b"", digest))
        try:
            self._log.rewrite(self._log.segment_of(index), offset, size, bare)
            end = next((one.first for one in self._log.segments if one.first > index), self.size)
            self.columns.forget(ThoughtEntry(record, None, digest.decode()), len(bare), end)
            self._files.rewrite(self.columns, index, end)
        except OSError as error:
            # The announcement is still there: the next opening rebuilds the index and finishes.
            self.problem = Damaged(f"forgetting was interrupted: {error}", finding="index_damaged")
            raise translated(error) from error

    def convert(self, to: str) -> None:
        """Rewrite the segments for the other adapter. Calls to the chain wait meanwhile."""
        self._thaw()
        with self._flushing, self._lock:
            self._flush()
            self.close()
            convert(self.folder, to)
            self._open()

    # -- checkpoints and the end

    @property
    def needs_checkpoint(self) -> bool:
        return self.problem is None and self._since_checkpoint > 0 and not self._frozen

    def checkpoint_soon(self) -> None:
        """Write a checkpoint if one is due. The thoughts are durable without it, so no call fails with it."""
        try:
            if self.needs_checkpoint:
                self.write_checkpoint()
        except (OSError, Damaged) as error:
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
        """Write what is derived and close the files. A caller that still holds the chain may go on: they reopen."""
        with self._flushing, self._lock:
            self.checkpoint_soon()
            if self._nodes is not None:
                self._nodes.close()
            self._mark.close()
            self._log.close()
            # What a caller reads from now on may have been changed meanwhile: `head` hashes it again.
            self._trusted = Rehash(self.size)
