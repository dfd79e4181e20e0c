"""Credentials are found by kind and line; words about credentials are not."""

from __future__ import annotations

import re

import pytest

from lithos.core.secrets import _RULES, _STARTS, LISTED, find, mask

# Put together here, so that no line of this file looks like a credential itself.
EXAMPLES = {
    "AWS access key": "AKIA" + "ABCDEFGHIJKLMNOP",
    "GitHub token": "ghp_" + "a1B2" * 9,
    "GitLab token": "glpat-" + "a1B2" * 5,
    "Anthropic key": "sk-ant-" + "api03-" + "a1B2" * 8,
    "OpenAI key": "sk-proj-" + "a1B2" * 10,
    "Stripe key": "sk_live_" + "a1B2" * 6,
    "Slack token": "xoxb-" + "123456789012-abcdef",
    "Google API key": "AIza" + "a1B2c" * 7,
    "npm token": "npm_" + "a1B2" * 9,
    "Hugging Face token": "hf_" + "a1B2" * 8,
    "JSON web token": "eyJ" + "a1B2" * 5 + ".eyJ" + "a1B2" * 5 + "." + "a1B2" * 6,
    "private key": "-----BEGIN " + "OPENSSH PRIVATE KEY-----",
    "password in an address": "postgresql://admin" + ":hunter22@db.example",
}


@pytest.mark.parametrize(("kind", "value"), EXAMPLES.items())
def test_a_credential_is_named_with_its_line(kind: str, value: str) -> None:
    assert find(f"first line\nkey = {value}\n") == [(kind, 2)]


@pytest.mark.parametrize(
    "text",
    [
        "set AWS_SECRET_ACCESS_KEY first",
        "a key starts with sk- or AKIA",
        "https://example.org/path:8080/x@y",
        "postgresql://user:***@db/name",
        "the task-force-of-the-desk-and-its-many-long-hyphenated-words-in-a-row",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ],
)
def test_words_about_credentials_are_no_findings(text: str) -> None:
    assert find(text) == []


def test_every_rule_is_bounded_and_has_its_literal_start() -> None:
    assert set(_STARTS) == set(_RULES)
    for rule in _RULES.values():
        assert not re.search(r"(?<![\\\[a-z0-9])[*+](?![^\[]*\])", rule), rule


def test_a_file_full_of_credentials_is_reported_up_to_a_bound() -> None:
    assert len(find((EXAMPLES["npm token"] + "\n") * 500)) == LISTED


def test_every_place_that_shows_a_credential_or_its_beginning_is_masked() -> None:
    secret = EXAMPLES["GitHub token"]
    text = f"{secret} and ghp-{'a1b2' * 9}.md, cut to {secret[:20]}…, but not {secret[:8]}"
    masked = mask(text, {"title": secret})
    assert masked == f"[GitHub token] and [GitHub token].md, cut to [GitHub token]…, but not {secret[:8]}"
