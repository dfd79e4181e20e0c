"""Chains for tests, made through the real code on real files, and a verifier that shares nothing with that code.

`independent_check` was written from docs/ledger-format.md alone: only the standard library, its own canonical JSON,
its own tree. It returns the number of thoughts and the root, or raises `NotRight`.
"""

from __future__ import annotations

import hashlib
import json
import random
import struct
from pathlib import Path
from typing import Any

from lithos.core.call import Call
from lithos.core.clock import FakeClock
from lithos.core.ids import SeededIds
from lithos.ledger import Appended, Draft, Environment, Ledger, Verification, host_key
from lithos.ledger.registry.keys import signing_key
from lithos.storage import Faults, NoFaults

CALL = Call(tool="test")
DERIVED = ("rows.bin", "terms.bin", "names.jsonl", "index.crc", "merkle.bin", "acknowledged.bin")


def open_ledger(folder: Path, *, seed: int = 1, faults: Faults | None = None, **options: Any) -> Ledger:
    """Everything that could differ from run to run comes from the seed."""
    noise = random.Random(seed)
    world = Environment(
        FakeClock(),
        SeededIds(seed),
        signing_key(b"\x07" * 32) if seed else host_key(folder / "keys"),
        folder / "checkpoints",
        faults or NoFaults(),
        noise=noise.randbytes,
        **{name: options.pop(name) for name in ("segment_bytes",) if name in options},
    )
    return Ledger(folder / "ledger", world, storage_root=folder, **options)


def append(
    ledger: Ledger, call: Call = CALL, *, chain_key: str | None = None, last_checkpoint: Any = None, **fields: Any
) -> Appended:
    """The fields are those of a draft, as `mentisdb_append` has them."""
    return ledger.append(call, Draft(**fields), chain_key=chain_key, last_checkpoint=last_checkpoint)


def fill(ledger: Ledger, count: int, chain_key: str | None = None) -> None:
    kinds = ("Decision", "Mistake", "FactLearned", "Plan")
    for number in range(count):
        append(
            ledger,
            chain_key=chain_key,
            thought_type=kinds[number % 4],
            content=f"Thought number {number}: Ünïcode, “quotes” and a\nsecond line 🙂",
            agent_id=f"agent-{number % 3}",
            agent_name="Planner" if number % 2 else None,
            importance=(0.0, 1.0, 0.95, 1e-05, 0.5)[number % 5],
            confidence=None if number % 3 else 0.25,
            tags=["ops", f"t{number % 4}"],
            concepts=["idea"] if number % 2 else None,
            refs=[number - 1] if number % 5 == 4 else None,
            relations=[{"kind": "Supports", "target": number - 2}] if number % 7 == 6 else None,
            session_id="s" if number % 4 == 0 else None,
        )


def verify(ledger_folder: Path, **options: Any) -> list[str]:
    """Codes of all findings of all chains."""
    found: list[str] = []
    for chain in sorted((ledger_folder / "ledger").iterdir()):
        report = Verification(chain, ledger_folder / "checkpoints", **options).run()
        found += [finding.code for finding in report.findings]
    return found


class NotRight(Exception):
    pass


def need(condition: bool, message: str) -> None:
    if not condition:
        raise NotRight(message)


def canonical(value: Any) -> bytes:
    """RFC 8785, for objects with ASCII keys and numbers from 0 to 1 or whole."""
    if isinstance(value, dict):
        parts = [json.dumps(key).encode() + b":" + canonical(value[key]) for key in sorted(value)]
        return b"{" + b",".join(parts) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(canonical(item) for item in value) + b"]"
    if isinstance(value, float):
        return ecmascript(value).encode()
    return json.dumps(value, ensure_ascii=False).encode()


def ecmascript(value: float) -> str:
    if value == int(value):
        return str(int(value))
    text = repr(value)  # Python and ECMAScript choose the same shortest digits, also where two are equally near
    if "e-" in text:
        mantissa, exponent = text.split("e-")
        power = int(exponent)
        figures = mantissa.replace(".", "")
        return "0." + "0" * (power - 1) + figures if power < 7 else f"{mantissa}e-{power}"
    return text


