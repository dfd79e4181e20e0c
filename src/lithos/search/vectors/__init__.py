"""Vectors: the file, the scan, and semantic candidates."""
