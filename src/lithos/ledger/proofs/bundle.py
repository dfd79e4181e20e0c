"""A chain, or one thought's proof, in one file that a stranger checks with `verify_bundle.py` alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
from typing_extensions import TypedDict

from lithos.errors import InvalidInput
from lithos.ledger.chain.chain import Chain
from lithos.ledger.chain.format import ThoughtEntry, open_entry
from lithos.ledger.chain.opening import HEADER
from lithos.ledger.chain.segments import ADAPTERS, Rest, list_segments, read_blocks
from lithos.ledger.proofs.checkpoints import Checkpoint

BUNDLE = 1


class Proof(TypedDict):
    """That a thought is the one at its index in the chain that the checkpoint signs."""

    lithos_proof: int
    chain_key: str
    index: int
    hash: str
    entry: dict[str, Any]
    inclusion: list[str]
    checkpoint: Checkpoint


def prove(chain: Chain, index: int) -> Proof:
    if not 0 <= index < chain.size:
        raise InvalidInput(f"there is no thought {index}; the chain has {chain.size}", hint="Indexes begin at 0.")
    checkpoint = chain.checkpoint()
    entry = chain.entry(index)
    line = orjson.loads(next(_lines(chain.folder, index, index + 1)))
    return {
        "lithos_proof": BUNDLE,
        "chain_key": chain.key,
        "index": index,
        "hash": entry.hash,
        "entry": line,
        "inclusion": chain.inclusion_proof(index, checkpoint["size"]),
        "checkpoint": checkpoint,
    }


def entry_lines(chain: Chain, indexes: Sequence[int]) -> list[str]:
    """These entries as the JSONL adapter writes them, each with what its hash is made of."""
    if not indexes:
        return []
    wanted, first = set(indexes), min(indexes)
    lines = enumerate(_lines(chain.folder, first, max(indexes) + 1), first)
    return [line.decode().rstrip("\n") for index, line in lines if index in wanted]


def opened_line(text: str) -> ThoughtEntry:
    """One of `entry_lines`, checked by its hash; Damaged if it is not what was written."""
    return open_entry(ADAPTERS["jsonl"].decode(f"{text}\n".encode()))


def bundle_lines(folder: Path, checkpoint: Checkpoint) -> Iterator[bytes]:
    """Header, every entry as the JSONL adapter writes it, the registry's history, the checkpoint."""
    header = orjson.loads((folder / HEADER).read_bytes())
    yield orjson.dumps({"lithos_bundle": BUNDLE, "header": header}) + b"\n"
    yield from _lines(folder, 0, checkpoint["size"])
    registry = folder / "registry.jsonl"
    if registry.exists():
        yield from registry.read_bytes().splitlines(keepends=True)
    yield orjson.dumps({"checkpoint": checkpoint}) + b"\n"


def _lines(folder: Path, first: int, end: int) -> Iterator[bytes]:
    encode = ADAPTERS["jsonl"].encode
    segments = list_segments(folder)
    for segment, following in zip(segments, [*segments[1:], None], strict=True):
        index = segment.first
        if index >= end or (following is not None and following.first <= first):
            continue
        for block in read_blocks(segment):
            if isinstance(block, Rest):
                return
            for data in block.entries:
                if first <= index < end:
                    yield encode(segment.adapter.decode(data))
                index += 1
