"""Toolsets that cut across the parts: each tool has one home, and may be listed here too."""

from __future__ import annotations

FIND = "find"  # the home of the pair that is always listed

# Daily work: remember, recall, read, correct, move, undo, next task, claim, report, hand over, what changed.
CORE = frozenset(
    {
        "lithos_recall",
        "lithos_search",
        "lithos_read",
        "lithos_write",
        "lithos_md_patch_section",
        "lithos_move",
        "lithos_delete",
        "lithos_list",
        "lithos_changes",
        "lithos_get_briefing",
        "lithos_undo",
        "lithos_task_create",
        "lithos_task_ready",
        "lithos_task_status",
        "lithos_task_claim",
        "lithos_task_release",
        "lithos_task_complete",
        "lithos_finding_post",
        "lithos_finding_list",
        "lithos_task_renew",
        "lithos_task_update",
        "lithos_links",
        "lithos_tags",
        "lithos_note_history",
    }
)
# The 20 tools of the Lithos specification.
SPEC = frozenset(
    {
        "lithos_write",
        "lithos_read",
        "lithos_delete",
        "lithos_search",
        "lithos_semantic",
        "lithos_list",
        "lithos_links",
        "lithos_tags",
        "lithos_agent_register",
        "lithos_agent_info",
        "lithos_agent_list",
        "lithos_task_create",
        "lithos_task_claim",
        "lithos_task_renew",
        "lithos_task_release",
        "lithos_task_complete",
        "lithos_task_status",
        "lithos_finding_post",
        "lithos_finding_list",
        "lithos_stats",
    }
)
MEMBERS = {"core": CORE, "spec": SPEC}
