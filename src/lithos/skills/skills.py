"""The skill registry: reusable instructions in immutable versions, with who uploaded them and what they ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Any, Literal, cast

import orjson
from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.canonical import sha256_hex
from lithos.core.clock import Clock, from_micros, micros, rfc3339
from lithos.core.cursor import NextPage
from lithos.core.ids import Ids
from lithos.core.since import check_bounds
from lithos.core.text import slug
from lithos.core.validators import label, one_of, optional_text
from lithos.errors import Conflict, Forbidden, InvalidInput, NotFound
from lithos.ledger import AgentRecord
from lithos.skills.safety import RuleInfo, published_rules, safety_warnings
from lithos.skills.text import (
    FIELDS,
    FORMATS,
    SCHEMA_VERSIONS,
    Format,
    SkillText,
    as_json,
    as_markdown,
    read_skill,
)
from lithos.storage import Answer, Database, Effects, EventDraft, Outcome, Row, Tx

SkillStatus = Literal["active", "deprecated", "revoked"]
LIMIT, MOST = 50, 1000


class Skill(TypedDict):
    skill_id: str
    name: str
    description: str
    status: str
    status_reason: str | None
    schema_version: int
    tags: list[str]
    triggers: list[str]
    warnings: list[str]
    latest_version_id: str
    version_count: int
    created_at: str
    updated_at: str
    latest_uploaded_at: str
    latest_uploaded_by_agent_id: str
    latest_uploaded_by_agent_name: str | None
    latest_uploaded_by_agent_owner: str | None
    latest_source_format: str


class OneSkill(TypedDict):
    skill: Skill


class SkillList(NextPage):
    skills: list[Skill]


class SkillVersion(TypedDict):
    version_id: str
    uploaded_at: str
    uploaded_by_agent_id: str
    uploaded_by_agent_name: str | None
    uploaded_by_agent_owner: str | None
    source_format: str
    content_hash: str
    schema_version: int


class SkillVersions(TypedDict):
    skill_id: str
    versions: list[SkillVersion]


class ReadSkill(TypedDict):
    skill_id: str
    version_id: str
    format: str
    source_format: str
    schema_version: int
    content: str
    status: str
    safety_warnings: list[str]


class SkillManifest(TypedDict):
    manifest_version: int
    formats: list[str]
    schema_versions: list[int]
    fields: list[str]
    searchable_fields: list[str]
    statuses: list[str]
    safety_rules: list[RuleInfo]


@dataclass(frozen=True, slots=True)
class SkillFilter:
    text: str | None = None
    skill_ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    triggers_any: tuple[str, ...] = ()
    agent_ids: tuple[str, ...] = ()
    agent_names: tuple[str, ...] = ()
    agent_owners: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    schema_versions: tuple[int, ...] = ()
    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        check_bounds(self.since, self.until)


CHANNEL = "skills"  # notified by every change
_LATEST = """
SELECT s.skill_id, s.status, s.status_reason, s.created_at, s.updated_at, v.version_id, v.number, v.content,
       v.source_format, v.schema_version, v.fields, v.uploaded_at, v.uploaded_by_agent_id, v.uploaded_by_agent_name,
       v.uploaded_by_agent_owner
