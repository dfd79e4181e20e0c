"""Periodic jobs of a host: one line each. `app` gives them to `PeriodicJobs`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from lithos import from_settings
from lithos.core.call import Call
from lithos.core.periodic import Job
from lithos.notes import Feedback
from lithos.search import give_back_memory

if TYPE_CHECKING:
    from lithos.app import Lithos
    from lithos.settings import LithosConfig

FLUSH_SECONDS = 2.0  # how late the times at which agents and tokens were last seen reach the disk
SWEEP_SECONDS = 2.0  # between two looks at the files that replacements left
PRUNE_SECONDS = 3600.0
BACKUP_SECONDS = 60.0  # between two looks at the age of the newest backup
COMPARE_SECONDS = 60.0
REST_SECONDS = 30.0
TIMEOUT_SECONDS = 15.0  # between two looks at the time-outs of sessions
FINISH_SECONDS = 5.0
SCRUB_SECONDS = 10.0
RECHECK_SECONDS = 2.0
RECHECK_PATIENCE = 10.0
TRIM_SECONDS = 60.0


def periodic_jobs(lithos: Lithos, config: LithosConfig, feedback: Feedback) -> Iterator[Job]:
    yield Job("finish the start", FINISH_SECONDS, lithos.finish_opening)
    yield Job("drop old answers, versions and trash", PRUNE_SECONDS, lithos.storage.prune)
    yield Job("check pages of the database", SCRUB_SECONDS, lithos.storage.check_some_pages)
    yield Job("sweep staged files", SWEEP_SECONDS, lithos.storage.sweep)
    yield Job("record when agents were seen", FLUSH_SECONDS, lithos.agents.flush)
    yield Job("record when tokens were used", FLUSH_SECONDS, lithos.tokens.flush)
    yield Job("record receipts", FLUSH_SECONDS, feedback.flush)
    yield Job("drop old receipts and feedback", PRUNE_SECONDS, feedback.prune)
    yield Job("drop former paths of notes", PRUNE_SECONDS, lithos.notes.prune)
    yield Job("note files that were read", FLUSH_SECONDS, lithos.habits.files.flush)
    yield Job("drop old working notes", PRUNE_SECONDS, partial(lithos.habits.prune, config.habits.keep_days))
    yield Job("suspend idle sessions", TIMEOUT_SECONDS, lithos.sessions.expire)
    yield Job("drop old messages", PRUNE_SECONDS, lithos.message_index.prune)
    yield Job("remove idle worktrees", PRUNE_SECONDS, lithos.workshop.tidy)
    yield Job("drop old proposals", PRUNE_SECONDS, lithos.garden.proposals.prune)
    yield Job("compare search with its owners", COMPARE_SECONDS, lithos.compare_indexes)
    yield Job("check claims about code", RECHECK_SECONDS, lithos.trust.follow, RECHECK_PATIENCE)
    yield Job("drop old verdicts", PRUNE_SECONDS, lithos.trust.prune)
    yield Job("give unused memory back", TRIM_SECONDS, give_back_memory)
    yield Job("end an idle parsing process", REST_SECONDS, lithos.code.rest)
    yield Job("sign checkpoints", config.ledger.checkpoint_seconds, lithos.ledger.checkpoint_all)
    yield Job("verify some of each chain", 1.0, lithos.ledger.verify_some)
    if hours := config.lifecycle.decay_hours:
        run = partial(lithos.knowledge.decay.run, Call("lithos_decay", agent="lithos"), "scheduled")
        yield Job("mark expired notes stale", hours * 3600, run)
    if config.backup.every_hours:
        yield Job("make a backup when it is due", BACKUP_SECONDS, partial(from_settings.backup_when_due, config))
