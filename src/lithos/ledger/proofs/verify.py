"""Verify a chain from its segments, registry and checkpoints. Reads only: it repairs, cuts and writes nothing.

Derived files (index, tree) are not read: the tree is rebuilt from the thoughts and compared with the checkpoints.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from lithos.errors import Damaged
from lithos.ledger.chain.announcement import announced
from lithos.ledger.chain.columns import pack_row
from lithos.ledger.chain.format import Json, ThoughtEntry
from lithos.ledger.chain.opening import ACKNOWLEDGED, read_header
from lithos.ledger.chain.segments import Segment, list_segments
from lithos.ledger.proofs import merkle
from lithos.ledger.proofs.checking import Look, Part, check_segment
from lithos.ledger.proofs.checkpoints import Checkpoint, CheckpointFile
from lithos.ledger.registry.history import History
from lithos.ledger.registry.keys import signed_bytes, verify_signature
from lithos.ledger.registry.registry import Registry
from lithos.storage import marked

# Exit codes of `lithos ledger verify`; the first finding decides. Below 10 are the command line's own.
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
    "torn_tail": 26,
}


@dataclass(frozen=True, slots=True)
class VerifyFinding:
    """One fault and its place: the index of a thought, or a file and a place in it."""

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
    findings: list[VerifyFinding] = field(default_factory=list)
    notices: list[VerifyFinding] = field(default_factory=list)  # what the next opening finishes; no fault

    @property
    def ok(self) -> bool:
        return not self.findings

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.findings[0].code] if self.findings else 0


class Verification:
    """One run over one chain.

    `full` adds agents' signatures to what the hashes cover. `live`: a host may be writing, so only what it has
    acknowledged by now is checked. `workers` processes share the segments.
    """

    def __init__(
        self,
        folder: Path,
        checkpoints: Path,
        *,
        full: bool = False,
        against: Checkpoint | None = None,
        live: bool = False,
        workers: int = 1,
    ) -> None:
        self._folder = folder
        self._checkpoints, self._unread = _read(CheckpointFile(checkpoints / f"{folder.name}.jsonl"))
        self._full = full
        self._against = against
        self._workers = workers
        signed = max((found["size"] for _, found in self._checkpoints if found is not None), default=0)
        self._acknowledged = max(marked(folder / ACKNOWLEDGED), signed)
        self._limit = self._acknowledged if live else None
        self._signatures: set[str | None] = set()
        self.report = Report(self._known_name())

    def _known_name(self) -> str:
        """The name in its checkpoints, for a chain whose header cannot be read; else that of its folder."""
        named = [found["chain_key"] for _, found in self._checkpoints if found is not None]
        return named[-1] if named else self._folder.name

    def run(self) -> Report:
        if self._unread is not None:
            self._add("checkpoint_damaged", self._unread, file="checkpoints")
        try:
            header = read_header(self._folder)
            self.report.chain_key = header.chain_key
            self._registry = self._load_registry(header.origin)
            self._roots = self._roots_wanted(header.origin)
            forgetting = announced(self._folder)
            self._announced = {erasure.index for erasure in forgetting.erasures} if forgetting else set[int]()
            self._run(header.origin)
        except Damaged as error:
            self._add(error.details.get("finding", "malformed"), error.message, error.details.get("index"))
        return self.report

    def _run(self, origin: str) -> None:
        tree = _RootsBySize(self._roots)
        missing: dict[int, str | None] = {}
        forgets: dict[int, list[str | None]] = {}
        head = origin
        for segment, part in self._parts(_SignatureCheck(self) if self._full else None):
            head = self._join(part, head, segment)
            missing |= part.missing
            for index, digests in part.forgets.items():
                forgets.setdefault(index, []).extend(digests)
            tree.grow(part.hashes)
            if part.wrong is not None:
                self._add(*part.wrong)
                break
        self._sum_up(tree, head, len(missing))
        if not self.report.findings or self.report.findings[-1].code == "torn_tail":
            # Only a chain that was read to its end can lack a content or a root.
            self._contents(missing, forgets)
            self._compare_roots(tree)

    def _parts(self, look: Look | None) -> Iterator[tuple[Segment, Part]]:
        segments = list_segments(self._folder)
        self.report.bytes = sum(segment.size for segment in segments)
        with _checked(segments, self._limit, look, self._workers) as parts:
            for segment, part in zip(segments, parts, strict=True):
                yield segment, part
                if part.rest is not None and self._limit is None:
                    self._rest(segment, part, segment is segments[-1])

    def _join(self, part: Part, head: str, segment: Segment) -> str:
        """That a segment begins where the one before it ended."""
        expected = self.report.thoughts
        if segment.first != expected:
            raise Damaged(
                f"a segment that begins with thought {expected} is missing; {segment.path.name} is there",
                finding="segment_missing",
                index=expected,
            )
        if part.joins is not None and part.joins != head:
            raise Damaged(
                f"thought {expected} does not follow the one before it", finding="chain_broken", index=expected
            )
        self.report.thoughts = part.next_index
        return part.head or head

    def _rest(self, segment: Segment, part: Part, last: bool) -> None:
        offset, looks_torn = part.rest or (0, False)
        if last and looks_torn and part.next_index >= self._acknowledged:
            message = "an unfinished write, never acknowledged; opening the chain cuts it"
            self._add("torn_tail", message, part.next_index)
            return
        raise Damaged(
            f"{segment.path.name} holds no whole entry at byte {offset}", finding="malformed", index=part.next_index
        )

    def _load_registry(self, origin: str) -> Registry:
        try:
            return Registry(History(self._folder / "registry.jsonl", origin).load())
        except Damaged as error:
            self._add("registry_damaged", error.message, file="registry.jsonl", place=error.details.get("entry"))
            return Registry()

    def _sum_up(self, tree: _RootsBySize, head: str, forgotten: int) -> None:
        self.report.head_hash = head if self.report.thoughts else None
        self.report.root = tree.root()
        self.report.forgotten = forgotten

    def _contents(self, missing: dict[int, str | None], forgets: dict[int, list[str | None]]) -> None:
        """A content may be missing only where a later thought says that it was forgotten, and then must be.

        A forgetting that a crash interrupted is neither: it was announced first, and the next opening finishes it.
        """
        for index, redacted in sorted(missing.items()):
            if index not in forgets:
                self._add("content_missing", f"the content of thought {index} is gone, and nothing says why", index)
            elif redacted is not None and redacted != forgets[index][-1]:
                if index in self._announced and redacted in forgets[index]:
                    self._notice(index)
                    continue
                message = f"the record of thought {index} is not the one that was left when it was forgotten"
                self._add("hash_mismatch", message, index)
        for index in sorted(forgets.keys() - missing.keys()):
            if index in self._announced:
                self._notice(index)
            else:
                self._add("content_remains", f"thought {index} was forgotten, and its content is still there", index)

    def _notice(self, index: int) -> None:
        message = "its forgetting was interrupted; the next opening of the chain finishes it"
        self.report.notices.append(VerifyFinding("forgetting_unfinished", message, index))

    def _roots_wanted(self, origin: str) -> dict[int, list[_Wanted]]:
        wanted: dict[int, list[_Wanted]] = {}
        for number, checkpoint in self._checkpoints:
            if checkpoint is None or checkpoint["origin"] != origin:
                message = f"line {number} is no checkpoint of this chain"
                self._add("checkpoint_damaged", message, file="checkpoints", place=number)
            else:
                wanted.setdefault(checkpoint["size"], []).append(_Wanted(checkpoint, "the host's own checkpoint"))
        if self._against is not None:
            if self._against["origin"] != origin:
                self._add("fork", "the checkpoint is of another chain, or this chain was recreated")
            wanted.setdefault(self._against["size"], []).append(_Wanted(self._against, "the checkpoint given"))
        return wanted

    def _compare_roots(self, tree: _RootsBySize) -> None:
        count = self.report.thoughts
        for wanted in (one for size in sorted(self._roots) for one in self._roots[size]):
            size, registry = wanted.checkpoint["size"], wanted.checkpoint["registry"]
            if size > count:
                self._add("tail_missing", f"{wanted.source} has {size} thoughts, {count} are there", count)
            elif tree.roots.get(size) != wanted.checkpoint["root"]:
                message = f"{wanted.source} of {size} thoughts has another root: they were rewritten"
                self._add("fork", message, max(size - 1, 0))
            elif registry is not None and self._registry.place(registry) is None:
                message = f"{wanted.source} of {size} thoughts names a registry that is not there"
                self._add("registry_damaged", message, file="registry.jsonl")
        if self._acknowledged > count and not self.report.findings:
            message = f"{self._acknowledged} thoughts were acknowledged, {count} are there"
            self._add("tail_missing", message, count)

    def signature(self, entry: ThoughtEntry, after: int) -> int:
        """Checks one thought's binding to the registry and its signature; returns how far the registry had come."""
        record = entry.record
        place = after
        if "registry" in record:
            found = self._registry.place(record["registry"])
            if found is not None and found >= after:
                place = found
            elif not any(finding.code == "registry_damaged" for finding in self.report.findings):
                message = f"thought {entry.index} is bound to another registry"
                self._add("registry_damaged", message, entry.index, file="registry.jsonl")
        if entry.body is not None and "signing_key_id" in record:
            self.report.signatures += 1
            again = record.get("signature_hash") in self._signatures
            self._signatures.add(record.get("signature_hash"))
            if again or not self._signed(entry.body, record):
                self._add("signature_wrong", f"the signature of thought {entry.index} does not hold", entry.index)
        return place

    def _signed(self, body: Json, record: Json) -> bool:
        key = self._registry.key_at(record["agent_id"], record["signing_key_id"], record.get("registry"))
        signature = bytes.fromhex(body.get("thought_signature", ""))
        if key is None or hashlib.sha256(signature).hexdigest() != record.get("signature_hash"):
            return False
        return verify_signature(key.public, signature, signed_bytes(self.report.chain_key, record, body))

    def _add(
        self, code: str, message: str, index: int | None = None, *, file: str | None = None, place: int | None = None
    ) -> None:
        self.report.findings.append(VerifyFinding(code, message, index, file, place))


