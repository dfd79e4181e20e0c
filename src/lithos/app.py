"""Lithos: a list of parts, each built on those before it. This is the one place that joins them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from lithos import from_settings
from lithos.agents import Agents, Tokens
from lithos.chronicle import Checkpoints, Chronicle, Section, Snapshots
from lithos.core.clock import Clock, SystemClock
from lithos.core.ids import Ids, RandomIds
from lithos.core.part import Parts
from lithos.core.periodic import PeriodicJobs
from lithos.graph import Everything
from lithos.graph.knowledge import KnowledgeStore, SourceNodes, open_knowledge
from lithos.graph.sources import Sources
from lithos.jobs import periodic_jobs
from lithos.ledger import Registrar
from lithos.messages import Messages
from lithos.notes import Decay, Knowledge
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
        self._add(PeriodicJobs(periodic_jobs(self, config, feedback)))

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
        self.workshop = self._add(
            from_settings.workshop(
                config,
                storage,
                from_settings.Owners(self.code, ledger, sessions, self.board, self.notes),
                self.file_locks,
                habits,
                self.history,
                self.sources,
            )
        )

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
        known, last_visit = (notes, self.board, self.ledger), self.agents.last_visit
        self.changes = Changes(storage.database, storage.events, *known, self.clock, last_visit=last_visit)
        in_session = SessionBriefing(sessions, self.chronicle, self.board)
        parts = (self.board, notes, self.knowledge, self.changes, self.recall)
        self.briefing = Briefing(*parts, sessions.viewer, in_session, self.messages.waiting_from)
        self.undo = Undo(storage.database, storage.events, notes, self.board, self.garden)

    def _open_graph(self, storage: Storage) -> KnowledgeStore:
        """Before the ledger, which drops what it forgets from it."""
        graph = open_knowledge(derived_folder(storage.data_dir / ".graph") / "knowledge.db", storage.clock)
        self._closing.callback(graph.close)
        return graph

    def _build_graph(self, config: LithosConfig, store: KnowledgeStore, embedding: Embedding, work: WorkIndex) -> None:
        """History and the edges between all domains; after their owners."""
        commits = from_settings.commit_entries(config, self.storage, store, self.code, embedding)
        owners = from_settings.Owners(self.code, self.ledger, self.sessions, self.board, self.notes)
        self.graph = self._add(from_settings.knowledge(config, self.storage, store, owners, commits))
        self.ingest = from_settings.ingest(config, self.storage, self.notes, self.code)
        self.sources = Sources(self.note_search, SourceNodes(self.notes), self.graph, self.code)
        self.trust = self._add(from_settings.trust(config, self.storage, self.graph, owners))
        gate = from_settings.gate(self.trust, owners, embedding)
        self.history = from_settings.history(
            self.ledger, self.sessions, self.code, work, self.graph, gate, self.trust.marks
        )
        self.everything = Everything(self.code, self.history, self.sources, self.graph)
        self.answers = from_settings.answers(
            config, self.storage, self.graph, owners, self.trust, self.history, self.note_search, self.sources
        )

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