FROM skills s JOIN skill_versions v ON v.skill_id = s.skill_id
WHERE v.number = (SELECT max(number) FROM skill_versions w WHERE w.skill_id = s.skill_id)
"""

_STATES = """
SELECT s.skill_id, s.status, max(v.number) AS number FROM skills s JOIN skill_versions v ON v.skill_id = s.skill_id
GROUP BY s.skill_id, s.status
"""


class Skills:
    def __init__(
        self,
        database: Database,
        effects: Effects,
        clock: Clock,
        ids: Ids,
        *,
        uploader: Callable[[str | None, str], tuple[str, AgentRecord]],
        refuse_secrets: Callable[[Mapping[str, Any]], None] = lambda fields: None,
    ) -> None:
        """`uploader(chain_key, agent_id)` gives the chain's key and the agent's record."""
        self._database = database
        self._effects = effects
        self._clock = clock
        self._ids = ids
        self._uploader = uploader
        self._refuse_secrets = refuse_secrets

    # -- writing

    def upload(
        self, call: Call, chain_key: str | None, skill_id: str | None, agent_id: str, source: str, content: str
    ) -> OneSkill:
        kind = FORMATS[one_of(source, tuple(FORMATS), "format")]
        text = read_skill(content, kind)
        self._refuse_secrets({"content": content, "skill_id": skill_id, "agent_id": agent_id})
        chain, agent = self._uploader(chain_key, agent_id)
        if agent["status"] != "active":
            raise Forbidden(f"{agent_id} is revoked on chain {chain!r}", hint="An active agent must upload the skill.")
        wanted = _skill_id(skill_id, text)

        def work(tx: Tx) -> Outcome:
            added = self._add(tx, wanted, text, kind, content, agent, chain)
            events = (EventDraft("skill", "upload", wanted, after_hash=_hash(content)),) if added else ()
            return Outcome(cast(Answer, {"skill": self._summary(tx, wanted)}), events)

        return cast(OneSkill, self._effects.commit(call, work))

    def _add(
        self, tx: Tx, skill_id: str, text: SkillText, kind: Format, content: str, agent: AgentRecord, chain: str
    ) -> bool:
        """False: this very content is a version already."""
        tx.lock(f"skill {skill_id}")
        now = micros(self._clock.now())
        known = tx.one("SELECT status FROM skills WHERE skill_id = ?", skill_id)
        if known is None:
            tx.run("INSERT INTO skills (skill_id, created_at, updated_at) VALUES (?, ?, ?)", skill_id, now, now)
        elif known["status"] == "revoked":
            raise Conflict(f"skill {skill_id!r} is revoked", hint="Upload it under another skill_id.")
        same = "SELECT 1 AS found FROM skill_versions WHERE skill_id = ? AND content_hash = ?"
        if tx.one(same, skill_id, _hash(content)) is not None:
            return False
        row = tx.one("SELECT count(*) AS versions FROM skill_versions WHERE skill_id = ?", skill_id)
        number = 1 + (row["versions"] if row else 0)
        version = (self._ids.sortable(), skill_id, number, content, _hash(content), kind, text.schema_version)
        fields = orjson.dumps(text.listed()).decode()
        uploader = (agent["agent_id"], agent["display_name"], agent["agent_owner"], chain)
        tx.run(_INSERT_VERSION, *version, fields, now, *uploader)
        tx.run("UPDATE skills SET updated_at = ? WHERE skill_id = ?", now, skill_id)
        tx.notify(CHANNEL)
        return True

    def set_status(self, call: Call, skill_id: str, status: SkillStatus, reason: str | None) -> OneSkill:
        why = optional_text(reason, "reason", 2000)
        self._refuse_secrets({"reason": why})

        def work(tx: Tx) -> Outcome:
            tx.lock(f"skill {skill_id}")
            before = self._summary(tx, skill_id)
            if before["status"] == "revoked" and status == "deprecated":
                raise Conflict(f"skill {skill_id!r} is revoked, which is more", hint="A revoked skill stays revoked.")
            sql = "UPDATE skills SET status = ?, status_reason = ?, updated_at = ? WHERE skill_id = ?"
            tx.run(sql, status, why, micros(self._clock.now()), skill_id)
            tx.notify(CHANNEL)
            event = EventDraft("skill", status, skill_id, rationale=why)
            return Outcome(cast(Answer, {"skill": self._summary(tx, skill_id)}), (event,))

        return cast(OneSkill, self._effects.commit(call, work))

    # -- reading

    def list(self) -> SkillList:
        rows = self._database.read(lambda tx: tx.all(f"{_LATEST} ORDER BY s.skill_id"))
        return {"skills": [_as_skill(row) for row in rows]}

    def commits(self) -> int | None:
        """Equal numbers: `states` are as they were. None: they may differ."""
        return self._database.commits(CHANNEL)

    def states(self) -> dict[str, str]:
        """Of each skill a text that changes with its newest version and its status."""
        rows = self._database.read(lambda tx: tx.all(_STATES))
        return {row["skill_id"]: f"{row['number']} {row['status']}" for row in rows}

    def get(self, skill_id: str) -> Skill:
        return self._database.read(lambda tx: self._summary(tx, skill_id))

    def search(self, chosen: SkillFilter, limit: int | None) -> SkillList:
        """With text the best first; without, the newest first."""
        if limit is not None and limit < 1:
            raise InvalidInput(f"limit is {limit}", hint=f"Use 1 to {MOST}.")
        rows = self._database.read(lambda tx: tx.all(_LATEST))
        scored = [(_score(row, chosen.text), row) for row in rows if _passes(row, chosen)]
        found = [(score, row) for score, row in scored if score > 0]
        found.sort(key=lambda one: (-one[0], -one[1]["updated_at"], one[1]["skill_id"]))
        return {"skills": [_as_skill(row) for _, row in found[: min(limit or LIMIT, MOST)]]}

    def read(self, skill_id: str, version_id: str | None, format: str | None) -> ReadSkill:
        row = self._database.read(lambda tx: _version(tx, skill_id, version_id))
        source: Format = row["source_format"]
        wanted = source if format is None else FORMATS[one_of(format, tuple(FORMATS), "format")]
        text = read_skill(row["content"], source)
        # In the format that it came in: the very bytes whose hash the version names.
        written = as_markdown if wanted == "markdown" else as_json
        content = row["content"] if wanted == source else written(text)
        return {
            "skill_id": skill_id,
            "version_id": row["version_id"],
            "format": wanted,
            "source_format": source,
            "schema_version": row["schema_version"],
            "content": content,
            "status": row["status"],
            "safety_warnings": safety_warnings(row["content"], row["status"], text.warnings),
        }

    def versions(self, skill_id: str) -> SkillVersions:
        sql = "SELECT * FROM skill_versions WHERE skill_id = ? ORDER BY number"
        rows = self._database.read(lambda tx: tx.all(sql, skill_id))
        if not rows:
            raise _no_skill(skill_id)
        return {"skill_id": skill_id, "versions": [_as_version(row) for row in rows]}

    def manifest(self) -> SkillManifest:
        return {
            "manifest_version": 1,
            "formats": ["markdown", "json"],
            "schema_versions": list(SCHEMA_VERSIONS),
            "fields": list(FIELDS),
            "searchable_fields": [*SEARCHABLE],
            "statuses": ["active", "deprecated", "revoked"],
            "safety_rules": published_rules(),
        }

    def count(self) -> int:
        row = self._database.read(lambda tx: tx.one("SELECT count(*) AS skills FROM skills"))
        return int(row["skills"]) if row else 0

    def _summary(self, tx: Tx, skill_id: str) -> Skill:
        row = tx.one(f"{_LATEST} AND s.skill_id = ?", skill_id)
        if row is None:
            raise _no_skill(skill_id)
        return _as_skill(row)


SEARCHABLE = (
    "text",
    "skill_ids",
    "names",
    "tags_any",
    "triggers_any",
    "uploaded_by_agent_ids",
    "uploaded_by_agent_names",
    "uploaded_by_agent_owners",
    "statuses",
    "formats",
    "schema_versions",
    "since",
    "until",
)
_INSERT_VERSION = """
INSERT INTO skill_versions (version_id, skill_id, number, content, content_hash, source_format, schema_version, fields,
    uploaded_at, uploaded_by_agent_id, uploaded_by_agent_name, uploaded_by_agent_owner, chain_key)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def skill_guide() -> str:
    """Our own guide for agents, as `mentisdb_skill_md` hands it out."""
    return (files("lithos.skills") / "skill.md").read_text(encoding="utf-8")


