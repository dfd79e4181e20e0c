"""The tree against RFC 6962's own vectors (the certificate-transparency reference data) and against its definition."""

from __future__ import annotations

import hashlib

import pytest

from lithos.ledger.proofs import merkle

LEAVES = [
    bytes.fromhex(text)
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
PATHS = {  # (leaf, size): audit path
    (0, 1): [],
    (0, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (5, 8): [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 3): ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
    (1, 5): [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}
CONSISTENCY = {
    (1, 1): [],
    (1, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (6, 8): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 5): [
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}


def stored(leaves: list[bytes]) -> list[bytes]:
    nodes: list[bytes] = []
    for index, leaf in enumerate(leaves):
        nodes += _completed_by(merkle.leaf_hash(leaf), index, nodes)
    return nodes


def _completed_by(leaf: bytes, index: int, known: list[bytes]) -> list[bytes]:
    """The nodes that appending leaf number `index` stores: the leaf, then each subtree that it completes."""
    nodes = [leaf]
    level = 0
    while index >> level & 1:
        nodes.append(merkle.node_hash(known[merkle.node_place(level, (index >> level) - 1)], nodes[-1]))
        level += 1
    return nodes


def root_by_definition(leaves: list[bytes]) -> bytes:
    """RFC 6962 §2.1, word for word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return hashlib.sha256(b"\1" + root_by_definition(leaves[:k]) + root_by_definition(leaves[k:])).digest()


@pytest.mark.parametrize("size", range(9))
def test_roots_are_those_of_the_rfc_vectors(size: int) -> None:
    nodes = stored(LEAVES)
    assert merkle.root(size, nodes.__getitem__).hex() == ROOTS[size]


@pytest.mark.parametrize(("place", "path"), PATHS.items())
def test_inclusion_proofs_are_those_of_the_rfc_vectors(place: tuple[int, int], path: list[str]) -> None:
    proof = merkle.inclusion_proof(*place, stored(LEAVES).__getitem__)
    assert [step.hex() for step in proof] == path


@pytest.mark.parametrize(("sizes", "path"), CONSISTENCY.items())
def test_consistency_proofs_are_those_of_the_rfc_vectors(sizes: tuple[int, int], path: list[str]) -> None:
    proof = merkle.consistency_proof(*sizes, stored(LEAVES).__getitem__)
    assert [step.hex() for step in proof] == path


def test_every_proof_of_every_small_tree_holds_and_no_other_does() -> None:
    leaves = [bytes([number]) for number in range(33)]
    nodes = stored(leaves)
    for size in range(1, 34):
        root = merkle.root(size, nodes.__getitem__)
        assert root == root_by_definition(leaves[:size])
        for index in range(size):
            proof = merkle.inclusion_proof(index, size, nodes.__getitem__)
            leaf = merkle.leaf_hash(leaves[index])
            assert merkle.included(leaf, index, size, proof, root)
            assert not merkle.included(merkle.leaf_hash(b"other"), index, size, proof, root)
            assert not merkle.included(leaf, index + 1, size, proof, root)
            assert not merkle.included(leaf, index, size, [*proof, leaf], root)
        for old in range(size + 1):
            proof = merkle.consistency_proof(old, size, nodes.__getitem__)
            old_root = merkle.root(old, nodes.__getitem__)
            assert merkle.consistent(old, size, old_root, root, proof)
            assert not merkle.consistent(old, size, merkle.leaf_hash(b"x"), root, proof)
            if 0 < old < size:
                assert not merkle.consistent(old, size, old_root, merkle.leaf_hash(b"x"), proof)


def test_a_tree_grown_in_bulk_stores_the_same_nodes() -> None:
    leaves = [bytes([number]) for number in range(77)]
    hashed = [merkle.leaf_hash(leaf) for leaf in leaves]
    growing = merkle.MerkleTree()
    data = growing.extend(hashed[:10]) + growing.extend(hashed[10:])
    assert data == b"".join(stored(leaves))
    assert growing.root() == root_by_definition(leaves)
    assert len(data) == merkle.HASH_BYTES * merkle.stored_count(77)
