"""Checking a chain from its bytes alone. Reads only: it repairs, cuts and writes nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lithos.errors import Damaged
from lithos.ledger import merkle
from lithos.ledger.checkpoints import Checkpoint, CheckpointFile
from lithos.ledger.columns import FILES, ROW, Columns
from lithos.ledger.format import CONTENT, THOUGHT, Entry, Json, RawEntry, open_entry, parse_body, parse_record
from lithos.ledger.history import History
from lithos.ledger.keys import signed_bytes, verify_signature
from lithos.ledger.opening import check_link, read_header
from lithos.ledger.registry import Registry
from lithos.ledger.segments import Block, Rest, list_segments, read_blocks

# Exit codes of `lithos ledger verify`; the first finding decides. 1 and 2 stay the shell's and the CLI's own.
EXIT_CODES = {
    "header_damaged": 10,
    "segment_missing": 11,
    "malformed": 12,
    "not_canonical": 13,
    "hash_mismatch": 14,
    "commitment_mismatch": 15,
    "wrong_index": 16,
    "chain_broken": 17,
    "content_missing": 18,
    "content_remains": 19,
    "tail_missing": 20,
    "fork": 21,
    "checkpoint_damaged": 22,
    "registry_damaged": 23,
    "signature_wrong": 24,
    "index_damaged": 25,
    "torn_tail": 26,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong and where: the index of a thought, or a file and a place in it."""

    code: str
    message: str
    index: int | None = None
    file: str | None = None
    place: int | None = None


@dataclass(slots=True)
class Report:
    chain_key: str = ""
    thoughts: int = 0
    root: str = ""
    head_hash: str | None = None
    signatures: int = 0
    forgotten: int = 0
    bytes: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.findings

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.findings[0].code] if self.findings else 0


@dataclass(slots=True)
class _Walk:
    """What is carried from thought to thought."""

    head: str
    index: int = 0
    missing: set[int] = field(default_factory=set)
    forgets: dict[int, int] = field(default_factory=dict)
    kept: set[int] = field(default_factory=set)
    registry_place: int = -1
    tree: merkle.Growing = field(default_factory=merkle.Growing)
    columns: Columns | None = None
    files: list[list[bytes]] = field(default_factory=lambda: [[], [], []])
    offset: int = 0


