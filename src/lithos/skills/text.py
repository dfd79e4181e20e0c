"""A skill as text: Markdown with frontmatter, or JSON; either is read into the same fields and written as the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import orjson
from ryaml import InvalidYamlError, loads  # type: ignore[attr-defined]

from lithos.core.markdown import Heading, front_matter_end, scan, split_lines
from lithos.core.validators import label, optional_text, terms, text_block
from lithos.errors import InvalidInput

Format = Literal["markdown", "json"]
FORMATS: dict[str, Format] = {"markdown": "markdown", "md": "markdown", "json": "json"}
SCHEMA_VERSIONS = (1,)
FIELDS = ("schema_version", "name", "description", "tags", "triggers", "warnings", "body")
LONGEST_SKILL = 256 * 1024
LONGEST_FRONT = 16 * 1024
MOST_BRACKETS = 1000  # libyaml takes quadratic time in the depth of brackets


@dataclass(frozen=True, slots=True)
class SkillText:
    name: str
    description: str = ""
    tags: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    schema_version: int = 1
    body: str = field(default="")

    def listed(self) -> dict[str, Any]:
        """The fields that are indexed beside the text itself."""
        return {
            "name": self.name,
            "description": self.description,
            "tags": list(self.tags),
            "triggers": list(self.triggers),
            "warnings": list(self.warnings),
        }


def read_skill(content: str, source: Format) -> SkillText:
    text_block(content, "content", LONGEST_SKILL)
    fields, body = _read_json(content) if source == "json" else _read_markdown(content)
    name = fields.get("name") or _first_heading(body)
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(
            "the skill has no name", hint="Put `name:` in the frontmatter, a first heading, or a JSON key `name`."
        )
    return SkillText(
        name=label(name.strip(), "name"),
        description=_text(fields, "description") or _first_paragraph(body),
        tags=_list(fields, "tags"),
        triggers=_list(fields, "triggers"),
        warnings=_list(fields, "warnings"),
        schema_version=_schema(fields),
        body=body,
    )


def as_markdown(skill: SkillText) -> str:
    lines = ["---", f"schema_version: {skill.schema_version}", f"name: {_yaml(skill.name)}"]
    lines.append(f"description: {_yaml(skill.description)}")
    for name, values in (("tags", skill.tags), ("triggers", skill.triggers), ("warnings", skill.warnings)):
        lines.append(f"{name}: [{', '.join(_yaml(value) for value in values)}]")
    return "\n".join([*lines, "---", "", skill.body.strip("\n"), ""])


def as_json(skill: SkillText) -> str:
    fields = {"schema_version": skill.schema_version, **skill.listed(), "body": skill.body}
    return orjson.dumps(fields, option=orjson.OPT_INDENT_2).decode()


def _yaml(text: str) -> str:
    """A JSON text is a YAML text."""
    return orjson.dumps(text).decode()


def _read_json(content: str) -> tuple[dict[str, Any], str]:
    try:
        fields = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"content is not JSON: {error}", hint="Send JSON, or format markdown.") from None
    if not isinstance(fields, dict):
        raise InvalidInput("content is not a JSON object", hint=f"Its keys are {', '.join(FIELDS)}.")
    unknown = sorted(set(fields) - set(FIELDS) - {"content"})
    if unknown:
        raise InvalidInput(f"unknown keys: {', '.join(unknown)[:200]}", hint=f"The keys are {', '.join(FIELDS)}.")
    body = fields.get("body", fields.get("content", ""))
    if not isinstance(body, str):
        raise InvalidInput("body is not text", hint="body is the skill's Markdown.")
    return fields, body


def _read_markdown(content: str) -> tuple[dict[str, Any], str]:
    lines = split_lines(content)
    end = front_matter_end(lines)
    if end == 0:
        return {}, content
    front = "".join(lines[1 : end - 1])
    if len(front) > LONGEST_FRONT or front.count("[") + front.count("{") > MOST_BRACKETS:
        raise InvalidInput("the frontmatter is too large", hint="Keep it to the named fields.")
    try:
        fields = loads(front)
    except (InvalidYamlError, ValueError, TypeError) as error:
        raise InvalidInput(f"the frontmatter is not YAML: {error}", hint="Correct it, or leave it out.") from None
    if fields is not None and not isinstance(fields, dict):
        raise InvalidInput("the frontmatter has no keys", hint="Write `name: …`, `description: …`.")
    return fields or {}, "".join(lines[end:])


def _schema(fields: dict[str, Any]) -> int:
    version = fields.get("schema_version", SCHEMA_VERSIONS[-1])
    if type(version) is not int or version not in SCHEMA_VERSIONS:
        raise InvalidInput(
            f"schema_version {str(version)[:40]!r} is unknown", hint=f"Known: {', '.join(map(str, SCHEMA_VERSIONS))}."
        )
    return version


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInput(f"{name} is not text", hint="Put it in quotes.")
    return optional_text(value, name, 4000) or ""


def _list(fields: dict[str, Any], name: str) -> tuple[str, ...]:
    value = fields.get(name)
    if value is None:
        return ()
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InvalidInput(f"{name} is not a list of texts", hint=f"Write {name}: [one, two].")
    if name != "warnings":
        return terms(value, name)
    return tuple(text_block(item, name, 2000) for item in value)


def _headings(body: str) -> list[Heading]:
    return scan(body, front_matter=False).headings


def _first_heading(body: str) -> str:
    headings = _headings(body)
    return headings[0].text if headings else ""


def _first_paragraph(body: str) -> str:
    for block in body.split("\n\n"):
        text = " ".join(line.strip() for line in block.splitlines() if not line.lstrip().startswith(("#", "```")))
        if text.strip():
            return text.strip()[:500]
    return ""
