#!/usr/bin/env python3
"""Check a Lithos bundle or proof with nothing but Python: `python verify_bundle.py FILE [--against CHECKPOINT]`.

Installed with Lithos as `lithos-verify`. This file imports nothing of Lithos and may be copied anywhere. It follows
docs/ledger-format.md, not the code. Exit code 0: everything holds. 1: something does not; the first wrong thing is
named. 2: a file cannot be read, or the arguments are wrong.
"""

from __future__ import annotations

import hashlib
import json
import sys
from decimal import Decimal
from typing import Any

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)
SIGNED = (
    *("agent_id", "agent_name", "agent_owner", "chain_key", "concepts", "confidence", "content", "importance"),
    *("refs", "relations", "role", "session_id", "signing_key_id", "tags", "thought_type"),
)


FIELDS = {
    "bundle": {"lithos_bundle", "header"},
    "proof": {"lithos_proof", "chain_key", "index", "hash", "entry", "inclusion", "checkpoint"},
    "header": {"chain_key", "created_at", "nonce", "version"},
    "entry": {"body", "record", "salt", "hash"},
    "registry line": {"entry", "hash"},
    "registry entry": {"agent_id", "at", "by", "details", "op", "prev_hash", "seq", "thoughts"},
    "last line": {"checkpoint"},
    "checkpoint": {
        *("chain_key", "head_hash", "origin", "public_key", "registry", "root", "signature", "size", "timestamp")
    },
}


class Wrong(Exception):
    """The first thing that does not hold."""


def exactly(value: Any, kind: str) -> dict[str, Any]:
    """An object with all the fields of its kind and no other: an unchecked field must not pass."""
    if not isinstance(value, dict) or set(value) != FIELDS[kind]:
        raise Wrong(f"{'an' if kind[0] in 'aeiou' else 'a'} {kind} is an object with {', '.join(sorted(FIELDS[kind]))}")
    return value


def known_version(version: Any) -> None:
    if version != 1 or type(version) is not int:
        raise Wrong(f"version {version!r} is unknown to this file")


# -- RFC 8785


def canonical(value: Any) -> str:
    if value is None or value is True or value is False:
        return json.dumps(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    pairs = sorted(value.items(), key=lambda pair: pair[0].encode("utf-16-be"))
    return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{canonical(item)}" for key, item in pairs) + "}"


def _number(value: float) -> str:
    """As ECMAScript prints it: the shortest digits, an exponent only beyond 21 places or below 0.000001."""
    if value == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text, point = "".join(map(str, digits)), len(digits) + int(exponent)
    if len(text) <= point <= 21:
        shown = text + "0" * (point - len(text))
    elif 0 < point <= 21:
        shown = f"{text[:point]}.{text[point:]}"
    elif -6 < point <= 0:
        shown = f"0.{'0' * -point}{text}"
    else:
        shown = f"{text[0]}{'.' if text[1:] else ''}{text[1:]}e{point - 1:+d}"
    return "-" * sign + shown


def parse(text: str) -> Any:
    def no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise Wrong("a key occurs twice in one object")
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=no_repeats)
    except RecursionError:
        raise Wrong("not JSON: nested too deeply") from None
    except ValueError as error:
        raise Wrong(f"not JSON: {error}") from None


# -- hashes and the tree of RFC 6962


