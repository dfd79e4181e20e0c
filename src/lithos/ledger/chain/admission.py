"""Admission: who may append what to a chain, checked before a thought gets its index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lithos.core.secrets import first_finding
from lithos.core.text import with_article
from lithos.errors import Conflict, Forbidden, InvalidInput, SecretRefused
from lithos.ledger.chain.tickets import Ticket
from lithos.ledger.registry.keys import signed_bytes, verify_signature
from lithos.ledger.registry.registry import Key
from lithos.ledger.thoughts import Draft

if TYPE_CHECKING:
    from lithos.ledger.chain.chain import Chain


def refuse_secrets(fields: Mapping[str, Any]) -> None:
    """Raise `SecretRefused` if a text among these looks like a credential; lists and mappings are looked through."""
    found = first_finding(fields)
    if found is not None:
        name, kind, line = found
        raise SecretRefused(
            f"{name} holds what looks like {with_article(kind)} in line {line}; nothing was written",
            hint="Take the credential out and say where it is kept instead. It cannot be unsaid later.",
            kind=kind,
            line=line,
            field=name,
        )


def signer_of(chain: Chain, draft: Draft) -> Key | None:
    """Verify the signature outside the chain's lock: it takes 0.13 ms. `check` asks again whether the key holds."""
    if draft.signature is None:
        return None
    agent = chain.registry.agents.get(str(draft.agent_id))
    key = agent.key(str(draft.signing_key_id)) if agent else None
    if key is None:
        raise Forbidden(
            f"{draft.agent_id} has no key {draft.signing_key_id!r} on this chain",
            hint="Register it first with mentisdb_add_agent_key.",
        )
    message = signed_bytes(chain.key, draft.record(), draft.body())
    if not verify_signature(key.public, draft.signature, message):
        raise Forbidden(
            "thought_signature is not this key's signature of this thought",
            hint="Sign the bytes that docs/ledger-format.md describes; `lithos ledger sign` makes them.",
        )
    return key


def check(chain: Chain, draft: Draft, signer: Key | None, index: int, pending: Iterable[Ticket]) -> None:
    """Under the chain's lock; `index` is the place that the thought would have."""
    if chain.problem is not None:
        raise chain.refusal()
    agent = chain.registry.agents.get(str(draft.agent_id))
    if agent is not None and agent.status == "revoked":
        raise Forbidden(
            f"{draft.agent_id} is revoked on this chain and cannot append",
            hint="mentisdb_upsert_agent with status active lets it write again.",
        )
    if signer is not None:
        _may_sign(chain, draft, signer, pending)
    check_targets(draft, index)


def check_targets(draft: Draft, index: int) -> None:
    for target in draft.targets():
        if target >= index:
            raise InvalidInput(
                f"refs: there is no thought {target} yet; the chain has {index}",
                hint="refs and relations name indexes of earlier thoughts of the same chain.",
            )


def _may_sign(chain: Chain, draft: Draft, signer: Key, pending: Iterable[Ticket]) -> None:
    if signer.until_change is not None:
        raise Forbidden(
            f"the key {signer.key_id!r} of {draft.agent_id} was revoked",
            hint="Sign with a key that holds, or register a new one.",
        )
    digest = draft.record()["signature_hash"]
    used = any(ticket.entry.record.get("signature_hash") == digest for ticket in pending)
    stored = chain.entries(chain.columns.places_of("signature", digest))
    if used or any(entry.record.get("signature_hash") == digest for entry in stored):
        raise Conflict(
            "this signature was used on this chain before",
            hint="A signature counts once. To say the same again, change a field, for example session_id.",
        )