def sha(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def independent_check(folder: Path) -> tuple[int, str]:
    header_bytes = (folder / "chain.json").read_bytes()
    header = json.loads(header_bytes)
    need(canonical(header) + b"\n" == header_bytes, "header")
    head = sha(b"lithos.chain.v1\n" + canonical(header)).hex()
    leaves: list[bytes] = []
    missing: dict[int, str | None] = {}
    forgets: dict[int, str | None] = {}
    for record_bytes, body_bytes, salt, digest in entries(folder):
        index = len(leaves)
        record = json.loads(record_bytes)
        need(canonical(record) == record_bytes, f"{index}: record not canonical")
        need(record["index"] == index and type(record["index"]) is int, f"{index}: index")
        need(record["prev_hash"] == head, f"{index}: chain")
        redacted = body_bytes is None and "commitment" not in record
        need(redacted or sha(b"lithos.thought.v1\n" + record_bytes).hex() == digest, f"{index}: hash")
        if body_bytes is None:
            missing[index] = sha(b"lithos.redacted.v1\n" + record_bytes).hex() if redacted else None
        else:
            need(canonical(json.loads(body_bytes)) == body_bytes, f"{index}: body not canonical")
            sealed = sha(b"lithos.content.v1\n" + str(salt).encode() + b"\n" + body_bytes).hex()
            need(sealed == record["commitment"], f"{index}: commitment")
        if "forgets" in record:
            forgets[record["forgets"]] = record.get("redacted")
        head = digest
        leaves.append(sha(b"\0" + bytes.fromhex(digest)))
    need(missing == forgets, "a content is missing or remains")
    return len(leaves), merkle_root(leaves).hex()


def merkle_root(hashed: list[bytes]) -> bytes:
    if not hashed:
        return sha(b"")
    if len(hashed) == 1:
        return hashed[0]
    split = 1
    while split * 2 < len(hashed):
        split *= 2
    return sha(b"\1" + merkle_root(hashed[:split]) + merkle_root(hashed[split:]))


def entries(folder: Path) -> list[tuple[bytes, bytes | None, str | None, str]]:
    found: list[tuple[bytes, bytes | None, str | None, str]] = []
    for path in sorted(folder.glob("[0-9]*")):
        need(int(path.stem) == len(found), f"{path.name} begins at the wrong index")
        data = path.read_bytes()
        found += from_lines(data) if path.suffix == ".jsonl" else from_frames(data)
    return found


def from_lines(data: bytes) -> list[tuple[bytes, bytes | None, str | None, str]]:
    need(not data or data.endswith(b"\n"), "torn")
    found = []
    for line in data.split(b"\n")[:-1]:
        try:
            value = json.loads(line)
        except ValueError:
            raise NotRight("not JSON") from None
        need(isinstance(value, dict) and list(value) == ["body", "record", "salt", "hash"], "line")
        body, salt = value["body"], value["salt"]
        need((body is None) == (salt is None), "salt")
        record, raw = canonical(value["record"]), None if body is None else canonical(body)
        spelled = b'{"body":%s,"record":%s,"salt":%s,"hash":%s}' % (
            raw or b"null",
            record,
            json.dumps(salt).encode(),
            json.dumps(value["hash"]).encode(),
        )
        need(spelled == line, "spelling of the line")
        found.append((record, raw, salt, value["hash"]))
    return found


def from_frames(data: bytes) -> list[tuple[bytes, bytes | None, str | None, str]]:
    need(data.startswith(b"LITHOS1\n"), "magic")
    found: list[tuple[bytes, bytes | None, str | None, str]] = []
    place = 8
    while place < len(data):
        need(place + 56 <= len(data), "torn")
        rest, body_size, digest, salt = struct.unpack_from(">II32s16s", data, place)
        end = place + 4 + rest
        need(end <= len(data) and rest >= 52 + body_size, "lengths")
        record = data[place + 56 : end - body_size]
        body = data[end - body_size : end] if body_size else None
        need(body is not None or salt == bytes(16), "salt")
        found.append((record, body, salt.hex() if body is not None else None, digest.hex()))
        place = end
    return found
