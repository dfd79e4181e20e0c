"""The published vectors: made by the code as it is, accepted by two verifiers that share nothing with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lithos.core.canonical import canonical_json
from lithos.ledger import Verification
from lithos.ledger.chain.format import canonical_bytes, tidy_number
from lithos.ledger.proofs import merkle, verify_bundle
from tests.support import ledger_vectors
from tests.support.ledgers import append, canonical, independent_check, merkle_root, open_ledger, sha

DOCS = Path(__file__).parents[4] / "docs" / "ledger-format.md"


@pytest.fixture(scope="module")
def vectors() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ledger_vectors.GOLDEN.read_text(encoding="utf-8"))
    return found


def test_the_code_makes_the_published_vectors_byte_for_byte() -> None:
    assert ledger_vectors.text() == ledger_vectors.GOLDEN.read_text(encoding="utf-8")


def test_the_page_prints_the_vectors_as_they_are() -> None:
    assert ledger_vectors.GOLDEN.read_text(encoding="utf-8") in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize("adapter", ["jsonl", "binary"])
def test_both_verifiers_accept_the_vectors_as_files(vectors: dict[str, Any], adapter: str, tmp_path: Path) -> None:
    chain = tmp_path / "vectors"
    chain.mkdir()
    (chain / "chain.json").write_text(vectors["chain.json"] + "\n", encoding="utf-8")
    (chain / "registry.jsonl").write_text("".join(line + "\n" for line in vectors["registry"]), encoding="utf-8")
    if adapter == "jsonl":
        lines = "".join(line + "\n" for line in vectors["jsonl"])
        (chain / "000000000000.jsonl").write_text(lines, encoding="utf-8")
    else:
        frames = b"".join(bytes.fromhex(frame) for frame in vectors["binary_frames"])
        (chain / "000000000000.bin").write_bytes(b"LITHOS1\n" + frames)
    report = Verification(chain, tmp_path, full=True, against=vectors["checkpoint"]).run()
    assert report.findings == []
    assert (report.thoughts, report.signatures, report.forgotten) == (4, 1, 1)
    assert independent_check(chain) == (4, vectors["roots"][4]) == (4, report.root)


def test_the_single_file_verifier_accepts_the_vectors_as_a_bundle(vectors: dict[str, Any]) -> None:
    head = json.dumps({"lithos_bundle": 1, "header": json.loads(vectors["chain.json"])})
    lines = [head, *vectors["jsonl"], *vectors["registry"], json.dumps({"checkpoint": vectors["checkpoint"]})]
    assert "4 thoughts, 1 signatures, 1 forgotten" in verify_bundle.check("\n".join(lines))


def test_origin_commitments_hashes_roots_and_proofs_follow_the_text(vectors: dict[str, Any]) -> None:
    """Each computed here from the page's formulas, with nothing of Lithos."""
    assert sha(b"lithos.chain.v1\n" + vectors["chain.json"].encode()).hex() == vectors["origin"]
    before = json.loads(vectors["jsonl_2_before_forgetting"])
    sealed = b"lithos.content.v1\n" + before["salt"].encode() + b"\n" + canonical(before["body"])
    assert sha(sealed).hex() == before["record"]["commitment"]
    after = json.loads(vectors["jsonl"][2])
    assert (after["record"], after["hash"]) == (before["record"], before["hash"])
    leaves = [sha(b"\0" + bytes.fromhex(json.loads(line)["hash"])) for line in vectors["jsonl"]]
    assert [merkle_root(leaves[:size]).hex() for size in range(5)] == vectors["roots"]
    inclusion = [bytes.fromhex(step) for step in vectors["inclusion_of_1_in_4"]]
    assert verify_bundle.root_from_proof(
        bytes.fromhex(json.loads(vectors["jsonl"][1])["hash"]), 1, 4, inclusion
    ) == bytes.fromhex(vectors["roots"][4])
    growth = [bytes.fromhex(step) for step in vectors["consistency_2_to_4"]]
    old, new = bytes.fromhex(vectors["roots"][2]), bytes.fromhex(vectors["roots"][4])
    assert merkle.consistent(2, 4, old, new, growth)


def test_signatures_hold_by_the_verifier_that_was_written_from_rfc_8032(vectors: dict[str, Any]) -> None:
    assert verify_bundle.checkpoint_holds(vectors["checkpoint"])
    public = bytes.fromhex(json.loads(vectors["registry"][0])["entry"]["details"]["public_key"])
    signature = bytes.fromhex(vectors["signature_of_1"])
    message = vectors["signed_bytes_of_1"].encode()
    assert verify_bundle.signature_holds(public, signature, message)
    assert not verify_bundle.signature_holds(public, signature, message + b" ")
    assert not verify_bundle.signature_holds(public, signature[:-1] + b"\xff", message)


numbers = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 1e-4, 1e-5, 1e-6, 1e-7, 5e-324, 0.1 + 0.2]))


@settings(max_examples=200, deadline=None)
@example(importance=2.0**-24, text="", tags=[])  # two shortest spellings are equally near
@given(importance=numbers, text=st.text(max_size=40), tags=st.lists(st.text(max_size=9), max_size=3))
def test_three_canonical_writers_agree(importance: float, text: str, tags: list[str]) -> None:
    value = {"importance": tidy_number(importance), "content": text, "tags": tags, "index": 3}
    wanted = canonical_json(value)
    assert canonical_bytes(value) == wanted
    assert verify_bundle.canonical(value).encode() == wanted
    assert canonical(value) == wanted
    assert orjson.loads(wanted) == value


def test_a_signature_with_a_number_beyond_the_order_is_another_one_and_refused() -> None:
    """RFC 8032, 5.1.7: s and s + L sign the same, and only the smaller may."""
    key = Ed25519PrivateKey.from_private_bytes(b"\x01" * 32)
    public, signature = key.public_key().public_bytes_raw(), key.sign(b"text")
    assert verify_bundle.signature_holds(public, signature, b"text")
    order = 2**252 + 27742317777372353535851937790883648493
    larger = int.from_bytes(signature[32:], "little") + order
    assert not verify_bundle.signature_holds(public, signature[:32] + larger.to_bytes(32, "little"), b"text")


def test_a_proof_says_the_version_that_its_format_documents(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    append(ledger, thought_type="Plan", content="x", agent_id="a")
    assert ledger.prove(None, 0)["lithos_proof"] == 1
