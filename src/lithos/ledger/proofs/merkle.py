"""The Merkle tree of RFC 6962 over a growing list, kept as the hashes of its complete subtrees.

Nodes are stored in the order in which they become complete: leaf 0, leaf 1, node(0..1), leaf 2, … A leaf is followed
by every node that it completes, so appending only ever appends, and the place of a node is arithmetic.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

HASH_BYTES = 32
EMPTY_ROOT = hashlib.sha256(b"").digest()

ReadNode = Callable[[int], bytes]


def leaf_hash(data: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def stored_count(size: int) -> int:
    """How many nodes are stored for `size` leaves."""
    return 2 * size - size.bit_count()


def node_place(level: int, number: int) -> int:
    """Where the root of the `number`-th complete subtree of 2**level leaves is stored."""
    last_leaf = (number + 1 << level) - 1
    return stored_count(last_leaf) + level


def root(size: int, read: ReadNode) -> bytes:
    return _range_hash(0, size, read) if size else EMPTY_ROOT


def inclusion_proof(index: int, size: int, read: ReadNode) -> list[bytes]:
    """RFC 6962 §2.1.1: the audit path of leaf `index` in the tree of `size`."""
    return _path(index, 0, size, read)


def consistency_proof(old: int, new: int, read: ReadNode) -> list[bytes]:
    """RFC 6962 §2.1.2: that the tree of `new` leaves begins with the tree of `old`."""
    return _subproof(old, 0, new, True, read) if 0 < old < new else []


def included(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root_hash: bytes) -> bool:
    """RFC 9162 §2.1.3.2."""
    if not 0 <= index < size:
        return False
    place, last, value = index, size - 1, leaf
    for step in proof:
        if last == 0:
            return False
        if place & 1 or place == last:
            value = node_hash(step, value)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            value = node_hash(value, step)
        place, last = place >> 1, last >> 1
    return last == 0 and value == root_hash


def consistent(old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """RFC 9162 §2.1.4.2, with the empty tree a beginning of every tree."""
    if old > new or old < 0:
        return False
    if old in (0, new):
        return not proof and (old_root == (EMPTY_ROOT if old == 0 else new_root))
    steps = list(proof) if old & (old - 1) else [old_root, *proof]
    if not steps:
        return False
    place, last = old - 1, new - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    older = newer = steps[0]
    for step in steps[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            older, newer = node_hash(step, older), node_hash(step, newer)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            newer = node_hash(newer, step)
        place, last = place >> 1, last >> 1
    return last == 0 and older == old_root and newer == new_root


class MerkleTree:
    """A tree built from its leaves in order, many at a time; holds only the right edge, hands out what to store."""

    def __init__(self, size: int = 0, edge: Sequence[bytes] = ()) -> None:
        """`edge` holds the roots of the complete subtrees of the first `size` leaves, largest first."""
        self.size = size
        self._edge = list(edge)

    def extend(self, leaves: Sequence[bytes]) -> bytes:
        """Add leaves; returns the stored form of the new nodes, in their order."""
        sha256 = hashlib.sha256
        out: list[bytes] = []
        edge = self._edge
        size = self.size
        for leaf in leaves:
            value = leaf
            out.append(value)
            carry = size
            while carry & 1:
                value = sha256(b"\x01" + edge.pop() + value).digest()
                out.append(value)
                carry >>= 1
            edge.append(value)
            size += 1
        self.size = size
        return b"".join(out)

    def root(self) -> bytes:
        if not self._edge:
            return EMPTY_ROOT
        value = self._edge[-1]
        for left in reversed(self._edge[:-1]):
            value = node_hash(left, value)
        return value


def right_edge(size: int, read: ReadNode) -> list[bytes]:
    """The complete subtrees that a tree of `size` leaves consists of, largest first."""
    edge, start = [], 0
    for level in range(size.bit_length() - 1, -1, -1):
        if size >> level & 1:
            edge.append(read(node_place(level, start >> level)))
            start += 1 << level
    return edge


def _split(size: int) -> int:
    """The largest power of two smaller than `size`."""
    return 1 << (size - 1).bit_length() - 1


def _range_hash(start: int, end: int, read: ReadNode) -> bytes:
    """Root of leaves start..end; every left half is a complete, stored subtree."""
    size = end - start
    if size & (size - 1) == 0:
        level = size.bit_length() - 1
        return read(node_place(level, start >> level))
    middle = start + _split(size)
    return node_hash(_range_hash(start, middle, read), _range_hash(middle, end, read))


def _path(index: int, start: int, end: int, read: ReadNode) -> list[bytes]:
    if end - start == 1:
        return []
    middle = start + _split(end - start)
    if index < middle:
        return [*_path(index, start, middle, read), _range_hash(middle, end, read)]
    return [*_path(index, middle, end, read), _range_hash(start, middle, read)]


def _subproof(old: int, start: int, end: int, whole: bool, read: ReadNode) -> list[bytes]:
    if old == end:
        return [] if whole else [_range_hash(start, end, read)]
    middle = start + _split(end - start)
    if old <= middle:
        return [*_subproof(old, start, middle, whole, read), _range_hash(middle, end, read)]
    return [*_subproof(old, middle, end, False, read), _range_hash(start, middle, read)]