def _read(file: CheckpointFile) -> tuple[list[tuple[int, Checkpoint | None]], str | None]:
    """Its lines; or why there are none: a folder or a FIFO is in its place."""
    try:
        return list(file.lines()), None
    except (Damaged, OSError) as error:
        return [], str(error)


@contextmanager
def _checked(segments: list[Segment], limit: int | None, look: Look | None, workers: int) -> Iterator[Iterator[Part]]:
    """Each segment's part, in order; in separate processes where that helps and nothing must be looked at here."""
    if workers < 2 or len(segments) < 2 or look is not None:
        yield (check_segment(segment, limit, look) for segment in segments)
        return
    # A fork server: the caller may have threads, and a forked copy of a lock that one of them holds stays locked.
    with ProcessPoolExecutor(workers, mp_context=get_context("forkserver")) as pool:
        yield pool.map(check_segment, segments, [limit] * len(segments))


class _SignatureCheck:
    """In a full check each thought is checked once more: its signature, and that the index can hold its fields."""

    def __init__(self, verification: Verification) -> None:
        self._verification = verification
        self._after = -1

    def __call__(self, entry: ThoughtEntry, offset: int, size: int) -> None:
        pack_row(entry, offset, size, 0)
        self._after = self._verification.signature(entry, self._after)


@dataclass(frozen=True, slots=True)
class _Wanted:
    checkpoint: Checkpoint
    source: str


class _RootsBySize:
    """The tree as it grows, its root noted at every size that a checkpoint names."""

    def __init__(self, sizes: Iterable[int]) -> None:
        self._tree = merkle.MerkleTree()
        self._sizes = sorted(sizes)
        self.roots = {0: merkle.EMPTY_ROOT.hex()}

    def grow(self, hashes: list[bytes]) -> None:
        leaves = [merkle.leaf_hash(digest) for digest in hashes]
        start, place = self._tree.size, 0
        for size in (size for size in self._sizes if start < size <= start + len(leaves)):
            self._tree.extend(leaves[place : size - start])
            place = size - start
            self.roots[size] = self.root()
        self._tree.extend(leaves[place:])

    def root(self) -> str:
        return self._tree.root().hex()
