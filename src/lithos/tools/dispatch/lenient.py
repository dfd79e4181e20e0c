"""Arguments as models send them, read as the schema means them where there is one meaning; all else stays as it is.

Validation after this is strict: this module is the only one that converts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from lithos.errors import InvalidInput

Schema = Mapping[str, Any]

# A guard protects what is there. Guessing at a malformed one would remove the protection.
GUARDS = frozenset(
    {
        "if_match",
        "claim_token",
        "dry_run",
        "approved_by",
        "last_checkpoint",
        "thought_signature",
        "signing_key_id",
        "seen",
    }
)
_INTEGER = re.compile(r"[+-]?\d{1,18}\Z")
_DECIMAL = re.compile(r"[+-]?\d{1,18}(\.\d{1,18})?([eE][+-]?\d{1,3})?\Z")
_TRUTH = {"true": True, "false": False}
_PLAIN: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_SEPARATORS = re.compile(r"[\s_-]+")


class Arguments:
    """The arguments that one tool's schema accepts."""

    def __init__(self, schema: Schema) -> None:
        self._named: Mapping[str, Schema] = schema.get("$defs", {})
        self._properties: Mapping[str, Schema] = schema.get("properties", {})
        reader = _Reader(self._named, [])
        # Plain values of these types mean what they are, whichever alternative of the schema they fit.
        self._as_sent = {name: _plain_types([*reader.choices(each)]) for name, each in self._properties.items()}

    def read(self, given: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
        """The arguments with one-meaning variants converted; `notes` gets a line for each that the caller must see."""
        reader = _Reader(self._named, notes)
        read: dict[str, Any] = {}
        for name, value in given.items():
            if name in GUARDS:
                read[name] = _guard(name, value)
            elif type(value) in self._as_sent.get(name, ()):
                read[name] = value
            elif value is not None:  # null says "not given"
                read[name] = reader.read(self._properties.get(name, {}), value, name)
        return read


def _plain_types(choices: list[Schema]) -> frozenset[type]:
    plain = [each for each in choices if "enum" not in each and "const" not in each]
    types = frozenset(kind for each in plain for kind in _PLAIN.get(each.get("type", ""), ()))
    return types - {str} if any(each.get("type") == "array" for each in choices) else types  # a text may hold the list


def _guard(name: str, value: Any) -> Any:
    if value is None or value == "":
        raise InvalidInput(
            f"{name} is empty, and an empty guard protects nothing",
            hint=f"Send the value that you were given, or leave {name} out.",
        )
    return value


class _Reader:
    def __init__(self, named: Mapping[str, Schema], notes: list[str]) -> None:
        self._named = named
        self._notes = notes

    def read(self, schema: Schema, value: Any, place: str) -> Any:
        choices = list(self.choices(schema))
        either = {"array", "string"} <= {choice.get("type") for choice in choices}
        if either and isinstance(value, str) and _json(value, list) is not None:  # a list, where a text would do, too
            choices = [choice for choice in choices if choice.get("type") == "array"]
        fitting = [choice for choice in choices if _fits(choice, value)]
        for choice in fitting or choices:
            read = self._as(choice, value, place)
            if fitting or read is not value:
                return read
        return value

    def choices(self, schema: Schema) -> Iterator[Schema]:
        """The alternatives of a schema, references followed."""
        if "$ref" in schema:
            yield from self.choices(self._named[schema["$ref"].rpartition("/")[2]])
        elif "anyOf" in schema:
            for choice in schema["anyOf"]:
                yield from self.choices(choice)
        else:
            yield schema

    def _as(self, schema: Schema, value: Any, place: str) -> Any:
        """The value as this schema means it, or the same object when it has no such meaning."""
        if "enum" in schema or "const" in schema:
            return _member(schema.get("enum") or [schema["const"]], value)
        wanted = schema.get("type")
        if wanted == "array":
            return self._array(schema, value, place)
        if wanted == "object":
            return self._object(schema, value, place)
        if wanted == "boolean" and isinstance(value, str):
            return _TRUTH.get(value.strip().lower(), value)
        if wanted == "integer":
            return _integer(value)
        if wanted == "number" and isinstance(value, str) and _DECIMAL.match(value.strip()):
            return float(value)
        return value

    def _array(self, schema: Schema, value: Any, place: str) -> Any:
        if "prefixItems" in schema:  # a pair; JSON has no tuple, and strict validation wants one
            return tuple(_integer(item) for item in value) if isinstance(value, list) else value
        items = schema.get("items", {})
        if isinstance(value, list):
            return [self.read(items, item, f"{place}.{number}") for number, item in enumerate(value)]
        if isinstance(value, str):
            return self._array_in_text(schema, items, value, place)
        return [value] if isinstance(value, dict | int) and _fits_any(self.choices(items), value) else value

    def _array_in_text(self, schema: Schema, items: Schema, text: str, place: str) -> Any:
        parsed = _json(text, list)
        if parsed is not None:
            return self._array(schema, parsed, place)
        if not text.strip() or "," in text or text.lstrip()[:1] in ("[", "{"):
            return text  # nothing, several, or broken JSON: more than one meaning
        one = self.read(items, text, place)
        if not _fits_any(self.choices(items), one):
            return text
        if any(character.isspace() for character in text.strip()):
            self._notes.append(f"{place}: taken as one item, {text!r}")
        return [one]

    def _object(self, schema: Schema, value: Any, place: str) -> Any:
        found = _json(value, dict) if isinstance(value, str) else value
        if not isinstance(found, dict):
            return value
        properties = schema.get("properties")
        if not properties:
            return found
        return {
            name: self.read(properties[name], item, f"{place}.{name}") if name in properties else item
            for name, item in found.items()
            if item is not None or name not in properties
        }


def _json(text: str, kind: type) -> Any:
    if text.lstrip()[:1] != ("[" if kind is list else "{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, kind) else None


def _integer(value: Any) -> Any:
    if isinstance(value, str) and _INTEGER.match(value.strip()):
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def _member(allowed: list[Any], value: Any) -> Any:
    """The one member that differs in letter case or separators only."""
    if value in allowed or not isinstance(value, str):
        return value
    same = [each for each in allowed if isinstance(each, str) and _folded(each) == _folded(value)]
    return same[0] if len(same) == 1 else value


def _folded(text: str) -> str:
    return _SEPARATORS.sub("", text).casefold()


def _fits_any(choices: Iterator[Schema], value: Any) -> bool:
    return any(_fits(choice, value) for choice in choices)


def _fits(schema: Schema, value: Any) -> bool:
    """Whether the value has the JSON type of the schema."""
    if "enum" in schema:
        return value in schema["enum"]
    if "const" in schema:
        return bool(value == schema["const"])
    match schema.get("type"):
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "null":
            return value is None
    return True
