"""The rows of trust on PostgreSQL."""

from __future__ import annotations

from tests.unit.graph.trust.test_rows import *  # noqa: F403
