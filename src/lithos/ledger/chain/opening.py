"""Opening a chain: trust what the last checkpoint vouches for, read what came after it, cut only a torn write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from lithos.core.canonical import canonical_json
from lithos.errors import Damaged
from lithos.ledger.chain import columns as columns_module
from lithos.ledger.chain.columns import ColumnFiles, Columns
from lithos.ledger.chain.format import Json, ThoughtEntry, open_entry, origin_hash
from lithos.ledger.chain.log import Log
from lithos.ledger.chain.segments import Block, Rest, check_magic, list_segments, read_blocks
from lithos.ledger.proofs import merkle
from lithos.ledger.proofs.checkpoints import Checkpoint, CheckpointFile
from lithos.ledger.proofs.merkle_file import Nodes
from lithos.storage import marked, read_file

HEADER = "chain.json"
ACKNOWLEDGED = "acknowledged.bin"
HEADER_FIELDS = ("chain_key", "created_at", "nonce", "version")


@dataclass(frozen=True, slots=True)
class Header:
    chain_key: str
    created_at: str
    nonce: str
    version: int
    origin: str


def read_header(folder: Path) -> Header:
    try:
        data = read_file(folder / HEADER)
        value = orjson.loads(data)
        if canonical_json(value) + b"\n" != data or tuple(value) != HEADER_FIELDS:
            raise ValueError("not canonical")
        return Header(**value, origin=origin_hash(value))
    except (OSError, ValueError, TypeError, Damaged) as error:
        raise Damaged(
            f"{folder.name}/{HEADER} cannot be read: {error}",
            hint="Restore it from a backup; `lithos ledger verify` shows what else is wrong.",
            finding="header_damaged",
        ) from None


def header_bytes(fields: Json) -> bytes:
    return canonical_json(fields) + b"\n"


@dataclass(slots=True)
class Tail:
    """The thoughts read after the trusted part. Nothing derived is written before all of it turned out well:

    its files are evidence of what was acknowledged, and damage must not shorten them.
    """

    columns: Columns
    head: str
    trusted: int
    files: ColumnFiles
    grown: list[tuple[bytes, bytes, bytes]] = field(default_factory=list)
    hashes: list[bytes] = field(default_factory=list)
    problem: Damaged | None = None

    def settle(self, folder: Path, *, frozen: bool) -> Nodes:
        """Bring the derived files up to date; `frozen`: in memory only."""
        if not frozen:
            self.files.open()
            for part in self.grown:
                self.files.append(part)
        nodes = Nodes(folder / "merkle.bin", self.trusted, frozen=frozen)
        nodes.append(self.hashes)
        self.grown, self.hashes = [], []
        return nodes


class Opening:
    def __init__(self, folder: Path, origin: str, checkpoints: CheckpointFile, log: Log, *, trust: bool = True) -> None:
        """Without `trust` everything is read from the segments, as if there were no derived files."""
        self._folder = folder
        self._origin = origin
        self._log = log
        self._trust = trust
        self._checkpoint = checkpoints.last(origin)
        self._acknowledged = max(marked(folder / ACKNOWLEDGED), self._checkpoint["size"] if self._checkpoint else 0)

    def run(self) -> Tail:
        tail = self._trusted_part()
        try:
            for segment in self._log.segments:
                check_magic(segment)
            self._read_rest(tail)
        except Damaged as error:
            tail.problem = error.with_traceback(None)  # its frames would keep a chain that no caller holds
        if tail.problem is None and tail.trusted == 0:
            tail.problem = self._against_checkpoint(tail)
        return tail

    def _trusted_part(self) -> Tail:
        """Load the derived files as far as the last checkpoint covers them; nothing, if they contradict it."""
        checkpoint = self._checkpoint
        if self._trust and checkpoint is not None and checkpoint["size"] and self._root_holds(checkpoint):
            columns = columns_module.load(self._folder, checkpoint["size"])
            if columns is not None and self._head_holds(columns, checkpoint["size"]):
                head = checkpoint["head_hash"] or self._origin
                return Tail(columns, head, columns.count, ColumnFiles(self._folder, columns))
        empty = Columns()
        return Tail(empty, self._origin, 0, ColumnFiles(self._folder, empty))

    def _root_holds(self, checkpoint: Checkpoint) -> bool:
        root = Nodes.peek(self._folder / "merkle.bin", checkpoint["size"])
        return root is not None and root.hex() == checkpoint["root"]

    def _head_holds(self, columns: Columns, size: int) -> bool:
        """The last thought that the checkpoint covers is where the rows say, and is the one it names."""
        offset, length = int(columns["offset"][size - 1]), int(columns["size"][size - 1])
        try:
            entry = open_entry(self._log.read_many([(size - 1, offset, length)])[0])
        except Damaged:
            return False
        return self._checkpoint is not None and entry.hash == self._checkpoint["head_hash"]

    def _read_rest(self, tail: Tail) -> None:
        for block in self._blocks(tail.columns):
            if isinstance(block, Rest):
                self._end(tail, block)
            else:
                _take(tail, block)
        count = tail.columns.count
        if count < self._acknowledged:
            raise Damaged(
                f"{self._acknowledged} thoughts were acknowledged, {count} are there",
                hint="The end of the chain is missing: restore it from a backup.",
                finding="tail_missing",
                index=count,
            )

    def _blocks(self, columns: Columns) -> Iterator[Block | Rest]:
        count = columns.count
        start = 0
        if count:
            start = int(columns["offset"][count - 1]) + int(columns["size"][count - 1])
        for segment in list_segments(self._folder):
            if count and segment.first < self._log.segment_of(count - 1).first:
                continue
            yield from read_blocks(segment, start)
            start = 0

    def _end(self, tail: Tail, rest: Rest) -> None:
        """A torn write is cut; anything that was acknowledged, or does not look torn, is damage."""
        count = tail.columns.count
        last = rest.segment.path == self._log.segments[-1].path
        if not last or not rest.looks_torn or count < self._acknowledged:
            raise Damaged(
                f"thought {count} is damaged in {rest.segment.path.name} at byte {rest.offset}",
                hint="It was acknowledged once, so it is not cut away: restore the file from a backup.",
                finding="malformed",
                index=count,
            )
        self._log.cut(rest.segment, rest.offset)

    def _against_checkpoint(self, tail: Tail) -> Damaged | None:
        """Everything was read from the segments: is it still what the last checkpoint signed?"""
        checkpoint = self._checkpoint
        if checkpoint is None or not checkpoint["size"]:
            return None
        growing = merkle.MerkleTree()
        growing.extend([merkle.leaf_hash(digest) for digest in tail.hashes[: checkpoint["size"]]])
        return None if growing.root().hex() == checkpoint["root"] else fork(checkpoint)


def fork(checkpoint: Checkpoint) -> Damaged:
    return Damaged(
        f"the chain is not the one whose first {checkpoint['size']} thoughts were signed",
        hint="Thoughts were rewritten. Restore the chain from a backup.",
        finding="fork",
        size=checkpoint["size"],
    )


def _take(tail: Tail, block: Block) -> None:
    """Check each entry and its link to the one before."""
    taken: list[tuple[ThoughtEntry, int, int]] = []
    place, index, head = block.offset, tail.columns.count, tail.head
    problem: Damaged | None = None
    for data in block.entries:
        try:
            entry = open_entry(block.segment.adapter.decode(data))
            check_link(entry, index, head)
        except Damaged as error:
            error.details.setdefault("index", index)
            problem = error
            break
        taken.append((entry, place, len(data)))
        place, index, head = place + len(data), index + 1, entry.hash
    tail.grown.append(tail.columns.add(taken))
    tail.hashes += [bytes.fromhex(entry.hash) for entry, _, _ in taken]
    tail.head = head
    if problem is not None:
        raise problem


def check_link(entry: ThoughtEntry, index: int, head: str) -> None:
    if entry.record["index"] != index:
        raise Damaged(
            f"thought {index} is expected, {entry.record['index']} is there", finding="wrong_index", index=index
        )
    if entry.record["prev_hash"] != head:
        raise Damaged(f"thought {index} does not follow the one before it", finding="chain_broken", index=index)
