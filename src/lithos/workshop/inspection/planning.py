"""Planning: which tool runs where, on which files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lithos.workshop.discovery import DiscoveredTool, ToolDiscovery, language_of
from lithos.workshop.findings import LINTERS, IssueCategory, LintAdapter

LINT_CATEGORIES = ("linter", "formatter", "type_checker")
_ISSUES: dict[str, IssueCategory] = {"linter": "lint", "formatter": "format", "type_checker": "type"}
# Tools that work on a whole project: the file that marks its folder, and whether the outermost counts.
_MARKERS = {"go": ("go.mod", False), "rust": ("Cargo.toml", True)}
Ask = Callable[[str, str, str], ToolDiscovery]  # (category, folder, language)
LONGEST_ARGUMENTS = 100_000  # characters of paths in one vector
MOST_ARGUMENTS = 500


@dataclass(slots=True)
class Step:
    """One tool in one folder. `adapter` is None for a tool whose output is not understood."""

    tool: DiscoveredTool
    cwd: str
    adapter: LintAdapter | None
    files: list[str] = field(default_factory=list)  # relative to the top


@dataclass(slots=True)
class CheckPlan:
    steps: list[Step] = field(default_factory=list)
    undecided: list[ToolDiscovery] = field(default_factory=list)


def plan_checks(root: Path, files: Iterable[str], categories: Sequence[str], ask: Ask) -> CheckPlan:
    plan = CheckPlan()
    steps: dict[tuple[str, str, str], Step] = {}
    undecided: dict[tuple[str, str], ToolDiscovery] = {}
    folders = grouped(files)
    for category in categories:
        for (folder, language), names in folders.items():
            answer = ask(category, folder, language)
            if answer["requires_user"]:
                undecided.setdefault((category, language), answer)
            for tool in answer["tools"]:
                if not _applies(tool, category, language):
                    continue
                cwd = working_folder(root, folder, tool)
                key = tool["name"], category, cwd
                adapter = adapter_of(tool["name"], category)
                steps.setdefault(key, Step(tool, cwd, adapter)).files += names
    plan.steps, plan.undecided = [*steps.values()], [*undecided.values()]
    return plan


def grouped(files: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    """Files by (folder, language); those of no known language are left out."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in sorted(files):
        language = language_of(path)
        if language:
            found.setdefault((path.rpartition("/")[0], language), []).append(path)
    return found


def adapter_of(tool: str, category: str) -> LintAdapter | None:
    return LINTERS.get((tool, _ISSUES[category])) or LINTERS.get((tool, "type"))


def _applies(tool: DiscoveredTool, category: str, language: str) -> bool:
    """Types of plain JavaScript are checked only where the project says so; .editorconfig is nothing to run."""
    if category == "type_checker" and language == "javascript" and tool["confidence"] == "low":
        return False
    return bool(tool["run_command"])


def working_folder(root: Path, folder: str, tool: DiscoveredTool) -> str:
    """Where the tool is run: the project's folder for Go and Rust, else that of its configuration."""
    marker = _MARKERS.get(tool["language"])
    if marker is not None:
        name, outermost = marker
        found = [each for each in upwards(folder) if (root / each / name).is_file()]
        return (found[-1] if outermost else found[0]) if found else ""
    config = tool.get("config_path", "")
    home = config.rpartition("/")[0]
    return home if home and f"{folder}/".startswith(f"{home}/") else ""


def upwards(folder: str) -> list[str]:
    """The folder and those above it; the top is empty."""
    parts = [part for part in folder.split("/") if part]
    return ["/".join(parts[:count]) for count in range(len(parts), -1, -1)]


def arguments(step: Step, files: Sequence[str]) -> list[list[str]]:
    """Paths as the tool takes them, relative to its folder; several lists where one would be too long."""
    unit = step.adapter.unit if step.adapter is not None else "files"
    if unit == "project":
        return [[]]
    inner = [path[len(step.cwd) + 1 :] if step.cwd else path for path in files]
    if unit == "folders":
        inner = [f"./{path.rpartition('/')[0]}".rstrip("/") for path in inner]
    inner = [f"./{path}" if path.startswith("-") else path for path in dict.fromkeys(inner)]
    lists: list[list[str]] = [[]]
    size = 0
    for path in inner:
        if lists[-1] and (len(lists[-1]) >= MOST_ARGUMENTS or size + len(path) > LONGEST_ARGUMENTS):
            lists.append([])
            size = 0
        lists[-1].append(path)
        size += len(path)
    return lists
