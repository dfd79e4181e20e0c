"""Facts in a text: subject, relation, value, from sentences of a few known shapes. Pure; no model is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator

from typing_extensions import TypedDict

MOST = 50
_SUBJECT = r"(?P<subject>`[^`]+`|(?:The |the )?[A-Za-z_][\w./:#-]*(?: [a-z_A-Z][\w./:-]*){0,4}?)"
_VALUE = r"(?P<value>(?:[^.;\n]|\.(?=\w)){2,160})"
_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "chosen_over",
        re.compile(
            r"\b(?:chose|choose|picked|use|prefer(?:red)?|decided on) (?P<subject>[^.;,\n]{2,60}?) "
            r"(?:over|instead of|rather than) (?P<value>[^.;,\n]{2,60}?)(?= because| since|[.;,\n]|$)",
            re.I,
        ),
    ),
    ("replaces", re.compile(rf"{_SUBJECT} (?:replaces|replaced|supersedes|superseded) {_VALUE}", re.I)),
    ("depends_on", re.compile(rf"{_SUBJECT} (?:depends on|requires|needs) {_VALUE}", re.I)),
    ("uses", re.compile(rf"{_SUBJECT} (?:uses|calls|relies on|goes through) {_VALUE}", re.I)),
    (
        "located_in",
        re.compile(
            rf"{_SUBJECT} (?:is|are|lives?) (?:defined |implemented |stored |kept )?(?:in|at|under) {_VALUE}", re.I
        ),
    ),
    ("default", re.compile(rf"(?:the )?default (?:of|for) {_SUBJECT} is {_VALUE}", re.I)),
    (
        "caused_by",
        re.compile(
            rf"{_SUBJECT} (?:failed|fails|broke|breaks|was caused) (?:because(?: of)?|by|due to) {_VALUE}", re.I
        ),
    ),
    ("fixed_by", re.compile(rf"(?:fixed|resolved|solved) (?P<subject>[^.;\n]{{2,80}}?) by {_VALUE}", re.I)),
    ("equals", re.compile(rf"{_SUBJECT}\s*(?:=|is set to|equals)\s*{_VALUE}", re.I)),
    ("is", re.compile(rf"{_SUBJECT} (?:is|are) (?P<value>(?:an? |the |not )?[^.;\n]{{2,100}})", re.I)),
)
_LABEL = re.compile(r"^(Approach|Reason|Context|Resolution|Changes|Example): (.+)$", re.MULTILINE)
_SENTENCE = re.compile(r"(?:[^.!?\n]|[.!?](?=\S))+[.!?]?")  # a dot inside of a name or path ends nothing


class Fact(TypedDict):
    subject: str
    relation: str
    value: str
    sentence: str
    source_id: str


def facts_in(text: str, source_id: str) -> list[Fact]:
    """Labelled lines first, then one fact per sentence: that of the first shape that fits."""
    return [*_labelled(text, source_id), *_stated(_LABEL.sub("", text), source_id)][:MOST]


def _labelled(text: str, source_id: str) -> Iterator[Fact]:
    found = dict(_LABEL.findall(text))
    subject = found.get("Approach", "")
    for name, relation in (("Reason", "failed_because"), ("Resolution", "resolved_by"), ("Context", "happened_in")):
        if subject and name in found:
            sentence = f"{subject}: {found[name]}"
            yield _fact(subject, relation, found[name], sentence, source_id)


def _stated(text: str, source_id: str) -> Iterator[Fact]:
    for match in _SENTENCE.finditer(text):
        sentence = " ".join(match[0].split())
        for relation, shape in _SHAPES:
            if len(sentence) <= 400 and (found := shape.search(sentence)):
                yield _fact(found["subject"], relation, found["value"], sentence, source_id)
                break


def _fact(subject: str, relation: str, value: str, sentence: str, source_id: str) -> Fact:
    return {
        "subject": re.sub(r"^(?:the|a|an)\s+", "", subject.strip("` "), flags=re.I),
        "relation": relation,
        "value": value.strip("` "),
        "sentence": sentence,
        "source_id": source_id,
    }