class Verification:
    """One run over one chain; `full` adds agents' signatures and the index files to what the hashes cover."""

    def __init__(
        self, folder: Path, checkpoints: Path, *, full: bool = False, against: Checkpoint | None = None
    ) -> None:
        self._folder = folder
        self._checkpoints = CheckpointFile(checkpoints / f"{folder.name}.jsonl")
        self._full = full
        self._against = against
        self.report = Report()

    def run(self) -> Report:
        try:
            header = read_header(self._folder)
            self.report.chain_key = header.chain_key
            self._registry = self._load_registry(header.origin)
            self._run(header.origin)
        except Damaged as error:
            self._found(error)
        return self.report

    def _run(self, origin: str) -> None:
        walk = _Walk(origin, columns=Columns() if self._full else None)
        roots = self._roots_wanted(origin)
        with _NodesFile(self._folder / "merkle.bin") as nodes:
            try:
                for block in self._blocks(walk):
                    self._block(walk, block, roots, nodes)
            finally:
                self._sum_up(walk)
        self._contents(walk)
        self._compare_roots(walk, roots)
        self._compare_nodes(nodes)
        if self._full:
            self._compare_columns(walk)

    def _load_registry(self, origin: str) -> Registry:
        try:
            return Registry(History(self._folder / "registry.jsonl", origin).load())
        except Damaged as error:
            self._add("registry_damaged", error.message, file="registry.jsonl", place=error.details.get("entry"))
            return Registry()

    def _blocks(self, walk: _Walk) -> Iterator[Block]:
        segments = list_segments(self._folder)
        for segment in segments:
            if segment.first != walk.index:
                raise Damaged(
                    f"a segment that begins with thought {walk.index} is missing; {segment.path.name} is there",
                    finding="segment_missing",
                    index=walk.index,
                )
            self.report.bytes += segment.size
            for block in read_blocks(segment):
                if isinstance(block, Rest):
                    self._rest(block, walk, segment is segments[-1])
                else:
                    yield block

    def _rest(self, rest: Rest, walk: _Walk, last: bool) -> None:
        acknowledged = max(_rows(self._folder), self._newest_size())
        if last and rest.looks_torn and walk.index >= acknowledged:
            self._add("torn_tail", "an unfinished write, never acknowledged; opening the chain cuts it", walk.index)
            return
        raise Damaged(
            f"{rest.segment.path.name} holds no whole entry at byte {rest.offset}",
            finding="malformed",
            index=walk.index,
        )

    def _block(self, walk: _Walk, block: Block, roots: dict[int, list[_Wanted]], nodes: _NodesFile) -> None:
        start = walk.index
        hashes = _check_fast(walk, block, self._full and self._each(walk))
        leaves = [merkle.leaf_hash(digest) for digest in hashes]
        place = 0
        for size in sorted(size for size in roots if start < size <= start + len(leaves)):
            nodes.compare(walk.tree.extend(leaves[place : size - start]))
            place = size - start
            for wanted in roots[size]:
                wanted.found = walk.tree.root().hex()
        nodes.compare(walk.tree.extend(leaves[place:]))

    def _each(self, walk: _Walk) -> Callable[[Entry, int, int], None]:
        def look(entry: Entry, offset: int, size: int) -> None:
            self._signature(walk, entry)
            self._column(walk, entry, offset, size)

        return look

    def _column(self, walk: _Walk, entry: Entry, offset: int, size: int) -> None:
        assert walk.columns is not None
        for parts, data in zip(walk.files, walk.columns.add([(entry, offset, size)]), strict=True):
            parts.append(data)

    def _signature(self, walk: _Walk, entry: Entry) -> None:
        record = entry.record
        head = record.get("registry")
        if head is not None:
            place = self._registry.place(head)
            if place is None or place < walk.registry_place:
                self._add("registry_damaged", f"thought {entry.index} is bound to another registry", entry.index)
            else:
                walk.registry_place = place
        if entry.body is None or "signing_key_id" not in record:
            return
        self.report.signatures += 1
        if not self._signed(entry.body, record):
            self._add("signature_wrong", f"the signature of thought {entry.index} does not hold", entry.index)

    def _signed(self, body: Json, record: Json) -> bool:
        key = self._registry.key_at(record["agent_id"], record["signing_key_id"], record.get("registry"))
        signature = bytes.fromhex(body.get("thought_signature", ""))
        if key is None or hashlib.sha256(signature).hexdigest() != record.get("signature_hash"):
            return False
        return verify_signature(key.public, signature, signed_bytes(self.report.chain_key, record, body))

    def _sum_up(self, walk: _Walk) -> None:
        self.report.thoughts = walk.index
        self.report.head_hash = walk.head if walk.index else None
        self.report.root = walk.tree.root().hex()
        self.report.forgotten = len(walk.missing)

    def _contents(self, walk: _Walk) -> None:
        """A content may be missing only where a later thought says that it was forgotten, and then must be."""
        for index in sorted(walk.missing - set(walk.forgets)):
            self._add("content_missing", f"the content of thought {index} is gone, and nothing says why", index)
        for index in sorted(set(walk.forgets) - walk.missing):
            self._add("content_remains", f"thought {index} was forgotten, and its content is still there", index)

    def _roots_wanted(self, origin: str) -> dict[int, list[_Wanted]]:
        wanted: dict[int, list[_Wanted]] = {}
        for number, checkpoint in self._checkpoints.lines():
            if checkpoint is None or checkpoint["origin"] != origin:
                self._add(
                    "checkpoint_damaged",
                    f"line {number} is no checkpoint of this chain",
                    file="checkpoints",
                    place=number,
                )
            elif checkpoint["size"]:
                wanted.setdefault(checkpoint["size"], []).append(_Wanted(checkpoint, "the host's own checkpoint"))
        if self._against is not None:
            if self._against["origin"] != origin:
                self._add("fork", "the checkpoint is of another chain, or this chain was made anew")
            elif self._against["size"]:
                wanted.setdefault(self._against["size"], []).append(_Wanted(self._against, "the checkpoint given"))
        return wanted

    def _compare_roots(self, walk: _Walk, roots: dict[int, list[_Wanted]]) -> None:
        for wanted in (one for size in sorted(roots) for one in roots[size]):
            size = wanted.checkpoint["size"]
            if size > walk.index:
                message = f"{wanted.source} has {size} thoughts, {walk.index} are there"
                self._add("tail_missing", message, walk.index)
            elif wanted.found != wanted.checkpoint["root"]:
                message = f"{wanted.source} of {size} thoughts has another root: they were rewritten"
                self._add("fork", message, size - 1)
        acknowledged = _rows(self._folder)
        if acknowledged > walk.index and not self.report.findings:
            self._add("tail_missing", f"{acknowledged} thoughts were acknowledged, {walk.index} are there", walk.index)

    def _newest_size(self) -> int:
        return max((found["size"] for _, found in self._checkpoints.lines() if found is not None), default=0)

    def _compare_nodes(self, nodes: _NodesFile) -> None:
        if nodes.wrong_at is not None:
            self._add("index_damaged", "merkle.bin differs from the tree", file="merkle.bin", place=nodes.wrong_at)

    def _compare_columns(self, walk: _Walk) -> None:
        for name, parts in zip(FILES, walk.files, strict=True):
            wanted = b"".join(parts)
            found = (self._folder / name).read_bytes() if (self._folder / name).exists() else b""
            if found != wanted:
                self._add(
                    "index_damaged", f"{name} differs from the thoughts", file=name, place=_differs(found, wanted)
                )

    def _found(self, error: Damaged) -> None:
        self._add(error.details.get("finding", "malformed"), error.message, error.details.get("index"))

    def _add(
        self, code: str, message: str, index: int | None = None, *, file: str | None = None, place: int | None = None
    ) -> None:
        self.report.findings.append(Finding(code, message, index, file, place))