def _skill_id(given: str | None, text: SkillText) -> str:
    wanted = label(given.strip(), "skill_id") if given is not None else slug(text.name)
    if not wanted:
        raise InvalidInput("the name gives no skill_id", hint="Send a skill_id of letters and digits.")
    return wanted


def _hash(content: str) -> str:
    return sha256_hex(content.encode())


def _no_skill(skill_id: str) -> NotFound:
    return NotFound(f"there is no skill {skill_id[:80]!r}", hint="mentisdb_list_skills names those that exist.")


def _version(tx: Tx, skill_id: str, version_id: str | None) -> Row:
    joined = "SELECT v.*, s.status FROM skill_versions v JOIN skills s ON s.skill_id = v.skill_id WHERE v.skill_id = ?"
    if version_id is None:
        row = tx.one(f"{joined} ORDER BY v.number DESC LIMIT 1", skill_id)
    else:
        row = tx.one(f"{joined} AND v.version_id = ?", skill_id, version_id)
    if row is None:
        raise (
            _no_skill(skill_id)
            if version_id is None
            else NotFound(
                f"skill {skill_id[:80]!r} has no version {version_id[:80]!r}",
                hint="mentisdb_skill_versions lists them.",
            )
        )
    return row


def _as_skill(row: Row) -> Skill:
    fields = orjson.loads(row["fields"])
    return {
        "skill_id": row["skill_id"],
        "name": fields["name"],
        "description": fields["description"],
        "status": row["status"],
        "status_reason": row["status_reason"],
        "schema_version": row["schema_version"],
        "tags": fields["tags"],
        "triggers": fields["triggers"],
        "warnings": fields["warnings"],
        "latest_version_id": row["version_id"],
        "version_count": row["number"],
        "created_at": rfc3339(from_micros(row["created_at"])),
        "updated_at": rfc3339(from_micros(row["updated_at"])),
        "latest_uploaded_at": rfc3339(from_micros(row["uploaded_at"])),
        "latest_uploaded_by_agent_id": row["uploaded_by_agent_id"],
        "latest_uploaded_by_agent_name": row["uploaded_by_agent_name"],
        "latest_uploaded_by_agent_owner": row["uploaded_by_agent_owner"],
        "latest_source_format": row["source_format"],
    }


