"""Deciding: which tools answer a question, in three tiers. Pure: facts, preferences and what is installed come in."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lithos.workshop.discovery.programs import Programs, entry, install_vector
from lithos.workshop.discovery.tables import Recommendation, ToolEntry, languages, tools
from lithos.workshop.discovery.values import (
    ORDER,
    Confidence,
    DiscoveredTool,
    Evidence,
    RepositoryFacts,
    ToolCategory,
    ToolOption,
)

_SCRIPT_WORDS = {"linter": "lint", "formatter": "format", "type_checker": "type", "test_framework": "test"}
LEAST_SHARE = 0.05  # of the source files, for a language that nothing else names


@dataclass(frozen=True, slots=True)
class Wanted:
    category: ToolCategory
    path: str = ""  # '' is the top
    languages: Sequence[str] = ()


@dataclass(slots=True)
class Decision:
    """The part of an answer that concerns one language."""

    tier: int
    confidence: Confidence
    tools: list[DiscoveredTool] = field(default_factory=list)
    options: list[ToolOption] = field(default_factory=list)
    note: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """Everything that a decision rests on."""

    facts: RepositoryFacts
    programs: Programs
    chosen: Mapping[str, str]  # language → tool that was chosen for this project
    preferred: Mapping[str, str]  # language → tool that the user prefers everywhere
    elsewhere: Mapping[str, str]  # language → tool that was chosen for another project


def languages_of(facts: RepositoryFacts, counts: Mapping[str, int]) -> list[str]:
    """The languages that count: with a share of the files, or with a tool that is configured for them."""
    total = sum(counts.values()) or 1
    named = {name for each in facts.evidence for name in entry(each.tool).languages[:1] if each.confidence == "high"}
    return [name for name, count in counts.items() if count / total >= LEAST_SHARE or name in named]


def decide(wanted: Wanted, language: str, known: Known) -> Decision:
    """Tier 1: what is configured. Tier 2: what is recommended. Tier 3: what the user says."""
    if (choice := known.chosen.get(language)) is not None:
        return Decision(3, "high", [_chosen(wanted, language, choice, known, "chosen for this project")])
    seen = _seen(wanted, language, known)
    if strong := [each for each in seen if each["confidence"] == "high"]:
        return Decision(1, "high", strong)
    if ready := [each for each in seen if each["is_installed"]]:
        return Decision(1, "medium", ready)
    if len(seen) == 1:
        return Decision(2, "medium", seen)
    if (choice := known.preferred.get(language)) is not None:
        return Decision(3, "high", [_chosen(wanted, language, choice, known, "the user's preference")])
    table = languages().get(language)
    advice = table.recommended.get(wanted.category) if table is not None else None
    if seen:
        names = tuple(each["name"] for each in seen)
        return Decision(
            3, "medium", options=[*_options(wanted, language, Recommendation(names[0], False, names), known)]
        )
    if advice is None:
        return Decision(2, "low", note=f"no {wanted.category} is in common use for {language}")
    if advice.satisfactory:
        tool = _shown(entry(advice.tool), wanted.category, language, known, "academic_research", "low")
        return Decision(2, "low", [{**tool, "rationale": f"the common choice for {language}"}])
    return Decision(3, "low", options=[*_options(wanted, language, advice, known)])


def _seen(wanted: Wanted, language: str, known: Known) -> list[DiscoveredTool]:
    """Tools that the repository names for this path, the best evidence of each."""
    best: dict[str, list[Evidence]] = {}
    for each in known.facts.evidence:
        if each.category == wanted.category and language in entry(each.tool).languages and _holds(each, wanted.path):
            best.setdefault(each.tool, []).append(each)
    own = {tool: rows for tool, rows in best.items() if not entry(tool).runner}
    found = [_merged(rows, wanted, language, known) for rows in (own or best).values()]
    strong = {each["name"] for each in found if each["confidence"] == "high"}
    return sorted((each for each in found if each["name"] in strong or not strong), key=lambda each: each["name"])


def _holds(each: Evidence, path: str) -> bool:
    """Evidence counts for the folder of its file and below; a question about a folder sees what is inside it."""
    folder = each.folder
    return not folder or not path or f"{path}/".startswith(f"{folder}/") or folder.startswith(f"{path}/")


def _merged(rows: list[Evidence], wanted: Wanted, language: str, known: Known) -> DiscoveredTool:
    order = ("config_file", "script", "pre_commit", "ci", "package_manifest", "editor")
    depth = {each: f"{wanted.path}/".startswith(f"{each.folder}/") * len(each.folder) for each in rows}
    first = min(rows, key=lambda each: (-ORDER[each.confidence], order.index(each.source), -depth[each], each.path))
    tool = _shown(entry(first.tool), wanted.category, language, known, first.source, first.confidence)
    config = next((each.path for each in (first, *rows) if each.source == "config_file"), "")
    if config:
        tool["config_path"] = config
    pinned = next((each.version for each in rows if each.version), "")
    if "version" not in tool and pinned:
        tool["version"] = pinned
    if command := _project_command(rows, wanted.category, known.facts.managers):
        tool["project_command"] = command
    tool["rationale"] = "named in " + ", ".join(dict.fromkeys(each.path for each in rows[:4]))
    return tool


def _project_command(rows: Sequence[Evidence], category: ToolCategory, managers: Sequence[str]) -> list[str]:
    """The script or target that the project has for this use: `test` rather than `dev`, by its package manager."""
    commands = [each.command for each in rows if each.command]
    if not commands:
        return []
    word = _SCRIPT_WORDS.get(category, category)
    best = min(commands, key=lambda each: (each[-1] != word, word not in each[-1]))  # the first of equals
    manager = next((each for each in managers if each in ("pnpm", "yarn", "bun")), "npm")
    return [manager, *best[1:]] if best[0] == "npm" else [*best]


def _shown(
    tool: ToolEntry, category: ToolCategory, language: str, known: Known, source: str, confidence: Confidence
) -> DiscoveredTool:
    installed = known.programs.find(tool) is not None
    found: DiscoveredTool = {
        "name": tool.name,
        "category": category,
        "language": language,
        "run_command": [*tool.run.get(category, shlex.split(tool.name))],
        "is_installed": installed,
        "source": source,
        "confidence": confidence,
    }
    version = known.programs.version(tool) or known.facts.versions.get(tool.name, "")
    if version:
        found["version"] = version
    install = [] if installed else install_vector(tool, known.facts.managers)
    if install:
        found["install_cmd"] = install
    return found


def _chosen(wanted: Wanted, language: str, choice: str, known: Known, why: str) -> DiscoveredTool:
    tool = _shown(entry(choice), wanted.category, language, known, "user_choice", "high")
    configured = [each for each in known.facts.evidence if each.tool == choice and each.source == "config_file"]
    if configured:
        tool["config_path"] = configured[0].path
    return {**tool, "rationale": why}


def _options(wanted: Wanted, language: str, advice: Recommendation, known: Known) -> Iterator[ToolOption]:
    liked = known.elsewhere.get(language)
    recommended = liked if liked in advice.options else advice.tool
    for name in advice.options:
        tool = entry(name)
        shown = _shown(tool, wanted.category, language, known, "academic_research", "low")
        pros = [*tool.pros, *(["you chose it for another project"] if name == liked else [])]
        yield {"tool": shown, "pros": pros, "cons": [*tool.cons], "recommended": name == recommended}


def fits(name: str, category: str, language: str) -> bool:
    """Whether the table knows the tool for this use."""
    known = tools().get(name)
    return known is not None and category in known.run and language in known.languages


def joined(decisions: Sequence[Decision]) -> tuple[int, Confidence]:
    """One tier and one confidence for several languages: the last tier that was needed, the least sure."""
    if not decisions:
        return 2, "low"
    least = min((each.confidence for each in decisions), key=lambda each: ORDER[each])
    return max(each.tier for each in decisions), least
