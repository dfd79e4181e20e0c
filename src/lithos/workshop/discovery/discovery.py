"""Discovery: which linter, formatter, type checker and test framework a project uses, and who said so."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.text import nearest
from lithos.errors import InvalidInput, NotFound
from lithos.graph.git import Git
from lithos.graph.history import TOOL_DISCOVERY, HistoryWriter, NewEntry
from lithos.habits import UserPreferences
from lithos.workshop.discovery.cache import Discovered, DiscoveryCache
from lithos.workshop.discovery.deciding import Decision, Known, Wanted, decide, fits, joined, languages_of
from lithos.workshop.discovery.programs import Programs, entry
from lithos.workshop.discovery.scanning import facts_of, hash_of, scan, stamps_of
from lithos.workshop.discovery.tables import by_extension, languages, tools
from lithos.workshop.discovery.values import (
    AcademicSource,
    DiscoveredTool,
    RepositoryFacts,
    ToolCategory,
    ToolDiscovery,
    ToolOption,
)
from lithos.workshop.run_files import read_beneath

LARGEST_READ = 13 * 2**20
LONGEST_TOOL = 200
MOST_PROBLEMS = 5
_SHELL = frozenset("|&;<>$`\n")
Academic = Callable[[str, str], Sequence[AcademicSource]]  # (topic, technology) → sources that speak of it


class ToolChosen(TypedDict):
    chosen: bool
    category: str
    language: str
    tool: str
    project: str
    preference: str
    counts_as: str
    is_installed: bool
    run_command: list[str]


@dataclass(frozen=True, slots=True)
class Workplace:
    """The checkout that a question is about."""

    project: str
    branch: str
    root: Path
    session_id: str
    git: Callable[[], Git]  # asked only where files are listed: opening it costs more than a cached answer
    programs: Programs


class Discovery:
    def __init__(
        self, cache: DiscoveryCache, preferences: UserPreferences, history: HistoryWriter, academic: Academic
    ) -> None:
        self.cache = cache
        self._preferences = preferences
        self._history = history
        self._academic = academic

    def discover(self, call: Call, place: Workplace, wanted: Wanted, *, force_refresh: bool = False) -> ToolDiscovery:
        path = _checked_path(place.root, wanted.path)
        known = None if force_refresh else self.cache.find(place.project, place.branch, place.root)
        found = known or self._look(call, place)
        wanted = replace(wanted, path=path)
        chosen = self._languages(place, wanted, found.facts)
        knowledge = self._known(call, place, wanted.category, found.facts)
        decisions = {language: decide(wanted, language, knowledge) for language in chosen}
        answer = _answer(place, decisions, found.facts)
        answer["cached"] = known is not None
        if sources := self._sources(decisions, wanted.category):
            answer["sources"] = sources
        return answer

    def choose(self, call: Call, place: Workplace, category: ToolCategory, language: str, tool: str) -> ToolChosen:
        """Keep the choice as a preference. It wins in this project, and is recommended in others."""
        language = _checked_language(language)
        name = _checked_tool(tool, category, language)
        key = f"tools.{category}.{language}.{_project_key(place.project)}"
        stored = self._preferences.set(call, key, name)
        known = entry(name)
        return {
            "chosen": True,
            "category": category,
            "language": language,
            "tool": name,
            "project": place.project,
            "preference": stored["category"],
            "counts_as": stored["counts_as"],
            "is_installed": place.programs.find(known) is not None,
            "run_command": [*known.run.get(category, shlex.split(name))],
        }

    # -- steps

    def _look(self, call: Call, place: Workplace) -> Discovered:
        """Read the repository, keep what it says, and note it in the history where it is news."""
        listed = place.git().run("ls-files", "-co", "--exclude-standard", "-z", "--deduplicate")
        paths = [name for name in listed.decode("utf-8", "surrogateescape").split("\0") if name]
        scanned = scan(paths)
        read = _reader(place.root)
        stamps = stamps_of(place.root, scanned)
        facts = facts_of(scanned, read)
        found = Discovered(place.project, place.branch, hash_of(scanned, read), stamps, facts, place.session_id)
        before = self.cache.row(place.project, place.branch)
        if before is not None and before.config_hash == found.config_hash:
            found = replace(found, thought_id=before.thought_id)
        elif facts.evidence:
            found = replace(found, thought_id=self._note(call, place, facts))
        self.cache.keep(place.root, found)
        return found

    def _note(self, call: Call, place: Workplace, facts: RepositoryFacts) -> str:
        named: dict[str, dict[str, None]] = {}
        for each in facts.evidence:
            version = facts.versions.get(each.tool, "")
            named.setdefault(each.category, {})[f"{each.tool} {version}".strip() + f" ({each.path})"] = None
        lines = [f"{category}: {', '.join([*names][:8])}" for category, names in sorted(named.items())]
        content = f"Tools of the project {place.project} on {place.branch}.\n" + "\n".join(lines)
        entry_ = NewEntry(content[:4_000], "FactLearned", session_id=place.session_id, tags=(TOOL_DISCOVERY,))
        return self._history.store(call, entry_)["id"]

    def _languages(self, place: Workplace, wanted: Wanted, facts: RepositoryFacts) -> list[str]:
        if wanted.languages:
            return [*dict.fromkeys(_checked_language(each) for each in wanted.languages)]
        if not wanted.path:
            return languages_of(facts, facts.languages)
        if (place.root / wanted.path).is_file():
            language = language_of(wanted.path)
            return [language] if language else []
        listed = place.git().run("ls-files", "-co", "--exclude-standard", "-z", "--deduplicate", "--", wanted.path)
        counts = Counter(language_of(path.decode("utf-8", "surrogateescape")) for path in listed.split(b"\0") if path)
        del counts[""]
        return languages_of(facts, dict(counts.most_common()))

    def _known(self, call: Call, place: Workplace, category: str, facts: RepositoryFacts) -> Known:
        effective = self._preferences.get(call, f"tools.{category}")["effective"]
        chosen, preferred, elsewhere = {}, {}, {}
        for name, value in effective.items():
            _, _, language, *project = name.split(".", 3) + [""] * (3 - name.count("."))
            if not project or not project[0]:
                preferred[language] = value
            elif project[0] == _project_key(place.project):
                chosen[language] = value
            else:
                elsewhere[language] = value
        return Known(facts, place.programs, chosen, preferred, elsewhere)

    def _sources(self, decisions: Mapping[str, Decision], category: str) -> list[AcademicSource]:
        """Sources that the academic has read about a language whose tools the repository does not say."""
        found: dict[str, AcademicSource] = {}
        for language, decision in decisions.items():
            if decision.confidence == "low":
                found |= {each["id"]: each for each in self._academic(category.replace("_", " "), language)}
        return [*found.values()][:5]


def language_of(path: str) -> str:
    """The language of a file, by its name; empty: none of the table."""
    name = path[path.rfind("/") + 1 :]
    return by_extension().get(name[name.rfind(".") + 1 :]) or by_extension().get(name, "")


def _answer(place: Workplace, decisions: Mapping[str, Decision], facts: RepositoryFacts) -> ToolDiscovery:
    tier, confidence = joined([*decisions.values()])
    found: list[DiscoveredTool] = [tool for each in decisions.values() for tool in each.tools]
    options: list[ToolOption] = [option for each in decisions.values() for option in each.options]
    answer: ToolDiscovery = {
        "tier": tier,
        "confidence": confidence,
        "tools": found,
        "requires_user": bool(options),
        "languages": [*decisions],
        "project": place.project,
        "branch": place.branch,
        "cached": False,
    }
    if options:
        answer["user_options"] = options
    if facts.problems:
        answer["problems"] = dict([*facts.problems.items()][:MOST_PROBLEMS])
    notes = [each.note for each in decisions.values() if each.note]
    if options:
        notes.append("Ask the user, then lithos_tools_choose.")
    if not decisions:
        notes.append("No file here is of a language that discovery knows: pass languages.")
    if notes:
        answer["note"] = " ".join(notes)
    return answer


def _checked_path(root: Path, path: str) -> str:
    """The path relative to the worktree, without `.`; it must exist and stay inside."""
    clean = os.path.normpath(path.strip() or ".")
    if "\0" in clean or clean.startswith(("/", "..")) or clean.split("/")[0] == ".git":
        raise InvalidInput(f"path {path[:200]!r} is outside of the worktree", hint='Paths are relative, as "src".')
    if clean == ".":
        return ""
    if not (root / clean).resolve().is_relative_to(root.resolve()):
        raise InvalidInput(f"path {path[:200]!r} leads outside of the worktree", hint="Links are not followed there.")
    if not (root / clean).exists():
        raise NotFound(f"there is no {path[:200]!r} in the worktree", hint="Paths are relative to its top.")
    return clean


def _checked_language(name: str) -> str:
    known = languages()
    wanted = {"shell": "bash", "sh": "bash", "c++": "cpp", "c#": "csharp", "js": "javascript", "ts": "typescript"}
    found = wanted.get(name.strip().casefold(), name.strip().casefold())
    if found not in known:
        meant = nearest(found, known)
        hint = f"Did you mean {meant}?" if meant else f"There are: {', '.join(known)}."
        raise InvalidInput(f"language {name[:80]!r} is not known", hint=hint)
    return found


def _checked_tool(tool: str, category: str, language: str) -> str:
    """A tool of the table for this use, or a command that a person names; never a line for a shell."""
    name = " ".join(tool.split())
    if not name or len(name) > LONGEST_TOOL:
        raise InvalidInput("tool is empty or too long", hint="Name a tool, or a command as make lint.")
    if _SHELL & set(name):
        raise InvalidInput("tool holds shell syntax, and no shell is used", hint="Name one command: make lint.")
    if name in tools() and not fits(name, category, language):
        able = [each for each in tools() if fits(each, category, language)]
        raise InvalidInput(f"{name} is no {category} for {language}", hint=f"For example: {', '.join(able[:6])}.")
    try:
        shlex.split(name)
    except ValueError as error:
        raise InvalidInput(f"tool is no command: {error}", hint="Close its quotes.") from None
    return name


def _project_key(project: str) -> str:
    """As a part of a preference's category: those have at most 80 characters and no capitals."""
    return "_".join(project.casefold().split())[:44].replace(".", "_")


def _reader(root: Path) -> Callable[[str, int], bytes | None]:
    """Files of the worktree; a link is not followed."""
    return lambda path, most: read_beneath(root, path, min(most, LARGEST_READ))
