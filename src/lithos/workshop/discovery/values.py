"""Values of tool discovery: what was seen in a repository, and the answer that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

ToolCategory = Literal["linter", "formatter", "type_checker", "test_framework", "lsp"]
Confidence = Literal["high", "medium", "low"]
CATEGORIES: tuple[ToolCategory, ...] = ("linter", "formatter", "type_checker", "test_framework", "lsp")
ORDER: Mapping[str, int] = {"low": 0, "medium": 1, "high": 2}


class DiscoveredTool(TypedDict):
    name: str
    category: ToolCategory
    language: str
    version: NotRequired[str]
    config_path: NotRequired[str]
    run_command: list[str]
    project_command: NotRequired[list[str]]
    install_cmd: NotRequired[list[str]]
    is_installed: bool
    source: str
    confidence: Confidence
    rationale: NotRequired[str]


class ToolOption(TypedDict):
    tool: DiscoveredTool
    pros: list[str]
    cons: list[str]
    recommended: bool


class AcademicSource(TypedDict):
    id: str
    title: str


class ToolDiscovery(TypedDict):
    tier: int
    confidence: Confidence
    tools: list[DiscoveredTool]
    requires_user: bool
    user_options: NotRequired[list[ToolOption]]
    languages: list[str]
    project: str
    branch: str
    cached: bool
    sources: NotRequired[list[AcademicSource]]
    problems: NotRequired[dict[str, str]]
    note: NotRequired[str]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One place of a repository that names a tool."""

    tool: str
    category: str
    source: str  # config_file, package_manifest, script, ci, pre_commit, editor
    path: str
    confidence: Confidence
    version: str = ""
    command: tuple[str, ...] = ()  # of the project: `make lint`, `npm run lint`

    @property
    def folder(self) -> str:
        """The folder that it holds for."""
        if self.source in ("ci", "pre_commit", "editor"):
            return ""
        return self.path.rpartition("/")[0]


@dataclass(slots=True)
class RepositoryFacts:
    """All that discovery knows of one repository on one branch."""

    languages: dict[str, int] = field(default_factory=dict)
    evidence: list[Evidence] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)  # of tools, from locks
    managers: list[str] = field(default_factory=list)  # uv, pnpm, yarn, …: whose lock is there
    problems: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> RepositoryFacts:
        rows = [Evidence(**{**row, "command": tuple(row["command"])}) for row in kept["evidence"]]
        return cls(kept["languages"], rows, kept["versions"], kept["managers"], kept["problems"])
