"""Ed25519: the host's key that signs checkpoints, and agents' keys that sign thoughts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lithos.errors import Damaged, InvalidInput
from lithos.ledger.chain.format import canonical_bytes
from lithos.storage import create_private, make_folder, read_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SIGNED_THOUGHT = b"lithos.signature.v1\n"
KEY_BYTES = 32
SIGNATURE_BYTES = 64
SIGNED_FIELDS = (
    "agent_id",
    "agent_name",
    "agent_owner",
    "chain_key",
    "concepts",
    "confidence",
    "content",
    "importance",
    "refs",
    "relations",
    "role",
    "session_id",
    "signing_key_id",
    "tags",
    "thought_type",
)


@dataclass(frozen=True)
class SigningKey:
    """A private key and what others know of it."""

    _seed: bytes

    @cached_property
    def _private(self) -> Ed25519PrivateKey:
        # `cryptography` takes 40 ms and 7 MB to import, which a ledger without writes should not pay.
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self._seed)

    @cached_property
    def public(self) -> bytes:
        return self._private.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        return self._private.sign(message)

    def seed(self) -> bytes:
        return self._seed


def signing_key(seed: bytes) -> SigningKey:
    if len(seed) != KEY_BYTES:
        raise InvalidInput(f"a private key has {KEY_BYTES} bytes, this has {len(seed)}")
    return SigningKey(seed)


def host_key(folder: Path) -> SigningKey:
    """The key of this data directory, made on first need; readable by its owner alone."""
    path, public = folder / "ledger_ed25519", folder / "ledger_ed25519.pub"
    known = read_file(public).strip() if os.path.lexists(public) else None
    if known is None and not os.path.lexists(path):
        make_folder(folder)
        create_private(path, os.urandom(KEY_BYTES).hex().encode() + b"\n")
    try:
        key = signing_key(bytes.fromhex(read_file(path).decode("ascii").strip()))
    except (FileNotFoundError, ValueError, InvalidInput):
        raise _no_host_key(path) from None
    if known is None:
        create_private(public, key.public.hex().encode() + b"\n")
    return key


def check_host_key(folder: Path) -> None:
    """Raise where the key is another than the public one beside it says; loads the library, so not at every start."""
    path, public = folder / "ledger_ed25519", folder / "ledger_ed25519.pub"
    if host_key(folder).public.hex().encode() != read_file(public).strip():
        raise _no_host_key(path)


def _no_host_key(path: Path) -> Damaged:
    return Damaged(
        f"{path.name} is missing, is no key, or does not belong to {path.name}.pub",
        hint="Restore both from a backup of .lithos/keys. To sign with a new key from now on, delete both.",
    )


def verify_signature(public: bytes, signature: bytes, message: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature

    key = _public_key(public)
    if key is None:
        return False
    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True


@lru_cache(maxsize=1024)
def _public_key(public: bytes) -> Ed25519PublicKey | None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        return Ed25519PublicKey.from_public_bytes(public)
    except ValueError:
        return None


def is_public_key(public: bytes) -> bool:
    return len(public) == KEY_BYTES and _public_key(public) is not None


def signed_bytes(chain_key: str, record: dict[str, Any], body: dict[str, Any]) -> bytes:
    """The bytes that an agent signs: every field that it decides, and where it goes. Known before the append."""
    fields = {name: record.get(name, body.get(name)) for name in SIGNED_FIELDS}
    fields["chain_key"] = chain_key
    for name in ("concepts", "refs", "relations", "tags"):
        fields[name] = fields[name] or []
    return SIGNED_THOUGHT + canonical_bytes(fields)


def octets(numbers: Sequence[int], field: str, length: int) -> bytes:
    """A list of numbers 0–255, which is how MentisDB's clients send bytes."""
    try:
        data = bytes(numbers)
    except ValueError:
        raise InvalidInput(f"{field} holds a number that is not a byte", hint="Send numbers from 0 to 255.") from None
    if len(data) != length:
        raise InvalidInput(f"{field} has {len(data)} bytes, Ed25519 needs {length}")
    return data
