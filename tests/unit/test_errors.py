"""The tree of errors."""

from __future__ import annotations

from lithos.errors import all_errors


def test_every_error_has_a_separate_code() -> None:
    codes = all_errors()
    assert len(codes) == len({type_.code for type_ in codes.values()})
    assert {"invalid_input", "not_found", "conflict", "key_reused", "busy"} <= set(codes)
