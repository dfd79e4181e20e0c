"""Lithos: a list of parts, each built on those before it. This is the one place that joins them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from lithos import from_settings, recall
from lithos.agents import Agents, Tokens
from lithos.chronicle import Checkpoints, Chronicle, Section, Snapshots
from lithos.core.clock import Clock, SystemClock
from lithos.core.ids import Ids, RandomIds
from lithos.core.part import Parts
from lithos.core.periodic import PeriodicJobs
from lithos.from_settings import Owners
from lithos.graph import Everything
from lithos.graph.knowledge import KnowledgeStore, SourceNodes, open_knowledge
from lithos.graph.sources import Sources
from lithos.jobs import periodic_jobs
from lithos.ledger import Registrar
from lithos.notes import Decay, Knowledge
from lithos.search import Collection, Embedding, open_embedder, open_reranker
from lithos.skills import Skills
from lithos.storage import Faults, NoFaults, Storage

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
        options = from_settings.storage_options(config)
        storage = self.storage = self._add(Storage(options, clock=clock, ids=ids, faults=faults))
        database, effects = storage.database, storage.effects
        agents = self.agents = self._add(Agents(database, effects, clock))
        tokens = self.tokens = self._add(Tokens(database, effects, clock))
        sessions = self.sessions = self._add(from_settings.sessions(config, storage))
        messages = self.messages = self._add(from_settings.messages(config, storage, sessions, agents, tokens))

        embedding = self.embedding = Embedding(open_embedder(config.search.embedding_model))
        edges = self._add(open_knowledge(storage.data_dir, clock))  # before the ledger, which drops what it forgets
        ledger = self.ledger = self._add(from_settings.ledger(config, storage, embedding, agents, sessions, edges))
        registrar = self.registrar = Registrar(ledger, effects)
        self.skills = Skills(
            database, effects, clock, ids, uploader=registrar.uploader, refuse_secrets=ledger.refuse_secrets
        )

        promotions = from_settings.promotions(config, storage, ledger)
        collection = from_settings.note_collection(config, storage, embedding)
        notes = self.notes = self._add(from_settings.notes(config, storage, collection, promotions))
        feedback = self._add(from_settings.feedback(config, storage))
        decay = Decay(notes.vault, effects, storage.events, clock)
        self.knowledge = Knowledge(feedback, promotions, decay, notes.near_duplicates)
        self.note_search = from_settings.note_search(config, storage, collection, notes, feedback)

        board = self.board = self._add(from_settings.board(config, storage, notes, sessions))
        self.garden = from_settings.garden(storage, notes)
        code = self.code = self._add(from_settings.code(config, storage, embedding))
        owners = from_settings.Owners(code, ledger, sessions, board, notes)
        work = self._add(
            recall.WorkIndex(from_settings.work_collection(config, storage, embedding), board, self.skills)
        )
        mail = from_settings.message_collection(config, storage, embedding)
        self.message_index = self._add(recall.MessageIndex(mail, messages))
        self._build_graph(config, owners, edges, work)
        self._build_sessions(config, owners)
        self._build_recall(config, work)
        self._add(embedding)  # after the parts that it embeds for, so that it closes before them
        self._add(PeriodicJobs(periodic_jobs(self, config, feedback), embedding.writes))

    def _build_graph(self, config: LithosConfig, owners: Owners, edges: KnowledgeStore, work: recall.WorkIndex) -> None:
        """History, outside sources and the edges between all domains; after their owners."""
        storage, notes, code = self.storage, owners.notes, owners.code
        commits = from_settings.commit_entries(config, storage, edges, code, self.embedding)
        graph = self.graph = self._add(from_settings.knowledge(config, storage, edges, owners, commits))
        self.ingest = from_settings.ingest(config, storage, notes, code)
        self.sources = Sources(self.note_search, SourceNodes(notes), graph, code)
        trust = self.trust = self._add(from_settings.trust(config, storage, graph, owners))
        gate = from_settings.gate(trust, owners, self.embedding)
        self.history = from_settings.history(owners, work, graph, gate, trust.marks)
        self.everything = Everything(code, self.history, self.sources, graph)
        self.answers = from_settings.answers(
            config, storage, graph, owners, trust, self.history, self.note_search, self.sources
        )

    def _build_sessions(self, config: LithosConfig, owners: Owners) -> None:
        """Entries, snapshots and checkpoints of sessions, habits and the workshop; above board, ledger and code."""
        storage, sessions, ledger, messages = self.storage, owners.sessions, owners.ledger, self.messages
        self.chronicle = Chronicle(sessions, ledger)
        self.promotion = from_settings.promotion(config, storage, sessions, ledger)
        habits = self.habits = self._add(from_settings.habits(config, storage, self.embedding, owners, self.garden))
        sections = {**habits.sections, "pending_messages": Section(messages.pending.section, messages.pending.restore)}
        self.snapshots = Snapshots(
            storage.database, storage.effects, sessions, ledger, storage.clock, storage.ids, sections
        )
        self.checkpoints = Checkpoints(sessions, ledger, storage.clock)
        locks = self.file_locks = self._add(from_settings.file_locks(config, storage))
        self.workshop = self._add(
            from_settings.workshop(config, storage, owners, locks, habits, self.history, self.sources)
        )

    def _build_recall(self, config: LithosConfig, work: recall.WorkIndex) -> None:
        """One question, one list of changes, one briefing over every kind."""
        storage, notes, sessions, board, ledger = self.storage, self.notes, self.sessions, self.board, self.ledger
        kinds: list[recall.Kind] = [
            recall.NoteKind(notes, self.note_search),
            *(recall.WorkKind(name, work) for name in recall.WORK),
            recall.ThoughtKind(ledger, sessions.viewer),
            recall.CodeKind(self.code),
            recall.CommitKind(self.graph, self.code),
            recall.SourceKind(self.note_search),
            recall.MessageKind(self.message_index, self.messages),
        ]
        self.recall = recall.Recall(
            kinds, most=config.search.max_results, reranker=open_reranker(config.search.reranker)
        )
        self.changes = recall.Changes(
            storage.database, storage.events, notes, board, ledger, self.clock, last_visit=self.agents.last_visit
        )
        in_session = recall.SessionBriefing(sessions, self.chronicle, board)
        parts = (board, notes, self.knowledge, self.changes, self.recall)
        self.briefing = recall.Briefing(*parts, sessions.viewer, in_session, self.messages.waiting_from)
        self.undo = recall.Undo(storage.database, storage.events, notes, board, self.garden)

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
