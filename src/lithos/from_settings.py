"""Each part built from its section of the settings; `app` puts them in order. Below here, parts know no settings."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lithos.agents import Agents, Tokens
from lithos.backup import MemoryPlaces, backup_if_due
from lithos.board import Board, Terms, check_token
from lithos.board import Notes as BoardNotes
from lithos.chronicle import Promotion
from lithos.core.call import Call
from lithos.errors import ConfigInvalid
from lithos.garden import GARDEN, Garden, NoteFiles, load_policy
from lithos.graph.answers import (
    CodeFinder,
    CommandProse,
    Finder,
    FirewallGate,
    HistoryFinder,
    HistoryOwners,
    Intent,
    NoteFinder,
    NoteStates,
    Prose,
    Resolver,
    SourceFinder,
    StoredJudge,
)
from lithos.graph.code import KEYWORDS as CODE_KEYWORDS
from lithos.graph.code import Code, CodeOptions, RootSpec
from lithos.graph.history import (
    BoardEntries,
    BoardSearch,
    EntryGate,
    History,
    HistoryWriter,
    Marks,
    ThoughtEntries,
)
from lithos.graph.knowledge import (
    COMMIT_KEYWORDS,
    COMMIT_NUMBERS,
    AssertedEdges,
    BoardFollower,
    CodeFollower,
    CommitEntries,
    CommitFollower,
    CommitStore,
    Follower,
    Knowledge,
    KnowledgeStore,
    Nodes,
    NoteNodes,
    SourceFollower,
    SourceNodes,
    ThoughtFollower,
    thought_origin,
)
from lithos.graph.sources import AllowedSource, Crawls, Fetcher, Ingest, Places, Sources
from lithos.graph.trust import (
    DECAYS,
    CheckRows,
    ConflictFinder,
    ConflictRows,
    Decay,
    Firewall,
    NodeTexts,
    Trust,
    WrittenFollower,
)
from lithos.habits import HabitGround, HabitOptions, Habits
from lithos.ledger import THOUGHT_KEYWORDS, THOUGHT_NUMBERS, Environment, Ledger, ThoughtSearch, host_key
from lithos.messages import MessageLimits, Messages
from lithos.messages import Names as MessageNames
from lithos.notes import (
    NOTE_KEYWORDS,
    NOTE_NUMBERS,
    ROOT,
    Feedback,
    FileRules,
    Notes,
    NoteSearch,
    NotesEnvironment,
    Promotions,
    PromotionUses,
    WatchOptions,
    open_notes,
)
from lithos.recall import MESSAGE_KEYWORDS, WORK_KEYWORDS, WORK_NUMBERS
from lithos.search import Collection, Embedding, PassageLimits, open_collection
from lithos.sessions import FileLocks, LockTerms, SessionConfig, Sessions
from lithos.storage import Limits, Storage, StorageOptions, scrub
from lithos.workshop import RunLimits, Workshop, WorkshopGround, WorkshopOptions, read_about

if TYPE_CHECKING:
    from lithos.settings import LithosConfig


# Embedding a repository takes minutes: a search of code answers from words meanwhile and says `degraded`.
CODE_WAIT_SECONDS = 0.3


@dataclass(frozen=True)
class Owners:
    """The parts whose texts and code the graph joins."""

    code: Code
    ledger: Ledger
    sessions: Sessions
    board: Board
    notes: Notes


def storage_options(config: LithosConfig) -> StorageOptions:
    files = config.storage
    data_dir = files.data_dir.expanduser().absolute()
    vault = files.vault
    if files.knowledge_dir is not None and not vault.is_dir():  # a typo would look like a vault that lost everything
        raise ConfigInvalid(
            f"storage.knowledge_dir: there is no folder {vault}", hint="Correct the setting, or make the folder."
        )
    url = files.database_url
    return StorageOptions(
        data_dir,
        roots={ROOT: vault, GARDEN: data_dir / "garden"},
        shared_roots=(vault,) if files.knowledge_dir is not None else (),
        limits=Limits(
            largest_file=int(files.largest_file_mb * 2**20),
            history_versions=files.history_versions,
            history_days=files.history_days,
            history_bytes=int(files.history_mb * 2**20),
            trash_days=files.trash_days,
            trash_bytes=int(files.trash_mb * 2**20),
        ),
        database_url=url.get_secret_value() if url is not None else None,
        synchronous=files.synchronous,
        idempotency_hours=files.idempotency_hours,
    )


def memory_places(config: LithosConfig) -> MemoryPlaces:
    """Where a backup finds the parts of this memory."""
    options = storage_options(config)
    address = options.database_url or f"sqlite:{options.data_dir / '.lithos/coordination.db'}"
    return MemoryPlaces(options.data_dir, options.roots[ROOT], address, config.ledger.checkpoint_dir)


def backup_folder(config: LithosConfig) -> Path:
    data_dir = config.storage.data_dir.expanduser().absolute()
    return (config.backup.folder or data_dir.with_name(f"{data_dir.name}-backups")).expanduser()


def backup_when_due(config: LithosConfig) -> None:
    settings = config.backup
    backup_if_due(memory_places(config), backup_folder(config), settings.every_hours, settings.keep)


def code(config: LithosConfig, storage: Storage, embedding: Embedding) -> Code:
    settings = config.code
    collection = open_collection(
        storage.data_dir,
        "code",
        embedding=embedding,
        keywords=CODE_KEYWORDS,
        uncut=True,
        wait=min(config.search.wait_seconds, CODE_WAIT_SECONDS),
        faults=storage.faults,
    )
    roots = tuple(
        RootSpec(each.name, str(each.path), each.include, each.exclude, each.users, configured=True)
        for each in settings.roots
    )
    options = CodeOptions(
        storage.data_dir, storage.state, roots, config.server.watch_files, settings.debounce_ms, settings.scan_seconds
    )
    return Code(options, storage.clock, collection)


def history(owners: Owners, board: BoardSearch, graph: Knowledge, gate: EntryGate, marks: Marks) -> History:
    ledger, sessions = owners.ledger, owners.sessions
    writer = HistoryWriter(ledger, sessions, owners.code, gate)
    return History(writer, ThoughtEntries(ledger, sessions), [BoardEntries(board), graph], ledger, sessions, marks)


def commit_entries(
    config: LithosConfig, storage: Storage, store: KnowledgeStore, code: Code, embedding: Embedding
) -> CommitEntries:
    collection = open_collection(
        storage.data_dir,
        "commits",
        embedding=embedding,
        keywords=COMMIT_KEYWORDS,
        numbers=COMMIT_NUMBERS,
        wait=min(config.search.wait_seconds, CODE_WAIT_SECONDS),
        faults=storage.faults,
    )
    return CommitEntries(CommitStore(store), code, collection)


def knowledge(
    config: LithosConfig,
    storage: Storage,
    store: KnowledgeStore,
    owners: Owners,
    commits: CommitEntries,
) -> Knowledge:
    code, ledger, sessions = owners.code, owners.ledger, owners.sessions
    board, notes = owners.board, owners.notes
    asserted = AssertedEdges(storage.database, storage.effects, storage.clock, most=config.graph.most_links)
    others = (commits, SourceNodes(notes), NoteNodes(notes))
    nodes = Nodes(code, ThoughtEntries(ledger, sessions), board, sessions, others)
    followers: list[Follower] = [
        ThoughtFollower(store, ledger),
        BoardFollower(store, board),
        SourceFollower(store, notes),
        CodeFollower(store, code),
    ]
    of_commits = CommitFollower(store, code, commits, most=config.history.commits)
    return Knowledge(
        store, asserted, nodes, code, followers, of_commits, changed=(ledger.appended, notes.index.changed)
    )


def ingest(config: LithosConfig, storage: Storage, notes: Notes, code: Code) -> Ingest:
    inbox = config.academic.inbox
    folders = [storage.roots[ROOT].path, storage.roots[GARDEN].path]
    places = Places((*folders, *((inbox.expanduser().absolute(),) if inbox is not None else ())))
    allowed = [
        AllowedSource(each.name, each.base_url, each.api_endpoint, each.rate_limit_per_min, each.requires_auth)
        for each in config.academic.sources
    ]
    crawls = Crawls(storage.database, storage.clock)
    return Ingest(notes, code, Fetcher(allowed, crawled=crawls.mark), places, crawls)


def trust(config: LithosConfig, storage: Storage, graph: Knowledge, owners: Owners) -> Trust:
    nodes = NodeTexts(owners.ledger, owners.board, owners.notes, graph.commits.entries.row)
    firewall = Firewall(owners.code, CheckRows(storage.database), storage.clock, nodes.texts)
    conflicts = ConflictRows(storage.database, storage.effects, storage.clock, storage.ids)
    written = WrittenFollower(owners.ledger, owners.board, owners.notes, nodes, graph.store, firewall)

    finder = ConflictFinder(owners.code, firewall, conflicts, nodes.texts, nodes.written)

    def sees(call: Call, id: str) -> bool:
        return graph.nodes.get(call, id) is not None

    return Trust(firewall, conflicts, written, finder, sees, nodes.text, config.graph.most_checks)


def gate(trust: Trust, owners: Owners, embedding: Embedding) -> FirewallGate:
    def similar(text: str, others: Sequence[str]) -> list[float]:
        embed = embedding.embedder.embed  # not as a question: those are remembered, and an entry may be forgotten
        mine = embed(text) if others else None
        return [] if mine is None else [float(mine @ embed(each)) for each in others]

    return FirewallGate(trust.firewall, ThoughtEntries(owners.ledger, owners.sessions), similar)


def answers(
    config: LithosConfig,
    storage: Storage,
    graph: Knowledge,
    owners: Owners,
    trust: Trust,
    history: History,
    search: NoteSearch,
    sources: Sources,
) -> Resolver:
    code, sessions = owners.code, owners.sessions
    finder = CodeFinder(code)
    judge = StoredJudge(trust.firewall, trust.conflict_rows, trust.sees)

    def scope(call: Call, intent: Intent) -> Hashable:
        """Answers are shared by callers who see the same roots and are in the same session."""
        roots = tuple(sorted(root.spec.name for root in code.visible(call)))
        return roots, None if intent.domain == "academic" else sessions.viewer(call)

    states = NoteStates(owners.notes, storage.clock)
    notes = NoteFinder(owners.notes, search, states, storage.clock)
    of_history = HistoryFinder(HistoryOwners(history, graph, owners.ledger, owners.board, sessions, notes), finder)
    finders: list[Finder] = [finder, of_history, SourceFinder(sources, owners.notes, states, storage.clock)]
    return Resolver(
        finders,
        finder,
        judge,
        storage.clock,
        scope=scope,
        enter=sessions.members_only,
        prose=_prose(config),
        decays=_decays(config.graph.freshness),
        on_many_changes=trust.firewall.on_many_changes,
    )


def _prose(config: LithosConfig) -> Prose | None:
    command = config.graph.answer_command
    return CommandProse(command, config.graph.answer_seconds) if command else None


def _decays(text: str) -> dict[str, Decay]:
    found = dict(DECAYS)
    for part in text.split(", "):
        domain, span, drop, least = part.split()
        found[domain] = Decay(float(span), float(drop), float(least), DECAYS[domain].warn)
    return found


def sessions(config: LithosConfig, storage: Storage) -> Sessions:
    settings = config.sessions
    defaults = SessionConfig(
        settings.max_concurrent_tasks,
        settings.max_engineers,
        settings.task_timeout_minutes or None,
        settings.session_timeout_minutes or None,
        settings.auto_suspend_minutes or None,
        settings.enable_git_isolation,
    )
    return Sessions(storage.database, storage.effects, storage.ids, store_id=storage.events.store, defaults=defaults)


def habits(config: LithosConfig, storage: Storage, embedding: Embedding, owners: Owners, garden: Garden) -> Habits:
    derived = storage.data_dir / ".graph"
    most = int(config.habits.served_mb * 2**20)
    options = HabitOptions(derived / "served", most, derived / "surveys", storage.events.store)
    ground = HabitGround(
        storage.database,
        storage.effects,
        storage.clock,
        owners.sessions,
        owners.ledger,
        owners.board,
        owners.code,
        garden,
        storage.roots[ROOT],
    )
    return Habits(ground, options, embedding.question)


def promotion(config: LithosConfig, storage: Storage, sessions: Sessions, ledger: Ledger) -> Promotion:
    return Promotion(
        storage.database,
        storage.effects,
        sessions,
        ledger,
        storage.clock,
        promote_after=config.sessions.promote_after,
        inspectors=config.sessions.inspectors,
    )


def file_locks(config: LithosConfig, storage: Storage) -> FileLocks:
    times = config.coordination
    terms = LockTerms(times.claim_default_ttl_minutes, times.claim_max_ttl_minutes, times.reboot_grace_seconds)
    return FileLocks(storage.database, storage.effects, terms)


def ledger(
    config: LithosConfig,
    storage: Storage,
    embedding: Embedding,
    agents: Agents,
    sessions: Sessions,
    graph: KnowledgeStore,
) -> Ledger:
    def forget(thought_id: str) -> None:
        """Outside the chain itself, a thought is in recorded answers and in the graph."""
        graph.drop([thought_origin(thought_id)])
        CheckRows(storage.database).forget([thought_id])
        scrub(storage.database, thought_id)

    settings = config.ledger
    environment = Environment(
        storage.clock,
        storage.ids,
        host_key(storage.state / "keys"),
        settings.checkpoint_dir or storage.state / "checkpoints",
        storage.faults,
        remember_hours=config.storage.idempotency_hours,
        known_name=agents.name_of,
    )
    return Ledger(
        storage.state / "ledger",
        environment,
        default_chain=settings.default_chain,
        default_adapter=settings.default_adapter,
        allow_secret=settings.allow_secret,
        scrub=forget,
        forget_agent=agents.forget,
        search=_thought_search(config, storage, embedding),
        storage_root=storage.data_dir,
        sessions=sessions,
    )


def _thought_search(config: LithosConfig, storage: Storage, embedding: Embedding) -> ThoughtSearch:
    opened = _opened(config, storage, embedding)
    collection = opened("thoughts", keywords=THOUGHT_KEYWORDS, numbers=THOUGHT_NUMBERS, parted=True)
    return ThoughtSearch(collection, config.search.semantic_threshold)


def _opened(config: LithosConfig, storage: Storage, embedding: Embedding) -> partial[Collection]:
    """`open_collection` with what all collections have in common."""
    wait, faults = config.search.wait_seconds, storage.faults
    return partial(open_collection, storage.data_dir, embedding=embedding, wait=wait, faults=faults)


def note_collection(config: LithosConfig, storage: Storage, embedding: Embedding) -> Collection:
    limits = PassageLimits(config.search.chunk_size, config.search.chunk_max)
    opened = _opened(config, storage, embedding)
    return opened("notes", keywords=NOTE_KEYWORDS, numbers=NOTE_NUMBERS, limits=limits)


def work_collection(config: LithosConfig, storage: Storage, embedding: Embedding) -> Collection:
    """Tasks, findings and skills."""
    return _opened(config, storage, embedding)("work", keywords=WORK_KEYWORDS, numbers=WORK_NUMBERS)


def message_collection(config: LithosConfig, storage: Storage, embedding: Embedding) -> Collection:
    return _opened(config, storage, embedding)("messages", keywords=MESSAGE_KEYWORDS)


def promotions(config: LithosConfig, storage: Storage, ledger: Ledger) -> Promotions:
    return Promotions(
        ledger,
        storage.clock,
        storage.ids.event,
        lambda data: ledger.environment.key.sign(data).hex(),
        PromotionUses(storage.database, storage.events.store, storage.clock),
        config.lifecycle.approvers,
    )


def notes(config: LithosConfig, storage: Storage, collection: Collection, promotions: Promotions) -> Notes:
    ground = NotesEnvironment(
        storage.roots[ROOT],
        storage.data_dir,
        storage.database,
        storage.effects,
        storage.events,
        storage.clock,
        storage.ids,
        check_token,
        collection,
        promotions,
    )
    following = WatchOptions(
        config.server.watch_files,
        config.index.watch_debounce_ms,
        config.index.scan_seconds,
        config.index.rebuild_on_start,
    )
    return open_notes(
        ground,
        rules=FileRules(config.notes.largest_kb * 1024, config.notes.ignore),
        following=following,
        near_duplicates=config.lifecycle.near_duplicates,
        refuse_secrets=config.security.secrets == "refuse",
    )


def note_search(
    config: LithosConfig, storage: Storage, collection: Collection, notes: Notes, feedback: Feedback
) -> NoteSearch:
    return NoteSearch(
        collection,
        notes.catalogue,
        storage.clock,
        begin=notes.index.projector.begin if notes.index.projector is not None else collection.begin,
        boosts=feedback.boosts,
        behind=lambda: notes.index.progress.behind,
        most=config.search.max_results,
        threshold=config.search.semantic_threshold,
    )


def board(config: LithosConfig, storage: Storage, notes: Notes, sessions: Sessions) -> Board:
    settings = config.coordination
    return Board(
        storage.database,
        storage.effects,
        storage.ids,
        terms=Terms(settings.claim_default_ttl_minutes, settings.claim_max_ttl_minutes, settings.reboot_grace_seconds),
        notes=BoardNotes(lambda note_id: notes.reader.exists(note_id), lambda task_id: notes.reader.of_task(task_id)),
        sessions=sessions,
    )


def messages(config: LithosConfig, storage: Storage, sessions: Sessions, agents: Agents, tokens: Tokens) -> Messages:
    settings = config.messages
    limits = MessageLimits(
        parent_chain=settings.parent_chain,
        correlation=settings.correlation,
        per_minute=settings.per_minute,
        receivers=settings.receivers,
        per_target=settings.per_target,
        per_session=settings.per_session,
        ttl_seconds=settings.ttl_days * 86_400,
        settled_days=settings.settled_days,
        settled_rows=settings.settled_rows,
        dead_days=settings.dead_letter_days,
        dead_rows=settings.dead_letter_rows,
        hop_days=settings.hop_days,
        model_targets=frozenset(settings.model_targets),
    )
    names = MessageNames(agents.knows, agents.near, tokens.users)
    return Messages(storage.database, storage.effects, storage.ids, sessions, names=names, limits=limits)


def workshop(
    config: LithosConfig,
    storage: Storage,
    owners: Owners,
    file_locks: FileLocks,
    habits: Habits,
    history: History,
    sources: Sources,
) -> Workshop:
    settings = config.workshop
    sizes = (settings.output_kb * 1024, settings.memory_mb * 2**20, settings.processes, settings.disk_mb * 2**20)
    limits = RunLimits(settings.run_seconds, settings.test_seconds, *sizes)
    same = ("projects", "enabled", "network", "unconfined", "merge", "exclusive", "idle_minutes")
    bounds = ("most_worktrees", "keep_days", "keep_runs")
    taken = {name: getattr(settings, name) for name in (*same, *bounds)}
    toolchains = tuple(Path(each).expanduser() for each in settings.toolchains)
    options = WorkshopOptions(storage.state / "worktrees", limits=limits, toolchains=toolchains, **taken)
    ground = WorkshopGround(
        storage,
        owners.sessions,
        file_locks,
        owners.board,
        habits.files.texts,
        habits.preferences,
        history.writer,
        read_about(sources, storage.clock),
        owners.code,
    )
    return Workshop(ground, options)


def feedback(config: LithosConfig, storage: Storage) -> Feedback:
    settings = config.lifecycle
    return Feedback(
        storage.database,
        storage.effects,
        storage.events,
        storage.clock,
        matters=settings.feedback,
        kept=settings.feedback_kept,
        receipt_hours=settings.receipt_hours,
    )


def garden(storage: Storage, notes: Notes) -> Garden:
    policy: Path = storage.data_dir / "garden.yaml"
    return Garden(
        storage.roots,
        load_policy(policy if policy.exists() else None),
        database=storage.database,
        events=storage.events,
        effects=storage.effects,
        clock=storage.clock,
        ids=storage.ids,
        notes=NoteFiles(notes),
    )
