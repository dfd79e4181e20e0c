"""The one place where the parts of Lithos are joined."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lithos.agents import Agents, Tokens
from lithos.board import Board, Terms
from lithos.board import Notes as BoardNotes
from lithos.core.call import Call
from lithos.core.clock import Clock, SystemClock
from lithos.core.ids import Ids, RandomIds
from lithos.core.periodic import PeriodicJobs
from lithos.errors import ConfigInvalid
from lithos.garden import GARDEN, Garden, NoteFiles, load_policy
from lithos.ledger import THOUGHT_KEYWORDS, THOUGHT_NUMBERS, Environment, Ledger, Registrar, ThoughtSearch, host_key
from lithos.notes import (
    ROOT,
    Decay,
    Feedback,
    Following,
    Gates,
    Knowledge,
    NearDuplicates,
    Notes,
    NoteSearch,
    Promotions,
    Rules,
    open_notes,
)
from lithos.notes import Ground as NotesGround
from lithos.recall import NoteKind, Recall
from lithos.search import Collection, Embedding, PassageLimits, open_collection, open_embedder
from lithos.skills import Skills
from lithos.storage import (
    Database,
    Effects,
    Events,
    Faults,
    Idempotency,
    Keyring,
    Limits,
    NoFaults,
    Root,
    coordination_migrations,
    hold_folder,
    open_database,
    open_postgres,
    scrub,
    store_id,
)

if TYPE_CHECKING:
    from lithos.settings import LithosConfig

STATE = ".lithos"
FLUSH_SECONDS = 2.0  # how late the times at which agents and tokens were last seen reach the disk
PRUNE_SECONDS = 3600.0
SERVER_PATIENCE_S = 10.0  # PostgreSQL may be started together with us
SWEEP_SECONDS = 2.0  # how often the files that a write replaced are looked at again


@dataclass(frozen=True)
class Ground:
    """What every part stands on; a part takes from here what it needs, as plain values."""

    data_dir: Path
    clock: Clock
    ids: Ids
    faults: Faults
    database: Database
    events: Events
    effects: Effects
    chores: PeriodicJobs
    roots: dict[str, Root]  # a part that keeps files adds its root here, before `open_lithos` recovers

    @property
    def state(self) -> Path:
        return self.data_dir / STATE


@dataclass
class Lithos:
    """Everything a tool may reach, opened and joined; `open_lithos` makes one, `close` ends it."""

    ground: Ground
    agents: Agents
    tokens: Tokens
    embedding: Embedding = field(init=False)  # the one copy of the model, shared by all collections
    note_collection: Collection = field(init=False)
    note_search: NoteSearch = field(init=False)
    recall: Recall = field(init=False)
    notes: Notes = field(init=False)
    board: Board = field(init=False)
    knowledge: Knowledge = field(init=False)  # the life of notes
    garden: Garden = field(init=False)
    ledger: Ledger = field(init=False)
    registrar: Registrar = field(init=False)
    skills: Skills = field(init=False)
    weighers: dict[str, Callable[[], int]] = field(default_factory=dict)  # bytes on disk, by part
    starters: list[Callable[[], object]] = field(default_factory=list)  # what goes on behind the calls
    workers: list[Callable[[], bool]] = field(default_factory=list)  # each: whether it has something left to do
    hindrances: list[Callable[[], str | None]] = field(default_factory=list)  # each: why we cannot serve, or None
    opened: ExitStack = field(default_factory=ExitStack)

    @property
    def clock(self) -> Clock:
        return self.ground.clock

    def start(self) -> None:
        """Begin what goes on behind the calls (watching, reconciling, chores); a verb that runs once does without."""
        for begin in self.starters:
            begin()

    def health(self) -> str | None:
        """Why this memory cannot serve now, without paths or content; None: it can."""
        return next((why for hindrance in self.hindrances if (why := hindrance()) is not None), None)

    def working(self) -> bool:
        """Whether something goes on behind the calls (indexing) that an idle host should finish first."""
        return any(has_work() for has_work in self.workers)

    def sizes(self) -> dict[str, int]:
        return {part: weigh() for part, weigh in self.weighers.items()}

    def close(self) -> None:
        """Ends everything in the reverse order of its opening; a second time does nothing."""
        self.opened.close()


def open_lithos(
    config: LithosConfig, *, clock: Clock | None = None, ids: Ids | None = None, faults: Faults | None = None
) -> Lithos:
    """Open every part in the order of the layers. What fails half way closes what was opened before it."""
    with ExitStack() as opened:
        ground = _open_ground(config, opened, clock or SystemClock(), ids or RandomIds(), faults or NoFaults())
        lithos = _open_agents(ground, opened)
        _open_search(config, lithos, opened)
        _open_board(config, lithos, opened)
        _open_notes(config, lithos, opened)
        _open_garden(config, lithos, opened)
        # Each further part: `_open_<part>(config, lithos, opened)`, which sets its field and its weighers,
        # and puts its closing on the stack.
        _open_ledger(config, lithos, opened)
        _open_knowledge(config, lithos, opened)
        ground.effects.recover()
        # Ended first: what they do in the background needs the parts below.
        opened.callback(lithos.embedding.close)
        opened.callback(ground.chores.stop)
        lithos.opened = opened.pop_all()
    return lithos


def _open_ground(config: LithosConfig, opened: ExitStack, clock: Clock, ids: Ids, faults: Faults) -> Ground:
    data_dir = config.storage.data_dir.expanduser().absolute()
    state = data_dir / STATE
    make_private_folder(state)
    database = _open_database(config, state, clock, faults)
    opened.enter_context(closing(database))
    once = Idempotency(clock, config.storage.idempotency_hours)
    events = Events(store_id(state), Keyring(state / "keys"), clock=clock, ids=ids)
    chores = PeriodicJobs()
    chores.add("forget answers", PRUNE_SECONDS, lambda: database.write(once.prune))
    roots: dict[str, Root] = {}
    chores.add("clear what replaced files left", SWEEP_SECONDS, lambda: [root.sweep() for root in [*roots.values()]])
    chores.add("prune history and trash", PRUNE_SECONDS, lambda: [root.prune() for root in [*roots.values()]])
    effects = Effects(database, events, once, roots, clock=clock, faults=faults)
    return Ground(data_dir, clock, ids, faults, database, events, effects, chores, roots)


def _open_database(config: LithosConfig, state: Path, clock: Clock, faults: Faults) -> Database:
    url, migrations = config.storage.database_url, coordination_migrations()
    if url is None:
        path, synchronous = state / "coordination.db", config.storage.synchronous
        return open_database(path, migrations, synchronous=synchronous, clock=clock, faults=faults)
    judge = None if isinstance(clock, SystemClock) else clock  # a test's clock judges leases there too
    return open_postgres(url.get_secret_value(), migrations, clock=judge, faults=faults, patience_s=SERVER_PATIENCE_S)


def _open_agents(ground: Ground, opened: ExitStack) -> Lithos:
    agents = Agents(ground.database, ground.effects, ground.clock)
    tokens = Tokens(ground.database, ground.effects, ground.clock)
    for part in (agents, tokens):
        ground.chores.add("note who was seen", FLUSH_SECONDS, part.flush)
        opened.callback(part.flush)
    return Lithos(
        ground,
        agents,
        tokens,
        weighers={"coordination": ground.database.size},
        starters=[ground.chores.start],
    )


def _open_search(config: LithosConfig, lithos: Lithos, opened: ExitStack) -> None:
    settings = config.search
    lithos.embedding = Embedding(open_embedder(settings.embedding_model))
    opened.callback(lithos.embedding.close)
    lithos.starters.append(lithos.embedding.start)
    notes = open_collection(
        lithos.ground.data_dir,
        "notes",
        embedding=lithos.embedding,
        keywords=("status", "claim_id"),
        numbers=("created", "updated", "ends"),
        limits=PassageLimits(settings.chunk_size, settings.chunk_max),
        wait=settings.wait_seconds,
        faults=lithos.ground.faults,
    )
    opened.callback(notes.close)
    lithos.note_collection = notes
    lithos.weighers["search"] = notes.size
    lithos.workers.append(notes.busy)


def _open_board(config: LithosConfig, lithos: Lithos, opened: ExitStack) -> None:
    ground, wanted = lithos.ground, config.coordination
    terms = Terms(wanted.claim_default_ttl_minutes, wanted.claim_max_ttl_minutes, wanted.reboot_grace_seconds)
    # The notes are opened after the board, because they check its tokens.
    notes = BoardNotes(lambda note: lithos.notes.reader.exists(note), lambda task: lithos.notes.reader.of_task(task))
    lithos.board = Board(ground.database, ground.effects, ground.ids, terms=terms, notes=notes)
    lithos.board.start()
    opened.callback(lithos.board.close)


def _open_notes(config: LithosConfig, lithos: Lithos, opened: ExitStack) -> None:
    ground, files = lithos.ground, config.storage
    folder = (files.knowledge_dir or ground.data_dir / files.knowledge_subdir).expanduser()
    if files.knowledge_dir is not None:  # inside the data directory its own lock is enough
        opened.enter_context(hold_folder(folder))
    root = open_root(lithos, config, opened, ROOT, folder)
    under = NotesGround(
        root,
        ground.data_dir / ".graph",
        ground.database,
        ground.effects,
        ground.events,
        ground.clock,
        ground.ids,
        lithos.board.check_token,
    )
    following = Following(
        config.server.watch_files,
        config.index.watch_debounce_ms,
        config.index.scan_seconds,
        config.index.rebuild_on_start,
    )
    rules = Rules(config.notes.largest_kb * 1024, config.notes.ignore)
    lithos.notes = opened.enter_context(closing(open_notes(under, rules=rules, following=following)))
    found = lithos.note_collection
    lithos.notes.join_search(found)
    found.on_lost(lithos.notes.watcher.ask)
    lithos.weighers["catalogue"] = lambda: _size(ground.data_dir / ".graph")
    lithos.weighers["history"] = lambda: _size(ground.state / "history")
    lithos.weighers["trash"] = lambda: _size(ground.state / "trash")
    lithos.starters.append(lithos.notes.watcher.start)
    lithos.workers.append(lithos.notes.is_working)


def _open_knowledge(config: LithosConfig, lithos: Lithos, opened: ExitStack) -> None:
    """After notes, search and ledger: it stands on all three."""
    ground, settings, notes = lithos.ground, config.lifecycle, lithos.notes
    feedback = Feedback(
        ground.database,
        ground.effects,
        ground.events,
        ground.clock,
        matters=settings.feedback,
        kept=settings.feedback_kept,
        receipt_hours=settings.receipt_hours,
    )
    opened.callback(feedback.close)
    seal = lithos.ledger.world.key
    promotions = Promotions(
        lithos.ledger, ground.clock, ground.ids.event, lambda data: seal.sign(data).hex(), settings.approvers
    )
    likes = NearDuplicates(lithos.note_collection, notes.catalogue, notes.index)
    decay = Decay(notes.unhurried, ground.effects, ground.events, ground.clock)
    lithos.knowledge = Knowledge(feedback, promotions, decay, likes)
    lithos.note_search = NoteSearch(
        lithos.note_collection,
        notes.catalogue,
        ground.clock,
        boosts=feedback.boosts,
        behind=lambda: notes.index.progress.behind,
        most=config.search.max_results,
        threshold=config.search.semantic_threshold,
    )
    lithos.recall = Recall([NoteKind(notes, lithos.note_search)], most=config.search.max_results)
    similar = likes.of_text if settings.near_duplicates else lambda title, content, own_id: []
    notes.live_by(promotions.is_promoted, Gates(promotions.check, similar, config.security.secrets == "refuse"), likes)
    ground.chores.add("keep receipts", FLUSH_SECONDS, feedback.flush)
    ground.chores.add("forget receipts and old feedback", PRUNE_SECONDS, feedback.prune)
    if settings.decay_hours:
        run = partial(decay.run, Call("lithos_decay", agent="lithos"), "scheduled")
        ground.chores.add("mark what has expired", settings.decay_hours * 3600, run)


def _size(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


def _open_ledger(config: LithosConfig, lithos: Lithos, opened: ExitStack) -> None:
    ground, settings = lithos.ground, config.ledger
    checkpoints = settings.checkpoint_dir or ground.state / "checkpoints"
    key = host_key(ground.state / "keys")
    world = Environment(
        ground.clock,
        ground.ids,
        key,
        checkpoints,
        ground.faults,
        remember_hours=config.storage.idempotency_hours,
    )
    ledger = Ledger(
        ground.state / "ledger",
        world,
        default_chain=settings.default_chain,
        default_adapter=settings.default_adapter,
        allow_secret=settings.allow_secret,
        scrub=lambda thought_id: scrub(ground.database, thought_id),
        search=_thought_search(config, lithos, opened),
        storage_root=ground.data_dir,
    )
    opened.callback(ledger.close)
    lithos.ledger, lithos.registrar = ledger, Registrar(ledger, ground.effects)
    lithos.skills = Skills(
        ground.database,
        ground.effects,
        ground.clock,
        ground.ids,
        uploader=lithos.registrar.uploader,
        check=ledger.refuse_secrets,
    )
    lithos.weighers["ledger"] = ledger.size_on_disk
    ground.chores.add("sign checkpoints", settings.checkpoint_seconds, ledger.checkpoint_all)
    ground.chores.add("check chains in passing", 1.0, ledger.verify_some)


def open_root(lithos: Lithos, config: LithosConfig, opened: ExitStack, name: str, folder: Path) -> Root:
    """A folder of files under the name by which plans of changes know it."""
    ground, kept = lithos.ground, config.storage
    limits = Limits(
        largest_file=int(kept.largest_file_mb * 2**20),
        history_versions=kept.history_versions,
        history_days=kept.history_days,
        history_bytes=int(kept.history_mb * 2**20),
        trash_days=kept.trash_days,
        trash_bytes=int(kept.trash_mb * 2**20),
    )
    root = Root(folder, name=name, keep=ground.state, clock=ground.clock, faults=ground.faults, limits=limits)
    opened.callback(root.close)
    ground.roots[name] = root
    return root


def _open_garden(config: LithosConfig, lithos: Lithos, opened: ExitStack) -> None:
    ground = lithos.ground
    open_root(lithos, config, opened, GARDEN, ground.data_dir / "garden")
    policy = ground.data_dir / "garden.yaml"
    lithos.garden = Garden(
        ground.roots,
        load_policy(policy if policy.exists() else None),
        database=ground.database,
        events=ground.events,
        effects=ground.effects,
        clock=ground.clock,
        ids=ground.ids,
        notes=NoteFiles(lithos.notes),
    )
    ground.chores.add("forget old proposals", PRUNE_SECONDS, lithos.garden.proposals.prune)


def _thought_search(config: LithosConfig, lithos: Lithos, opened: ExitStack) -> ThoughtSearch:
    collection = open_collection(
        lithos.ground.data_dir,
        "thoughts",
        embedding=lithos.embedding,
        keywords=THOUGHT_KEYWORDS,
        numbers=THOUGHT_NUMBERS,
        wait=config.search.wait_seconds,
        faults=lithos.ground.faults,
    )
    search = ThoughtSearch(collection, config.search.semantic_threshold)
    opened.callback(collection.close)
    lithos.starters.append(search.start)
    lithos.workers += [collection.busy, search.busy]
    lithos.weighers["thoughts"] = collection.size
    return search


def make_private_folder(folder: Path) -> None:
    """With all above it; a folder that cannot be made or written to ends the start with one sentence."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe = folder / ".probe"
        probe.touch(mode=0o600)
        probe.unlink()
    except OSError as error:
        raise ConfigInvalid(
            f"the data directory {folder.parent} cannot be written: {error.strerror or error}",
            hint="Check --data-dir, the owner of the folder and the free space.",
        ) from None
