"""The test vectors of docs/ledger-format.md, made from fixed keys, ids, times and salts.

`python -m tests.support.ledger_vectors` writes the golden file anew: only when the format changes on purpose.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from lithos.ledger.chain.segments import ADAPTERS
from lithos.ledger.registry.keys import signed_bytes, signing_key
from lithos.ledger.thoughts import sign_arguments
from tests.support.ledgers import CALL, append, open_ledger

GOLDEN = Path(__file__).parents[1] / "golden" / "ledger_vectors.json"
AGENT_SEED = "03" * 32


def make() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return _make(Path(folder))


def _make(folder: Path) -> dict[str, Any]:
    ledger = open_ledger(folder, default_adapter="jsonl", default_chain="vectors")
    append(ledger, thought_type="Summary", role="Checkpoint", content="Memory of the test vectors.", importance=1.0)
    key = signing_key(bytes.fromhex(AGENT_SEED))
    chain = ledger.chain(None)
    details = {"key_id": "k1", "algorithm": "ed25519", "public_key": key.public.hex()}
    chain.record_change("key_added", "astro", details, "operator")
    wish = {
        "agent_id": "astro",
        "agent_name": "Astro",
        "thought_type": "Decision",
        "content": 'Ünïcode, "quotes", a\nnew line and \U0001f642.',
        "importance": 0.95,
        "confidence": 1e-06,
        "tags": ["vectors"],
        "concepts": ["canonical JSON"],
        "refs": [0],
        "relations": [{"kind": "DerivedFrom", "target": 0}],
        "session_id": "s-1",
    }
    signed = sign_arguments(key, "k1", wish, "vectors")
    append(ledger, **signed)
    append(ledger, thought_type="Mistake", content="This content is forgotten below.", agent_id="astro")
    before = _lines(chain.folder)
    ledger.forget(CALL, None, thought_id=None, thought_index=2, reason="a test vector")
    lines = _lines(chain.folder)
    proof = ledger.prove(None, 1)
    checkpoint = proof["checkpoint"]
    message = signed_bytes("vectors", {**wish, "signing_key_id": "k1", "role": "Memory"}, {})
    frames = [_frame(line) for line in lines]
    registry = (chain.folder / "registry.jsonl").read_text(encoding="utf-8").splitlines()
    vectors = {
        "chain.json": (chain.folder / "chain.json").read_text(encoding="utf-8").rstrip("\n"),
        "origin": chain.origin,
        "jsonl": lines,
        "jsonl_2_before_forgetting": before[2],
        "binary_frames": frames,
        "registry": registry,
        "roots": [chain.nodes.root(size).hex() for size in range(chain.size + 1)],
        "inclusion_of_1_in_4": proof["inclusion"],
        "consistency_2_to_4": chain.growth_proof(2, 4),
        "host_seed": "07" * 32,
        "checkpoint": checkpoint,
        "agent_seed": AGENT_SEED,
        "signed_bytes_of_1": message.decode(),
        "signature_of_1": bytes(signed["thought_signature"]).hex(),
    }
    ledger.close()
    return vectors


def _lines(folder: Path) -> list[str]:
    return (folder / "000000000000.jsonl").read_text(encoding="utf-8").splitlines()


def _frame(line: str) -> str:
    raw = ADAPTERS["jsonl"].decode(line.encode() + b"\n")
    return ADAPTERS["binary"].encode(raw).hex()


def text() -> str:
    return json.dumps(make(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    GOLDEN.write_text(text(), encoding="utf-8")
