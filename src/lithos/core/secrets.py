"""Texts that look like a credential: rules by prefix, each with bounded repetition, so that time is linear in the text.

The value itself is never repeated: a finding says the kind and the place. Words that merely name a credential
("set AWS_SECRET_ACCESS_KEY first", "sk-…") are not findings; every rule asks for the length a real one has.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from lithos.core.text import with_article

TELLING = 12  # characters of a credential that an error must not show
LISTED = 100  # a file with more is not listed line by line


class Finding(NamedTuple):
    kind: str
    line: int  # counted from 1


_EDGE = r"(?<![A-Za-z0-9_-])"
_RULES: dict[str, str] = {
    "private key": r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----",
    "AWS access key": _EDGE + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    "GitHub token": _EDGE + r"(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})",
    "GitLab token": _EDGE + r"gl(?:pat|dt|rt|ptt)-[A-Za-z0-9_-]{20,128}",
    "Anthropic key": _EDGE + r"sk-ant-[A-Za-z0-9_-]{24,200}",
    "OpenAI key": _EDGE + r"sk-(?:proj-|svcacct-|admin-)?(?!ant-)[A-Za-z0-9_-]{32,200}",
    "Stripe key": _EDGE + r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,128}",
    "Slack token": _EDGE + r"xox[abeoprs]-[A-Za-z0-9-]{10,200}",
    "Google API key": _EDGE + r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])",
    "npm token": _EDGE + r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])",
    "PyPI token": _EDGE + r"pypi-AgEIcHlwaS[A-Za-z0-9_-]{40,255}",
    "Hugging Face token": _EDGE + r"hf_[A-Za-z0-9]{30,64}(?![A-Za-z0-9])",
    "SendGrid key": _EDGE + r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}",
    "JSON web token": _EDGE + r"eyJ[A-Za-z0-9_-]{10,2048}\.eyJ[A-Za-z0-9_-]{10,4096}\.[A-Za-z0-9_-]{16,1024}",
    "Lithos token": _EDGE + r"lithos_[a-z0-9]{6,16}_[A-Za-z0-9_-]{32,64}",
    "password in an address": r"[a-z][a-z0-9+.-]{1,15}://[^\s:/@]{1,64}:(?![*x.]{3})[^\s:/@]{6,128}@[A-Za-z0-9]",
}
# A plain search for the literal start of a rule is far cheaper than its pattern: most texts never reach a pattern.
_STARTS: dict[str, tuple[str, ...]] = {
    "private key": ("PRIVATE KEY",),
    "AWS access key": ("AKIA", "ASIA"),
    "GitHub token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "GitLab token": ("glpat-", "gldt-", "glrt-", "glptt-"),
    "Anthropic key": ("sk-ant-",),
    "OpenAI key": ("sk-",),
    "Stripe key": ("k_live_", "k_test_"),
    "Slack token": ("xox",),
    "Google API key": ("AIza",),
    "npm token": ("npm_",),
    "PyPI token": ("pypi-",),
    "Hugging Face token": ("hf_",),
    "SendGrid key": ("SG.",),
    "JSON web token": ("eyJ",),
    "Lithos token": ("lithos_",),
    "password in an address": ("://",),
}
_PATTERNS = {kind: re.compile(rule) for kind, rule in _RULES.items()}
# A name made from a secret is in small letters and has hyphens.
_AS_A_NAME = str.maketrans(string.ascii_uppercase + "_", string.ascii_lowercase + "-")
_KINDS = [(start, kind) for kind, starts in _STARTS.items() for start in starts]


def suspicious(value: Any) -> bool:
    """Whether a text in it has the literal start of a rule. One pass over all texts together: nearly every call ends
    here, and none of its texts is looked at again."""
    texts: list[str] = []
    _collect(value, texts)
    return bool(_kinds("\n".join(texts)))


def _kinds(text: str) -> list[str]:
    return [kind for start, kind in _KINDS if start in text]


def field_warnings(fields: Mapping[str, Any]) -> list[str]:
    """One warning for each field that holds what looks like a credential; lists and mappings are looked through."""
    if not suspicious(fields):
        return []
    found = ((name, {each.kind for text in _texts(value) for each in find(text)}) for name, value in fields.items())
    return [f"{name} holds what looks like {with_article(kind)}" for name, kinds in found for kind in sorted(kinds)]


def first_finding(fields: Mapping[str, Any]) -> tuple[str, str, int] | None:
    """Field, kind and line of the first text that looks like a credential. The texts of a list are lines of one."""
    if not suspicious(fields):
        return None
    found = ((name, *each) for name, value in fields.items() for each in find("\n".join(_texts(value))))
    return next(found, None)


def mask(text: str, arguments: Any) -> str:
    """The text without the credentials that these arguments hold, also where it shows only their beginning."""
    held = ((kind, match.group()) for each in _texts(arguments) for kind, match in _matches(each, _kinds(each)))
    for kind, secret in sorted(set(held), key=lambda found: -len(found[1])):
        text = _without(text, secret, f"[{kind}]")
    return text


def _without(text: str, secret: str, instead: str) -> str:
    """The text with every place replaced that shows the secret or enough of its beginning."""
    sought, shown = secret.translate(_AS_A_NAME), text.translate(_AS_A_NAME)
    least = min(len(secret), max(TELLING, secret.find("://") + 3 + TELLING))
    kept, end = [], 0
    while (start := shown.find(sought[:least], end)) >= 0:
        kept += [text[end:start], instead]
        end = start + least
        while end - start < len(sought) and shown[end : end + 1] == sought[end - start]:
            end += 1
    return "".join([*kept, text[end:]])


def _texts(value: Any) -> list[str]:
    found: list[str] = []
    _collect(value, found)
    return found


def _collect(value: Any, into: list[str]) -> None:
    if isinstance(value, str):
        into.append(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            into.append(str(key))
            if type(item) is str:
                into.append(item)
            elif item is not None:
                _collect(item, into)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _collect(item, into)


def find(text: str) -> list[Finding]:
    """Every place that looks like a credential, in the order of the text."""
    if not (kinds := _kinds(text)):
        return []
    places = sorted((match.start(), kind) for kind, match in _matches(text, kinds))
    return [Finding(kind, text.count("\n", 0, at) + 1) for at, kind in places[:LISTED]]


def _matches(text: str, kinds: list[str]) -> Iterator[tuple[str, re.Match[str]]]:
    for kind in dict.fromkeys(kinds):
        yield from ((kind, match) for match in _PATTERNS[kind].finditer(text))
