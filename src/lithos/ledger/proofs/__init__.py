"""Merkle tree, checkpoints, verification, bundles."""
