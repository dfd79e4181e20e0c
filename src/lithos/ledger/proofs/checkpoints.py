"""Signed statements "this chain has this many thoughts and this root", and the file that keeps some of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import orjson
from typing_extensions import TypedDict

from lithos.errors import InvalidInput
from lithos.ledger.chain.format import canonical_bytes
from lithos.ledger.chain.log import append_whole
from lithos.ledger.registry.keys import SigningKey, verify_signature
from lithos.storage import flush_path, make_folder, open_file, read_file

CHECKPOINT = b"lithos.checkpoint.v1\n"
FIELDS = ("chain_key", "head_hash", "origin", "public_key", "registry", "root", "signature", "size", "timestamp")
LONGEST_LINE = 4096


class Checkpoint(TypedDict):
    chain_key: str
    head_hash: str | None  # of the last of `size` thoughts
    origin: str  # what the first thought's prev_hash is
    public_key: str
    registry: str | None  # hash of the last entry of the registry's history
    root: str
    signature: str
    size: int
    timestamp: str


def sign_checkpoint(
    key: SigningKey,
    *,
    chain_key: str,
    origin: str,
    size: int,
    root: bytes,
    head_hash: str | None,
    registry: str | None,
    timestamp: str,
) -> Checkpoint:
    unsigned: dict[str, Any] = {
        "chain_key": chain_key,
        "head_hash": head_hash,
        "origin": origin,
        "public_key": key.public.hex(),
        "registry": registry,
        "root": root.hex(),
        "size": size,
        "timestamp": timestamp,
    }
    signature = key.sign(CHECKPOINT + canonical_bytes(unsigned)).hex()
    return cast(Checkpoint, {**unsigned, "signature": signature})


def signature_holds(checkpoint: Checkpoint) -> bool:
    unsigned = {name: value for name, value in checkpoint.items() if name != "signature"}
    try:
        public, signature = bytes.fromhex(checkpoint["public_key"]), bytes.fromhex(checkpoint["signature"])
    except ValueError:
        return False
    if signature.hex() != checkpoint["signature"]:
        return False  # one spelling only: the signature is the one field that it does not cover itself
    return verify_signature(public, signature, CHECKPOINT + canonical_bytes(unsigned))


def parse_checkpoint(value: Any) -> Checkpoint:
    """Parse a checkpoint that a caller hands back; checks its fields and its signature."""
    if not isinstance(value, dict) or set(value) != set(FIELDS):
        raise InvalidInput(
            "this is not a checkpoint", hint=f"Hand back the whole object that an answer carried: {', '.join(FIELDS)}."
        )
    texts = ("chain_key", "origin", "public_key", "root", "signature", "timestamp")
    if not all(isinstance(value[name], str) for name in texts) or type(value["size"]) is not int or value["size"] < 0:
        raise InvalidInput("the checkpoint's fields have the wrong types", hint="Hand it back as it was received.")
    if not all(value[name] is None or isinstance(value[name], str) for name in ("head_hash", "registry")):
        raise InvalidInput("head_hash and registry are texts or null", hint="Hand it back as it was received.")
    checkpoint = cast(Checkpoint, value)
    if not signature_holds(checkpoint):
        raise InvalidInput("the checkpoint's signature is wrong", hint="Hand it back as it was received.")
    return checkpoint


class CheckpointFile:
    """One line per checkpoint, oldest first."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> Iterator[tuple[int, Checkpoint | None]]:
        """Line number and checkpoint; None for a line that is none."""
        try:
            data = read_file(self.path)
        except FileNotFoundError:
            return
        for number, line in enumerate(data.splitlines(keepends=True), 1):
            yield number, _read_line(line[:-1]) if line.endswith(b"\n") else None

    def cut_torn_tail(self) -> None:
        """Drop an unfinished last line: it was never acknowledged, and the next checkpoint says the same."""
        try:
            data = read_file(self.path)
        except FileNotFoundError:
            return
        if data and not data.endswith(b"\n"):
            os.truncate(self.path, data.rfind(b"\n") + 1)

    def last(self, origin: str) -> Checkpoint | None:
        """The newest that is whole, rightly signed and of this chain."""
        for line in reversed(self._tail()):
            found = _read_line(line)
            if found is not None and found["origin"] == origin:
                return found
        return None

    def append(self, checkpoint: Checkpoint) -> None:
        make_folder(self.path.parent)
        fresh = not self.path.exists()
        descriptor = open_file(self.path, os.O_WRONLY | os.O_CREAT)
        try:
            append_whole(descriptor, canonical_bytes(dict(checkpoint)) + b"\n")
        finally:
            os.close(descriptor)
        if fresh:
            flush_path(self.path.parent)

    def _tail(self) -> list[bytes]:
        try:
            with os.fdopen(open_file(self.path), "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - 16 * LONGEST_LINE))
                return file.read().split(b"\n")[:-1]
        except FileNotFoundError:
            return []


def _read_line(line: bytes) -> Checkpoint | None:
    try:
        value = orjson.loads(line)
        if not isinstance(value, dict) or canonical_bytes(value) != line:
            return None
        return parse_checkpoint(value)
    except (orjson.JSONDecodeError, InvalidInput):
        return None
