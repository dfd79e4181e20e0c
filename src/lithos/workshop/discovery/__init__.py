"""Tool discovery in three tiers: what is configured, what is recommended, what the user says."""

from __future__ import annotations

from lithos.workshop.discovery.academic import read_about
from lithos.workshop.discovery.cache import DiscoveryCache
from lithos.workshop.discovery.deciding import Wanted
from lithos.workshop.discovery.discovery import Academic, Discovery, ToolChosen, Workplace, language_of
from lithos.workshop.discovery.programs import Programs, install_command
from lithos.workshop.discovery.values import (
    AcademicSource,
    DiscoveredTool,
    ToolCategory,
    ToolDiscovery,
    ToolOption,
)

__all__ = [
    "Academic",
    "AcademicSource",
    "DiscoveredTool",
    "Discovery",
    "DiscoveryCache",
    "Programs",
    "ToolCategory",
    "ToolChosen",
    "ToolDiscovery",
    "ToolOption",
    "Wanted",
    "Workplace",
    "install_command",
    "language_of",
    "read_about",
]