def _as_version(row: Row) -> SkillVersion:
    return {
        "version_id": row["version_id"],
        "uploaded_at": rfc3339(from_micros(row["uploaded_at"])),
        "uploaded_by_agent_id": row["uploaded_by_agent_id"],
        "uploaded_by_agent_name": row["uploaded_by_agent_name"],
        "uploaded_by_agent_owner": row["uploaded_by_agent_owner"],
        "source_format": row["source_format"],
        "content_hash": row["content_hash"],
        "schema_version": row["schema_version"],
    }


def _passes(row: Row, chosen: SkillFilter) -> bool:
    fields = orjson.loads(row["fields"])
    wanted: tuple[tuple[Sequence[Any], Sequence[Any]], ...] = (
        (chosen.skill_ids, [row["skill_id"]]),
        (chosen.names, [fields["name"]]),
        (chosen.tags_any, fields["tags"]),
        (chosen.triggers_any, fields["triggers"]),
        (chosen.agent_ids, [row["uploaded_by_agent_id"]]),
        (chosen.agent_names, [row["uploaded_by_agent_name"]]),
        (chosen.agent_owners, [row["uploaded_by_agent_owner"]]),
        (chosen.statuses, [row["status"]]),
        (chosen.formats, [row["source_format"]]),
        (chosen.schema_versions, [row["schema_version"]]),
    )
    if not all(_any_of(given, having) for given, having in wanted):
        return False
    after = chosen.since is None or row["uploaded_at"] >= micros(chosen.since)
    return after and (chosen.until is None or row["uploaded_at"] <= micros(chosen.until))


def _any_of(given: Sequence[Any], having: Sequence[Any]) -> bool:
    return not given or bool({_folded(one) for one in given} & {_folded(one) for one in having})


def _folded(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


def _score(row: Row, text: str | None) -> float:
    """Where a word is found says how much it counts; every word must be found somewhere. Without text all are equal."""
    words = (text or "").casefold().split()
    if not words:
        return 1.0
    fields = orjson.loads(row["fields"])
    places = (
        (8.0, fields["name"].casefold()),
        (6.0, " ".join([row["skill_id"], *fields["tags"], *fields["triggers"]]).casefold()),
        (3.0, fields["description"].casefold()),
        (1.0, row["content"].casefold()),
    )
    scores = [max((weight for weight, place in places if word in place), default=0.0) for word in words]
    return sum(scores) if all(scores) else 0.0
