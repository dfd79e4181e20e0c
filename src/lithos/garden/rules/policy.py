"""Policy: where an agent may write, what it must not touch, what needs a reason."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from posixpath import commonpath
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from ryaml import loads  # type: ignore[attr-defined]

from lithos.errors import ConfigInvalid, Forbidden, InvalidInput

Kind = Literal["overview", "notes", "profile", "relationship"]
Severity = Literal["block", "warn", "off"]
# Not in the policy's hands: these block always.
HARD_RULES = ("delete", "anchor", "identity", "outside")
_ANCHOR_NAME = r"(\S[^>\r\n]{0,200}?)"
_NAME = re.compile(r"[\w][\w.@+-]{0,127}")
_SLOT = re.compile(r"\{(\w+)\}")
_SAFE_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where libyaml is: every start reads the policy


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class PathRule(_Part):
    template: str
    kind: Kind

    def matches(self, path: str, user_id: str) -> bool:
        return _pattern(self.template, user_id).fullmatch(path) is not None

    def folder_matches(self, path: str, user_id: str) -> bool:
        """Whether `path` is a folder on the way to a file of this rule."""
        parts = self.template.split("/")[:-1]
        given = path.rstrip("/").split("/")
        shorter = PathRule(template="/".join(parts[: len(given)]), kind=self.kind)
        return len(given) <= len(parts) and shorter.matches("/".join(given), user_id)


@lru_cache(maxsize=512)
def _pattern(template: str, user_id: str | None) -> re.Pattern[str]:
    """None: any user."""
    named = {"user_id": re.escape(user_id)} if user_id is not None else {}
    pieces = (
        named.get(piece, _NAME.pattern) if number % 2 else re.escape(piece)
        for number, piece in enumerate(_SLOT.split(template))
    )
    return re.compile("".join(pieces))


class Evidence(_Part):
    anchors: tuple[str, ...] = ()
    cap: int = Field(7, ge=0)
    token: str = "ev:"


class Narrative(_Part):
    words: int = Field(400, ge=1)


class ChangeLog(_Part):
    anchor: str
    heading: str
    kinds: frozenset[Kind] = frozenset({"profile", "relationship"})


class Severities(_Part):
    evidence_cap: Severity = "warn"
    evidence_token: Severity = "warn"
    section_length: Severity = "warn"
    heading: Severity = "warn"
    whitespace: Severity = "warn"
    duplicate_anchor: Severity = "block"
    duplicate_heading: Severity = "block"

    def of(self, rule: str) -> Severity:
        found: Severity = "block" if rule in HARD_RULES else getattr(self, rule)
        return found


class Policy(_Part):
    paths: tuple[PathRule, ...]
    identity_keys: frozenset[str]
    headings: dict[str, str]
    evidence: Evidence
    narrative: Narrative
    change_log: ChangeLog
    anchor: str = "<!-- @anchor: {name} -->"
    severity: Severities = Field(default_factory=Severities)

    @field_validator("anchor")
    @classmethod
    def _is_comment(cls, anchor: str) -> str:
        """Anything else would show in the rendered page, and the scanner knows comments only."""
        if not re.fullmatch(r"<!--[^{}>]*\{name\}[^{}>]*-->", anchor):
            raise ValueError("an anchor is an HTML comment with {name} in it")
        return anchor

    @cached_property
    def anchor_pattern(self) -> re.Pattern[str]:
        """White space counts no more in an anchor than it does in HTML."""
        head, tail = (r"[ \t]*".join(map(re.escape, part.split())) for part in self.anchor.split("{name}"))
        return re.compile(rf"^[ ]{{0,3}}{head}[ \t]*{_ANCHOR_NAME}[ \t]*{tail}[ \t]*$")

    def kind_of(self, path: str, user_id: str) -> Kind:
        """The kind of this file, or a refusal that says where the user's files are."""
        self._check_user(user_id)
        for rule in self.paths:
            if rule.matches(path, user_id):
                return rule.kind
        raise Forbidden(
            f"{path[:200]!r} is outside the files of user {user_id!r}",
            hint="Use one of: " + ", ".join(rule.template.replace("{user_id}", user_id) for rule in self.paths),
        )

    def allows(self, path: str, user_id: str) -> bool:
        return any(rule.matches(path, user_id) for rule in self.paths)

    def owner_of(self, path: str) -> str | None:
        """Whose file this is by its path; None: no user's."""
        for rule in self.paths:
            names = rule.template.split("/")
            if "{user_id}" in names and _pattern(rule.template, None).fullmatch(path):
                return path.split("/")[names.index("{user_id}")]
        return None

    def check_owner(self, path: str, user_id: str | None) -> None:
        """Refuse a file of another user; a path outside the garden belongs to none."""
        somebodys = any(_pattern(rule.template, None).fullmatch(path) for rule in self.paths)
        if somebodys and not (user_id is not None and self.allows(path, user_id)):
            raise Forbidden(f"{path[:200]!r} is a file of another user", hint="Name the user_id whose file it is.")

    def home(self, user_id: str) -> str:
        """The deepest folder that holds all files of this user."""
        self._check_user(user_id)
        shared = commonpath([rule.template.rpartition("/")[0] for rule in self.paths])
        names = [user_id if name == "{user_id}" else name for name in shared.split("/")]
        return "/".join(takewhile(lambda name: "{" not in name, names))

    def check_folder(self, path: str, user_id: str) -> None:
        self._check_user(user_id)
        if not any(rule.folder_matches(path, user_id) for rule in self.paths):
            raise Forbidden(f"{path[:200]!r} is no folder of user {user_id!r}", hint=f"Stay below users/{user_id}/.")

    @staticmethod
    def _check_user(user_id: str) -> None:
        if not _NAME.fullmatch(user_id) or set(user_id) <= {"."}:
            raise InvalidInput(f"user_id {user_id[:80]!r} is not a plain name", hint="Letters, digits, . _ @ + -")


def load_policy(path: Path | None = None) -> Policy:
    """The policy of the data directory, or the default that reproduces the specification's safety model."""
    try:
        if path is not None:
            source, text = path.name, path.read_text(encoding="utf-8")
            return Policy.model_validate(yaml.load(text, _SAFE_LOADER))  # its errors name the line
        default = files(__package__).joinpath("garden.yaml")
        source, text = default.name, default.read_text(encoding="utf-8")
        return Policy.model_validate(loads(text))  # a tenth of the time, at every start
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as problem:
        raise ConfigInvalid(f"{source}: {problem}", hint="Correct the file, or remove it for the default.") from None
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise ConfigInvalid(f"{source}: {place}: {first['msg']}", hint="docs/garden.md lists every key.") from None