def sha256(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def tree_root(leaves: list[bytes]) -> bytes:
    """Level by level; a node without a neighbour moves up as it is, which gives RFC 6962's tree."""
    if not leaves:
        return sha256()
    level = [sha256(b"\x00", leaf) for leaf in leaves]
    while len(level) > 1:
        paired = [sha256(b"\x01", level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
        level = paired + level[len(paired) * 2 :]
    return level[0]


def root_from_proof(leaf: bytes, index: int, size: int, proof: list[bytes]) -> bytes:
    value, last, steps = sha256(b"\x00", leaf), size - 1, list(proof)
    while last > 0:
        if index & 1:
            value = sha256(b"\x01", steps.pop(0), value)
        elif index < last:
            value = sha256(b"\x01", value, steps.pop(0))
        index, last = index >> 1, last >> 1
    if steps:
        raise Wrong("the proof has steps left over")
    return value


# -- Ed25519 (RFC 8032), verification only


def _add(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    e = (a[1] - a[0]) * (b[1] - b[0]) % P
    f = (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    i, j, k, m = f - e, h - g, h + g, f + e
    return i * j % P, m * k % P, j * k % P, i * m % P


def _times(factor: int, point: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    result = (0, 1, 1, 0)
    while factor:
        if factor & 1:
            result = _add(result, point)
        point, factor = _add(point, point), factor >> 1
    return result


def _point(data: bytes) -> tuple[int, int, int, int]:
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * SQRT_M1 % P
    if y >= P or (x * x - square) % P or (x == 0 and sign):
        raise Wrong("not a point of the curve")
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


BASE = _point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def signature_holds(public: bytes, signature: bytes, message: bytes) -> bool:
    if len(public) != 32 or len(signature) != 64:
        return False
    try:
        key, r = _point(public), _point(signature[:32])
    except Wrong:
        return False
    s = int.from_bytes(signature[32:], "little")
    if s >= L:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    left, right = _times(s, BASE), _add(r, _times(challenge, key))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


# -- entries, registry, checkpoints


def entry_hash(line: Any, index: int) -> str:
    """The hash of one entry, after checking all that it says about itself."""
    exactly(line, "entry")
    record, body = line["record"], line["body"]
    if record["index"] != index or type(record["index"]) is not int:
        raise Wrong(f"thought {index}: its index says {record['index']}")
    if (body is None) != (line["salt"] is None):
        raise Wrong(f"thought {index}: content and salt belong together")
    if is_redacted(line):
        return str(line["hash"])
    digest = sha256(b"lithos.thought.v1\n", canonical(record).encode()).hex()
    if digest != line["hash"]:
        raise Wrong(f"thought {index}: the hash does not fit the record")
    if body is not None:
        sealed = sha256(b"lithos.content.v1\n", line["salt"].encode(), b"\n", canonical(body).encode()).hex()
        if sealed != record["commitment"]:
            raise Wrong(f"thought {index}: the content is not the one committed to")
    return digest


def is_redacted(line: dict[str, Any]) -> bool:
    """A forgotten thought without its names: its hash stays, and the thought that forgets it vouches for the rest."""
    return line["body"] is None and "commitment" not in line["record"]


def redacted_hash(record: dict[str, Any]) -> str:
    return sha256(b"lithos.redacted.v1\n", canonical(record).encode()).hex()


def checkpoint_holds(checkpoint: dict[str, Any]) -> bool:
    unsigned = {key: value for key, value in checkpoint.items() if key != "signature"}
    message = b"lithos.checkpoint.v1\n" + canonical(unsigned).encode()
    return signature_holds(bytes.fromhex(checkpoint["public_key"]), bytes.fromhex(checkpoint["signature"]), message)


class Registry:
    """Keys by agent and id, each with the entries between which it holds."""

    def __init__(self, origin: str) -> None:
        self.hashes = [origin]
        self.keys: dict[tuple[str, str], list[list[Any]]] = {}

    def take(self, line: Any) -> None:
        entry, place = exactly(exactly(line, "registry line")["entry"], "registry entry"), len(self.hashes) - 1
        digest = sha256(b"lithos.registry.v1\n", canonical(entry).encode()).hex()
        if digest != line["hash"] or entry["prev_hash"] != self.hashes[-1] or entry["seq"] != place:
            raise Wrong(f"registry entry {place} does not fit its hash or its place")
        self.hashes.append(digest)
        named = self.keys.setdefault((entry["agent_id"], entry["details"].get("key_id", "")), [])
        if entry["op"] in ("key_added", "key_revoked") and named and named[-1][2] is None:
            named[-1][2] = place + 1
        if entry["op"] == "key_added":
            named.append([bytes.fromhex(entry["details"]["public_key"]), place + 1, None])

    def key(self, agent: str, key_id: str, head: str | None) -> bytes | None:
        if head not in self.hashes[1:]:
            return None
        place = self.hashes.index(head)
        for public, since, until in self.keys.get((agent, key_id), []):
            if since <= place and (until is None or place < until):
                return bytes(public)
        return None


def check_signature(line: dict[str, Any], chain_key: str, registry: Registry) -> bool:
    """True if the thought is signed and the signature was checked."""
    record, body = line["record"], line["body"]
    if body is None or "signing_key_id" not in record:
        return False
    signature = bytes.fromhex(body["thought_signature"])
    fields = {name: record.get(name, body.get(name)) for name in SIGNED}
    fields["chain_key"] = chain_key
    for name in ("concepts", "refs", "relations", "tags"):
        fields[name] = fields[name] or []
    public = registry.key(record["agent_id"], record["signing_key_id"], record.get("registry"))
    message = b"lithos.signature.v1\n" + canonical(fields).encode()
    if public is None or not signature_holds(public, signature, message):
        raise Wrong(f"thought {record['index']}: the signature does not hold")
    return True


# -- the two kinds of files


def check_bundle(lines: list[Any], against: dict[str, Any] | None) -> str:
    header, entries, changes, checkpoint = _parts(lines)
    origin = head = sha256(b"lithos.chain.v1\n", canonical(header).encode()).hex()
    registry = Registry(origin)
    for line in changes:
        registry.take(line)
    hashes: list[bytes] = []
    contents, signed = Contents(), 0
    for index, line in enumerate(entries):
        digest = entry_hash(line, index)
        if line["record"]["prev_hash"] != head:
            raise Wrong(f"thought {index} does not follow the one before it")
        head = digest
        hashes.append(bytes.fromhex(digest))
        signed += check_signature(line, header["chain_key"], registry)
        contents.take(index, line)
    contents.check()
    for one in [checkpoint, *([against] if against else [])]:
        _check_checkpoint(one, header["chain_key"], origin, hashes, registry)
    counts = f"{len(entries)} thoughts, {signed} signatures, {len(contents.missing)} forgotten"
    return f"{counts}, root {tree_root(hashes).hex()}"


def _parts(lines: list[Any]) -> tuple[dict[str, Any], list[Any], list[Any], dict[str, Any]]:
    """Header, entries, registry, checkpoint: in this order, and nothing before, between or after them."""
    header = exactly(exactly(lines[0], "bundle")["header"], "header")
    known_version(lines[0]["lithos_bundle"])
    if len(lines) < 2:
        raise Wrong("the bundle has no checkpoint")
    checkpoint = exactly(exactly(lines[-1], "last line")["checkpoint"], "checkpoint")
    middle = lines[1:-1]
    if not all(isinstance(line, dict) for line in middle):
        raise Wrong("a line is not an object")
    count = next((place for place, line in enumerate(middle) if "entry" in line), len(middle))
    return header, middle[:count], middle[count:], checkpoint


class Contents:
    """Which contents are gone, and what later thoughts say of it."""

    def __init__(self) -> None:
        self.missing: dict[int, str | None] = {}  # index → hash of the redacted record, if it is one
        self._forgotten: dict[int, str | None] = {}

    def take(self, index: int, line: dict[str, Any]) -> None:
        record = line["record"]
        if line["body"] is None:
            self.missing[index] = redacted_hash(record) if is_redacted(line) else None
        if "forgets" in record:
            self._forgotten[record["forgets"]] = record.get("redacted")

    def check(self) -> None:
        for index, redacted in self.missing.items():
            if index not in self._forgotten:
                raise Wrong(f"thought {index}: its content is gone, and nothing says why")
            if redacted is not None and redacted != self._forgotten[index]:
                raise Wrong(f"thought {index}: its record is not the one that was left when it was forgotten")


def _check_checkpoint(
    checkpoint: dict[str, Any], chain_key: str, origin: str, hashes: list[bytes], registry: Registry
) -> None:
    size = checkpoint["size"]
    if not checkpoint_holds(checkpoint):
        raise Wrong(f"the checkpoint of {size} thoughts is not rightly signed")
    if checkpoint["chain_key"] != chain_key or checkpoint["origin"] != origin:
        raise Wrong(f"the checkpoint of {size} thoughts is of another chain")
    if size > len(hashes):
        raise Wrong(f"the checkpoint has {size} thoughts, the bundle {len(hashes)}")
    if tree_root(hashes[:size]).hex() != checkpoint["root"]:
        raise Wrong(f"the checkpoint of {size} thoughts has another root: thoughts were rewritten")
    if checkpoint["registry"] is not None and checkpoint["registry"] not in registry.hashes[1:]:
        raise Wrong(f"the checkpoint of {size} thoughts names another registry")


def check_proof(proof: dict[str, Any], against: dict[str, Any] | None) -> str:
    exactly(proof, "proof")
    known_version(proof["lithos_proof"])
    checkpoint, index = exactly(proof["checkpoint"], "checkpoint"), proof["index"]
    digest = entry_hash(proof["entry"], index)
    if proof["hash"] != digest or proof["chain_key"] != checkpoint["chain_key"]:
        raise Wrong("hash and chain_key of the proof are not those of its entry and checkpoint")
    steps = [bytes.fromhex(step) for step in proof["inclusion"]]
    if not checkpoint_holds(checkpoint):
        raise Wrong("the checkpoint is not rightly signed")
    if not 0 <= index < checkpoint["size"]:
        raise Wrong(f"the checkpoint has {checkpoint['size']} thoughts, and none at {index}")
    if root_from_proof(bytes.fromhex(digest), index, checkpoint["size"], steps).hex() != checkpoint["root"]:
        raise Wrong("the proof does not lead to the checkpoint's root")
    if against is not None and against != checkpoint:
        raise Wrong("the proof is for another checkpoint than the one you trust")
    kept = " (forgotten: only its hash is proved)" if is_redacted(proof["entry"]) else ""
    place = f"thought {index} of {checkpoint['chain_key']!r}{kept} is one of {checkpoint['size']}"
    return f"{place}, root {checkpoint['root']}"


def check(text: str, against: Any = None) -> str:
    """Check a bundle or proof; returns a summary, or raises `Wrong`."""
    try:
        trusted = None if against is None else exactly(against, "checkpoint")
        first = text.partition("\n")[0]
        if '"lithos_bundle"' not in first:
            return check_proof(parse(text), trusted)
        return check_bundle([parse(line) for line in text.removesuffix("\n").split("\n")], trusted)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
        raise Wrong(f"not a whole bundle or proof: {type(error).__name__} {error}") from None


def read(name: str) -> str:
    with open(name, "rb") as file:
        data = file.read()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Wrong(f"{name} is not UTF-8 text at byte {error.start}") from None


def read_checkpoint(name: str) -> Any:
    """As `lithos ledger checkpoint` writes it, or the answer of a tool that carries one."""
    text = read(name)
    try:
        value = parse(text)
        return exactly(value.get("checkpoint", value) if isinstance(value, dict) else value, "checkpoint")
    except Wrong as error:
        raise Wrong(f"{name}: {error}") from None


def main(arguments: list[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    files = [argument for argument in given if argument != "--against"]
    if not 1 <= len(files) <= 2 or (len(files) == 2) != ("--against" in given) or "--help" in given:
        sys.stderr.write("usage: lithos-verify FILE [--against CHECKPOINT]\n")
        return 0 if "--help" in given else 2
    try:
        found = check(read(files[0]), read_checkpoint(files[1]) if len(files) == 2 else None)
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except Wrong as error:
        sys.stdout.write(f"WRONG: {error}\n")
        return 1
    sys.stdout.write(f"OK: {found}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
