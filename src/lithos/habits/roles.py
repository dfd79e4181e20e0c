"""Which role of the specification has which habit: data for the Guide."""

from __future__ import annotations

from collections.abc import Mapping

HABIT_TOOLS: Mapping[str, tuple[str, ...]] = {
    "scratchpad": ("lithos_scratchpad_write", "lithos_scratchpad_read"),
    "style": ("lithos_get_style_guide",),
    "components": ("lithos_find_component",),
    "mistakes": ("lithos_check_mistakes", "lithos_report_mistake", "lithos_mistake_outcome"),
    "preview": ("lithos_preview_edit",),
    "preferences": ("lithos_get_preferences", "lithos_set_preference", "lithos_preference_feedback"),
    "file_snapshots": ("lithos_get_file", "lithos_read_file"),
    "dependencies": ("lithos_check_dependency",),
    "continuity": ("lithos_save_checkpoint", "lithos_resume_task"),
    "design_tokens": ("lithos_get_design_tokens", "lithos_find_design_token", "lithos_lint_tokens"),
}
ROLE_HABITS: Mapping[str, tuple[str, ...]] = {
    "router": ("preferences",),
    "architect": ("scratchpad", "preferences", "continuity"),
    "engineer": tuple(HABIT_TOOLS),
    "inspector": ("scratchpad", "style", "mistakes", "file_snapshots", "dependencies", "design_tokens"),
    "tester": ("scratchpad", "style", "mistakes", "file_snapshots", "dependencies", "continuity"),
    "designer": ("scratchpad", "components", "preview", "preferences", "design_tokens"),
}
# Roles that a habit asks, rather than roles that have it.
HABIT_SOURCES: Mapping[str, str] = {
    "mistakes": "archivalist",
    "file_snapshots": "librarian",
    "dependencies": "academic",
}
