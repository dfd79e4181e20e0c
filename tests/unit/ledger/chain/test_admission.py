"""Admission: texts that look like a credential are refused, wherever they are."""

from __future__ import annotations

from typing import Any

import pytest

from lithos.errors import SecretRefused
from lithos.ledger.chain.admission import refuse_secrets

SECRET = "AKIA" + "A1B2C3D4E5F6G7H8"


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (f"first\n{SECRET}", 2),
        (["first", SECRET], 2),
        ({"inner": {"deep": SECRET}}, 3),
        ([{"inner": [SECRET]}], 2),
    ],
)
def test_a_credential_is_refused_wherever_it_is(value: Any, line: int) -> None:
    with pytest.raises(SecretRefused) as refusal:
        refuse_secrets({"title": "fine", "field": value})
    assert (refusal.value.details["field"], refusal.value.details["line"]) == ("field", line)
    assert SECRET not in refusal.value.message


def test_a_text_that_only_names_a_credential_is_admitted() -> None:
    refuse_secrets({"content": "Set the AWS key; it begins with AKIA.", "tags": ["sk-"], "importance": 0.5})
