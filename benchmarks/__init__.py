"""Benchmarks: `python -m benchmarks NAME`; docs/benchmarks.md has the results."""

import os

# As the host does before numpy is loaded: a second BLAS thread spins, and its CPU would count as ours.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