@dataclass(slots=True)
class _Wanted:
    checkpoint: Checkpoint
    source: str
    found: str = ""


class _NodesFile:
    """`merkle.bin`, compared with the tree as it grows; what lies beyond the tree is only as yet unread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = 0
        self.wrong_at: int | None = None

    def __enter__(self) -> _NodesFile:
        self._file = self._path.open("rb") if self._path.exists() else None
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            if self.wrong_at is None and self._file.read(1):
                self.wrong_at = self._place
            self._file.close()

    def compare(self, wanted: bytes) -> None:
        if self._file is None or self.wrong_at is not None:
            return
        found = self._file.read(len(wanted))
        if found != wanted:
            self.wrong_at = self._place + _differs(found, wanted)
        self._place += len(wanted)


def _check_fast(walk: _Walk, block: Block, look: Callable[[Entry, int, int], None] | bool) -> list[bytes]:
    """The hot loop: everything that `open_entry` and `check_link` demand, without their calls per thought."""
    sha256, decode = hashlib.sha256, block.segment.adapter.decode
    hashes: list[bytes] = []
    head, index, offset = walk.head, walk.index, block.offset
    try:
        for data in block.entries:
            record_bytes, body_bytes, salt, stored = decode(data)
            record = parse_record(record_bytes)
            digest = sha256(THOUGHT + record_bytes).digest()
            head_now = digest.hex()
            body = None
            if body_bytes:
                body = parse_body(body_bytes)
                right = sha256(CONTENT + salt + b"\n" + body_bytes).hexdigest() == record["commitment"]
            else:
                walk.missing.add(index)
                right = True
            if head_now.encode() != stored or not right or record["prev_hash"] != head or record["index"] != index:
                _explain((record_bytes, body_bytes, salt, stored), index, head)
            if "forgets" in record:
                walk.forgets[record["forgets"]] = index
            if look:
                look(Entry(record, body, head_now), offset, len(data))  # type: ignore[operator]
            hashes.append(digest)
            head, index, offset = head_now, index + 1, offset + len(data)
    except Damaged as error:
        error.details.setdefault("index", index)
        raise
    finally:
        walk.head, walk.index = head, index
    return hashes


def _explain(raw: RawEntry, index: int, head: str) -> None:
    check_link(open_entry(raw), index, head)
    raise Damaged(f"thought {index} is wrong", finding="malformed", index=index)


def _differs(found: bytes, wanted: bytes) -> int:
    """The first byte in which they differ."""
    low, high = 0, min(len(found), len(wanted))
    while low < high:
        middle = (low + high + 1) // 2
        if found[:middle] == wanted[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _rows(folder: Path) -> int:
    try:
        return (folder / "rows.bin").stat().st_size // ROW.itemsize
    except FileNotFoundError:
        return 0
