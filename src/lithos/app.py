"""Lithos: a list of parts, each built on those before it. This is the one place that joins them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from lithos import from_settings
from lithos.agents import Agents, Tokens
from lithos.chronicle import Checkpoints, Chronicle, Section, Snapshots
from lithos.core.call import Call
from lithos.core.clock import Clock, SystemClock
from lithos.core.ids import Ids, RandomIds
from lithos.core.part import Parts
from lithos.core.periodic import Job, PeriodicJobs
from lithos.graph import Everything
from lithos.graph.answers import SourceFinder
from lithos.graph.knowledge import KnowledgeStore, SourceNodes, open_knowledge
from lithos.graph.sources import Sources
from lithos.ledger import Registrar
from lithos.messages import Messages
from lithos.notes import Decay, Feedback, Knowledge
from lithos.recall import (
    WORK,
    Briefing,
    Changes,
    CodeKind,
    CommitKind,
    Kind,
    MessageIndex,
    MessageKind,
    NoteKind,
    Recall,
    SessionBriefing,
    SourceKind,
    ThoughtKind,
    Undo,
    WorkIndex,
    WorkKind,
)
from lithos.search import Collection, Embedding, open_embedder, open_reranker
from lithos.skills import Skills
from lithos.storage import Faults, NoFaults, Storage, derived_folder

if TYPE_CHECKING:
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


class Lithos(Parts):
    """Everything a tool may reach. To add a part, build it in `_build` after what it needs."""

    def __init__(self, config: LithosConfig, clock: Clock, ids: Ids, faults: Faults) -> None:
        super().__init__()
        self.clock = clock
        with ExitStack() as failed:
            failed.callback(self.close)
            self._build(config, clock, ids, faults)
            self._open_all()
            failed.pop_all()

    def _build(self, config: LithosConfig, clock: Clock, ids: Ids, faults: Faults) -> None:
        storage = self.storage = self._add(
            Storage(from_settings.storage_options(config), clock=clock, ids=ids, faults=faults)
        )
        database, effects = storage.database, storage.effects
        agents = self.agents = self._add(Agents(database, effects, clock))
        tokens = self.tokens = self._add(Tokens(database, effects, clock))
        sessions = self.sessions = self._add(from_settings.sessions(config, storage))
        messages = self.messages = self._add(from_settings.messages(config, storage, sessions, agents, tokens))

        embedding = self.embedding = Embedding(open_embedder(config.search.embedding_model))
        graph = self._open_graph(storage)
        ledger = self.ledger = self._add(from_settings.ledger(config, storage, embedding, agents, sessions, graph))
        self.registrar = Registrar(ledger, effects)
        self.skills = Skills(
            database, effects, clock, ids, uploader=self.registrar.uploader, refuse_secrets=ledger.refuse_secrets
        )

        promotions = from_settings.promotions(config, storage, ledger)
        collection = from_settings.note_collection(config, storage, embedding)
        notes = self.notes = self._add(from_settings.notes(config, storage, collection, promotions))
        feedback = self._add(from_settings.feedback(config, storage))
        decay = Decay(notes.vault, effects, storage.events, clock)
        self.knowledge = Knowledge(feedback, promotions, decay, notes.near_duplicates)
        self.note_search = from_settings.note_search(config, storage, collection, notes, feedback)

        self.board = self._add(from_settings.board(config, storage, notes, sessions))
        self.garden = from_settings.garden(storage, notes)
        self.code = self._add(from_settings.code(config, storage, embedding))
        work = self._add(WorkIndex(from_settings.work_collection(config, storage, embedding), self.board, self.skills))
        self._build_graph(config, graph, embedding, work)
        mail = self.message_index = self._add(
            MessageIndex(from_settings.message_collection(config, storage, embedding), messages)
        )
        self._build_sessions(config, storage, messages)
        self._build_recall(config, work, mail)
        self._add(embedding)  # after the parts that it embeds for, so that it closes before them
        self._add(PeriodicJobs(self._jobs(config, feedback)))

    def _build_sessions(self, config: LithosConfig, storage: Storage, messages: Messages) -> None:
        """Entries, promotion, snapshots and checkpoints of sessions, above board and ledger."""
        sessions, ledger = self.sessions, self.ledger
        self.chronicle = Chronicle(sessions, ledger)
        self.promotion = from_settings.promotion(config, storage, sessions, ledger)
        habits = self.habits = self._add(
            from_settings.habits(config, storage, self.embedding, sessions, ledger, self.board, self.code, self.garden)
        )
        sections = {**habits.sections, "pending_messages": Section(messages.pending, messages.restore_pending)}
        self.snapshots = Snapshots(
            storage.database, storage.effects, sessions, ledger, storage.clock, storage.ids, sections
        )
        self.checkpoints = Checkpoints(sessions, ledger, storage.clock)
        self.file_locks = self._add(from_settings.file_locks(config, storage))

    def _build_recall(self, config: LithosConfig, work: WorkIndex, mail: MessageIndex) -> None:
        """One question, one list of changes, one briefing over every kind."""
        storage, notes, sessions = self.storage, self.notes, self.sessions
        kinds: list[Kind] = [
            NoteKind(notes, self.note_search),
            *(WorkKind(name, work) for name in WORK),
            ThoughtKind(self.ledger, sessions.viewer),
            CodeKind(self.code),
            CommitKind(self.graph, self.code),
            SourceKind(self.note_search),
            MessageKind(mail, self.messages),
        ]
        self.recall = Recall(kinds, most=config.search.max_results, reranker=open_reranker(config.search.reranker))
        self.changes = Changes(
            storage.database,
            storage.events,
            notes,
            self.board,
            self.ledger,
            self.clock,
            last_visit=self.agents.last_visit,
        )
        self.briefing = Briefing(
            self.board,
            notes,
            self.knowledge,
            self.changes,
            self.recall,
            sessions.viewer,
            SessionBriefing(sessions, self.chronicle, self.board),
            self.messages.waiting_from,
        )
        self.undo = Undo(storage.database, storage.events, notes, self.board, self.garden)

    def _open_graph(self, storage: Storage) -> KnowledgeStore:
        """Before the ledger, which drops what it forgets from it."""
        graph = open_knowledge(derived_folder(storage.data_dir / ".graph") / "knowledge.db", storage.clock)
        self._closing.callback(graph.close)
        return graph

    def _build_graph(self, config: LithosConfig, store: KnowledgeStore, embedding: Embedding, work: WorkIndex) -> None:
        """History and the edges between all domains; after their owners."""
        commits = from_settings.commit_entries(config, self.storage, store, self.code, embedding)
        self.graph = self._add(
            from_settings.knowledge(
                config,
                self.storage,
                store,
                ledger=self.ledger,
                sessions=self.sessions,
                code=self.code,
                board=self.board,
                commits=commits,
                notes=self.notes,
            )
        )
        self.ingest = from_settings.ingest(config, self.storage, self.notes, self.code)
        self.sources = Sources(self.note_search, SourceNodes(self.notes), self.graph, self.code)
        owners = from_settings.Owners(self.code, self.ledger, self.sessions, self.board)
        self.trust = self._add(from_settings.trust(config, self.storage, self.graph, owners))
        gate = from_settings.gate(self.trust, owners, embedding)
        self.history = from_settings.history(self.ledger, self.sessions, self.code, work, self.graph, gate)
        self.everything = Everything(self.code, self.history, self.sources, self.graph)
        finder = SourceFinder(self.sources, SourceNodes(self.notes))
        self.answers = from_settings.answers(config, self.storage, self.graph, owners, self.trust, self.history, finder)

    def _jobs(self, config: LithosConfig, feedback: Feedback) -> Iterator[Job]:
        yield Job("finish the start", FINISH_SECONDS, self.finish_opening)
        yield Job("drop old answers, versions and trash", PRUNE_SECONDS, self.storage.prune)
        yield Job("check pages of the database", SCRUB_SECONDS, self.storage.check_some_pages)
        yield Job("sweep staged files", SWEEP_SECONDS, self.storage.sweep)
        yield Job("record when agents were seen", FLUSH_SECONDS, self.agents.flush)
        yield Job("record when tokens were used", FLUSH_SECONDS, self.tokens.flush)
        yield Job("record receipts", FLUSH_SECONDS, feedback.flush)
        yield Job("drop old receipts and feedback", PRUNE_SECONDS, feedback.prune)
        yield Job("drop former paths of notes", PRUNE_SECONDS, self.notes.prune)
        yield Job("note files that were read", FLUSH_SECONDS, self.habits.files.flush)
        yield Job("drop old working notes", PRUNE_SECONDS, partial(self.habits.prune, config.habits.keep_days))
        yield Job("suspend idle sessions", TIMEOUT_SECONDS, self.sessions.expire)
        yield Job("drop old messages", PRUNE_SECONDS, self.message_index.prune)
        yield Job("drop old proposals", PRUNE_SECONDS, self.garden.proposals.prune)
        yield Job("compare search with its owners", COMPARE_SECONDS, self.compare_indexes)
        yield Job("check claims about code", RECHECK_SECONDS, self.trust.follow)
        yield Job("drop old verdicts", PRUNE_SECONDS, self.trust.prune)
        yield Job("end an idle parsing process", REST_SECONDS, self.code.rest)
        yield Job("sign checkpoints", config.ledger.checkpoint_seconds, self.ledger.checkpoint_all)
        yield Job("verify some of each chain", 1.0, self.ledger.verify_some)
        if hours := config.lifecycle.decay_hours:
            run = partial(self.knowledge.decay.run, Call("lithos_decay", agent="lithos"), "scheduled")
            yield Job("mark expired notes stale", hours * 3600, run)
        if config.backup.every_hours:
            yield Job("make a backup when it is due", BACKUP_SECONDS, partial(from_settings.backup_when_due, config))

    def collections(self) -> dict[str, Collection]:
        """Contents of search, by owner."""
        thoughts = self.ledger.collection
        return {"notes": self.note_search.collection} | ({"thoughts": thoughts} if thoughts is not None else {})

    def compare_indexes(self) -> int:
        """Compare what search holds with its owners and apply what it lacks; the number of changes."""
        return self.notes.complete() + self.ledger.complete_search()


def open_lithos(
    config: LithosConfig, *, clock: Clock | None = None, ids: Ids | None = None, faults: Faults | None = None
) -> Lithos:
    return Lithos(config, clock or SystemClock(), ids or RandomIds(), faults or NoFaults())
