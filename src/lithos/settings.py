"""LithosConfig: every option, its default and what it does; the only reader of the environment."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from lithos.core.read_only import folded
from lithos.core.text import nearest
from lithos.errors import ConfigInvalid

PREFIX = "LITHOS_"
FILE_NAME = "config.yaml"
# A misspelt safety switch is refused, not warned of: the server would accept what it should refuse.
_SAFETY_VARIABLES = ("LITHOS_READ_ONLY", "LITHOS_SERVER__READ_ONLY")
FILE_VARIABLE = "LITHOS_CONFIG"  # names the file; not an option itself


def _split(value: Any) -> Any:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_split)]  # `a,b` in the environment, a list in the file


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ServerSettings(Section):
    transport: Literal["stdio", "http", "sse"] = Field("stdio", description="How clients reach the server.")
    host: str = Field("127.0.0.1", description="Address to bind; anything but loopback needs a token.")
    port: int = Field(8765, ge=0, le=65535, description="Port for HTTP and SSE.")
    watch_files: bool = Field(True, description="Follow changes that people make to files.")
    toolsets: Names = Field(("core",), description="Which tools `tools/list` shows; `all` shows every one.")
    output_schemas: bool = Field(False, description="Show the answers' schemas in `tools/list` too.")
    agent: str | None = Field(None, description="The agent of calls that name none.")
    read_only: bool = Field(False, description="Refuse every tool that changes something.")
    max_request_bytes: int = Field(8_388_608, ge=1024, description="Largest request; more is refused as too_large.")
    allowed_hosts: Names = Field(
        (), description="Host headers accepted besides loopback, for example `lithos.lan:8765`."
    )
    allowed_origins: Names = Field((), description="Web origins accepted besides loopback.")
    header_seconds: float = Field(
        10.0, gt=0, description="A client that has not sent its HTTP headers by then is cut off."
    )
    idle_seconds: float = Field(
        30.0, gt=0, description="A client that neither sends its request nor reads its answer is cut off after this."
    )
    stop_seconds: float = Field(10.0, ge=0, description="How long a stop waits for calls in flight.")
    idle_exit_minutes: float = Field(15.0, gt=0, description="A background host ends after so long without clients.")
    workers: int = Field(32, ge=1, le=512, description="Threads that run tools.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="How much the log tells.")
    log_file: Path | None = Field(None, description="Where the log goes; left out: stderr.")


class StorageSettings(Section):
    data_dir: Path = Field(Path("~/lithos"), description="The folder of all data of one memory.")
    knowledge_subdir: str = Field("knowledge", description="The vault's folder inside data_dir.")
    knowledge_dir: Path | None = Field(None, description="An absolute folder as the vault; wins over knowledge_subdir.")
    database_url: SecretStr | None = Field(
        None, description="PostgreSQL for what several hosts share; left out: SQLite in the data directory."
    )
    synchronous: Literal["FULL", "NORMAL"] = Field(
        "FULL", description="NORMAL: faster, the last writes may not survive a power cut."
    )
    history_versions: int = Field(50, ge=1, description="Replaced versions kept of one file.")
    history_days: float = Field(90.0, gt=0, description="How long replaced versions are kept.")
    history_mb: float = Field(1024.0, gt=0, description="Most megabytes of replaced versions, of one root.")
    trash_days: float = Field(30.0, gt=0, description="How long deleted files are kept.")
    trash_mb: float = Field(1024.0, gt=0, description="Most megabytes of deleted files, of one root.")
    largest_file_mb: float = Field(64.0, gt=0, description="Files above this are not read.")
    idempotency_hours: float = Field(48.0, gt=0, description="How long the answer to an idempotency_key is remembered.")

    @property
    def vault(self) -> Path:
        """The folder of the notes."""
        return (self.knowledge_dir or self.data_dir.expanduser().absolute() / self.knowledge_subdir).expanduser()


class SearchSettings(Section):
    embedding_model: str = Field("all-MiniLM-L6-v2", description="The model in the package, or a folder of another.")
    reranker: str = Field(
        "", description="Folder of a cross-encoder that rescores the best 30 of a recall; empty: none."
    )
    semantic_threshold: float = Field(0.3, ge=0, le=1, description="Least similarity of lithos_semantic.")
    max_results: int = Field(50, ge=1, description="Most results of one search.")
    chunk_size: int = Field(500, ge=50, description="Characters that a chunk aims at.")
    chunk_max: int = Field(1000, ge=50, description="Characters that a chunk never exceeds.")
    wait_seconds: float = Field(5.0, ge=0, description="How long a query waits for writes that are not indexed yet.")

    @model_validator(mode="after")
    def _chunks_fit(self) -> SearchSettings:
        if self.chunk_size > self.chunk_max:
            raise ValueError(f"chunk_size {self.chunk_size} is more than chunk_max {self.chunk_max}")
        return self


class CoordinationSettings(Section):
    claim_default_ttl_minutes: float = Field(60, gt=0, description="How long a claim lasts by default.")
    claim_max_ttl_minutes: float = Field(480, gt=0, description="Longer wishes are clamped to this.")
    reboot_grace_seconds: float = Field(120, ge=0, description="How long claims outlive a reboot of the machine.")

    @model_validator(mode="after")
    def _default_fits(self) -> CoordinationSettings:
        if self.claim_default_ttl_minutes > self.claim_max_ttl_minutes:
            raise ValueError(
                f"claim_default_ttl_minutes {self.claim_default_ttl_minutes} is more than "
                f"claim_max_ttl_minutes {self.claim_max_ttl_minutes}"
            )
        return self


class IndexSettings(Section):
    rebuild_on_start: bool = Field(False, description="Rebuild all indexes at start.")
    watch_debounce_ms: int = Field(500, ge=0, description="Quiet time before changed files are read.")
    scan_seconds: float = Field(60.0, gt=0, description="How often all files are compared with the index.")


class NotesSettings(Section):
    ignore: Names = Field((), description="Files and folders to leave alone, for example `Templates,*.tmp.md`.")
    largest_kb: int = Field(4096, ge=1, description="Larger files are not served as notes.")


class LifecycleSettings(Section):
    feedback: bool = Field(True, description="Notes that helped rise a little, notes that hurt sink a little.")
    feedback_kept: int = Field(10_000, ge=0, description="Words of feedback that are kept.")
    receipt_hours: float = Field(48.0, gt=0, description="How long the receipt of a recall can be named.")
    near_duplicates: bool = Field(True, description="Tell a writer of notes that say nearly the same.")
    decay_hours: float = Field(0.0, ge=0, description="How often what has expired is marked stale; 0: only on request.")
    approvers: Names = Field(
        (), description="Who may approve promotions, with a token bound to the name; empty: anybody but the actor."
    )


class SecuritySettings(Section):
    secrets: Literal["warn", "refuse"] = Field("warn", description="What is done about credentials in a note.")


class LedgerSettings(Section):
    default_chain: str = Field("lithos", min_length=1, max_length=200, description="The chain that a call means.")
    default_adapter: Literal["binary", "jsonl"] = Field("binary", description="How new chains are stored.")
    allow_secret: bool = Field(False, description="Accept thoughts that hold what looks like a credential.")
    checkpoint_seconds: float = Field(60.0, gt=0, description="How often grown chains get a signed checkpoint on disk.")
    checkpoint_dir: Path | None = Field(
        None, description="Where checkpoints are kept, best on another disk; left out: `.lithos/checkpoints`."
    )


class CodeRoot(Section):
    """One repository; see docs/code.md."""

    name: str
    path: Path
    include: Names = ()
    exclude: Names = ()
    users: Names = ()


def _parsed_json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


CodeRoots = Annotated[
    tuple[CodeRoot, ...], BeforeValidator(_parsed_json)
]  # JSON in the environment, a list in the file


class CodeSettings(Section):
    roots: CodeRoots = Field(
        (), description="Repositories that agents ask: a list of `{name, path, include, exclude, users}`."
    )
    debounce_ms: int = Field(100, ge=0, description="Quiet time before changed code is read.")
    scan_seconds: float = Field(60.0, gt=0, description="How often all files of a root are compared.")


class SessionSettings(Section):
    max_concurrent_tasks: int = Field(4, ge=1, description="Claims that one session may hold at once.")
    max_engineers: int = Field(2, ge=1, description="Agents of one session that may hold claims at once.")
    task_timeout_minutes: float = Field(
        30, ge=0, description="Claims made in a session end after this, renewed or not; 0: never."
    )
    session_timeout_minutes: float = Field(0, ge=0, description="A session open for longer fails; 0: never.")
    auto_suspend_minutes: float = Field(
        60, ge=0, description="A session in which nothing happened for so long is suspended; 0: never."
    )
    enable_git_isolation: bool = Field(False, description="New sessions ask for a separate branch.")
    promote_after: int = Field(
        3, ge=1, description="Helpful uses in other sessions, by as many bound identities, that promote an entry."
    )
    inspectors: Names = Field((), description="Agents whose approval promotes entries, with a token bound to the name.")


class BackupSettings(Section):
    every_hours: float = Field(0.0, ge=0, description="How often the host makes a backup; 0: only on request.")
    folder: Path | None = Field(
        None, description="Where backups go, best on another disk; left out: beside the data directory, `-backups`."
    )
    keep: int = Field(7, ge=1, description="How many backups are kept there.")


class HabitSettings(Section):
    served_mb: float = Field(
        64, ge=0, description="Room for texts of code files that were served, so that a reader gets only what changed."
    )
    keep_days: float = Field(
        90, gt=0, description="Working notes and task checkpoints not touched for so long are dropped."
    )


class HistorySettings(Section):
    commits: int = Field(5_000, ge=0, description="Newest commits of each code root that are entries of history.")


class AcademicSource(BaseModel):
    """A host that pages may be ingested from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    base_url: str
    api_endpoint: str = ""
    rate_limit_per_min: int = Field(30, ge=1)
    requires_auth: bool = False


class AcademicSettings(Section):
    inbox: Path | None = Field(None, description="A folder whose files every agent may ingest.")
    sources: tuple[AcademicSource, ...] = Field(
        (), description="Hosts that pages may be ingested from: name, base_url, api_endpoint, rate_limit_per_min."
    )


class GraphSettings(Section):
    freshness: str = Field(
        "history 180 0.8 0.2, academic 365 0.7 0.3",
        pattern=r"^(history|academic)( \d+(\.\d+)?){3}(, (history|academic)( \d+(\.\d+)?){3})?$",
        description="Decay of age per domain: max(least, 1 - days/span * drop), as `domain span drop least`.",
    )
    answer_command: Names = Field(
        (),
        description="A program and its arguments that answer a prompt, read from stdin, on stdout; for `allow_llm`.",
    )
    answer_seconds: float = Field(60, gt=0, le=600, description="How long that program may take.")
    most_checks: int = Field(200_000, ge=100, description="Stored verdicts on texts; the oldest go first.")
    most_links: int = Field(100_000, ge=1, description="Edges that agents may assert; one more is refused.")


class MessageSettings(Section):
    ttl_days: float = Field(7, gt=0, description="A message that no one took for so long expires, unless it says else.")
    parent_chain: int = Field(32, ge=1, description="Messages that may answer each other in one chain.")
    correlation: int = Field(500, ge=1, description="Messages that may share one correlation.")
    per_minute: int = Field(600, ge=1, description="Messages that one sender may send in a minute.")
    receivers: int = Field(64, ge=1, description="Receivers of one send.")
    per_target: int = Field(1_000, ge=1, description="Messages that may wait for one receiver.")
    per_session: int = Field(10_000, ge=1, description="Messages that may wait in one session.")
    settled_days: float = Field(30, gt=0, description="How long settled messages are kept.")
    settled_rows: int = Field(200_000, ge=1, description="How many settled messages are kept.")
    dead_letter_days: float = Field(30, gt=0, description="How long dead letters are kept.")
    dead_letter_rows: int = Field(10_000, ge=1, description="How many dead letters are kept.")
    hop_days: float = Field(7, gt=0, description="How long deliveries are kept for `lithos message trace`.")
    model_targets: Names = Field((), description="Agents that call a model: five attempts instead of three.")


ProjectPaths = Annotated[dict[str, Path], BeforeValidator(_parsed_json)]  # JSON in the environment


class WorkshopSettings(Section):
    projects: ProjectPaths = Field(
        default_factory=dict, description="Repositories that sessions may work on: `{name: path}`."
    )
    enabled: bool = Field(False, description="Let agents run commands, checks, tests and merges, in a sandbox.")
    network: bool = Field(False, description="Let a run that asks for it reach the network.")
    unconfined: bool = Field(False, description="Run without a wall where the machine offers none.")
    merge: Literal["ask", "auto"] = Field(
        "ask", description="auto: a base branch that is checked out nowhere is fast-forwarded."
    )
    toolchains: Names = Field(
        (), description="More folders that runs may read, their programs on PATH, for example `/opt/go`."
    )
    exclusive: Names = Field((), description="Paths that one agent at a time may write, for example `*.lock`.")
    run_seconds: float = Field(120, gt=0, description="How long a command or check may take.")
    test_seconds: float = Field(600, gt=0, description="How long a test run may take; no timeout is longer.")
    output_kb: int = Field(1024, ge=4, description="Output that is kept of a run, head and tail.")
    memory_mb: int = Field(2048, ge=64, description="Resident memory of all processes of a run.")
    processes: int = Field(256, ge=1, description="Processes of a run at once.")
    disk_mb: int = Field(1024, ge=1, description="Bytes on disk that a run may write.")
    idle_minutes: float = Field(
        240, ge=0, description="An unused worktree whose work is committed is removed, and made again; 0: never."
    )
    most_worktrees: int = Field(32, ge=1, description="Worktrees at once; one more is refused.")
    keep_days: float = Field(30, gt=0, description="How long runs and closed worktrees are remembered.")
    keep_runs: int = Field(1_000, ge=1, description="How many runs are remembered.")

    @model_validator(mode="after")
    def _names_are_plain(self) -> WorkshopSettings:
        for name in self.projects:
            if not re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,59}", name):
                raise ValueError(f"projects: {name!r} is no name; use lower-case letters, digits, - and _")
        return self


class LithosConfig(BaseSettings):
    """All of it. `load_config` fills it from four layers; made directly, it reads nothing."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True)

    server: ServerSettings = Field(default_factory=ServerSettings)
    storage: StorageSettings = Field(default_factory=StorageSettings)
    search: SearchSettings = Field(default_factory=SearchSettings)
    coordination: CoordinationSettings = Field(default_factory=CoordinationSettings)
    index: IndexSettings = Field(default_factory=IndexSettings)
    lifecycle: LifecycleSettings = Field(default_factory=LifecycleSettings)
    security: SecuritySettings = Field(default_factory=SecuritySettings)
    notes: NotesSettings = Field(default_factory=NotesSettings)
    ledger: LedgerSettings = Field(default_factory=LedgerSettings)
    code: CodeSettings = Field(default_factory=CodeSettings)
    sessions: SessionSettings = Field(default_factory=SessionSettings)
    backup: BackupSettings = Field(default_factory=BackupSettings)
    habits: HabitSettings = Field(default_factory=HabitSettings)
    history: HistorySettings = Field(default_factory=HistorySettings)
    academic: AcademicSettings = Field(default_factory=AcademicSettings)
    graph: GraphSettings = Field(default_factory=GraphSettings)
    messages: MessageSettings = Field(default_factory=MessageSettings)
    workshop: WorkshopSettings = Field(default_factory=WorkshopSettings)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


@dataclass(frozen=True)
class Option:
    section: str
    name: str
    field: FieldInfo

    @property
    def key(self) -> str:
        return f"{self.section}.{self.name}"

    @property
    def variables(self) -> tuple[str, ...]:
        """The names in the environment; the flat one only where it is clear whose it is."""
        nested = f"{PREFIX}{self.section.upper()}__{self.name.upper()}"
        return (f"{PREFIX}{self.name.upper()}", nested) if self.name in _flat_names() else (nested,)


@dataclass(frozen=True)
class Loaded:
    config: LithosConfig
    origins: dict[str, str]  # option key → "default", "config.yaml line 3", "LITHOS_PORT", "command line"
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Value:
    value: Any
    origin: str


def options() -> Iterator[Option]:
    """Every option there is, in the order of the settings page."""
    for section, model in _sections().items():
        for name, field in model.model_fields.items():
            yield Option(section, name, field)


def load_config(
    *,
    config_file: Path | str | None = None,
    command_line: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Loaded:
    """defaults < file < LITHOS_* < command line (`{"server.port": 1}`); a refusal names the culprit in one line."""
    environment = os.environ if environ is None else environ
    above = {key: _Value(value, "command line") for key, value in (command_line or {}).items() if value is not None}
    from_environment, warnings = _read_environment(environment)
    above = {**from_environment, **above}
    named = config_file or environment.get(FILE_VARIABLE)
    file = Path(named).expanduser() if named else _found_file(above.get("storage.data_dir"))
    values = {**(_read_file(file) if file else {}), **above}
    config = _build(values)
    if file and not named:
        _check_data_dir(config, values, file)
    origins = {option.key: values[option.key].origin if option.key in values else "default" for option in options()}
    return Loaded(config, origins, tuple(warnings))


def _flat_names() -> set[str]:
    names = [name for model in _sections().values() for name in model.model_fields]
    return {name for name in names if names.count(name) == 1}


def _sections() -> dict[str, type[BaseModel]]:
    found = {name: field.annotation for name, field in LithosConfig.model_fields.items()}
    return {name: model for name, model in found.items() if isinstance(model, type) and issubclass(model, BaseModel)}


def _read_environment(environment: Mapping[str, str]) -> tuple[dict[str, _Value], list[str]]:
    known = {variable: option.key for option in options() for variable in option.variables}
    found: dict[str, _Value] = {}
    warnings: list[str] = []
    for variable in sorted(environment, key=len):  # the nested spelling is longer: where both stand, it wins
        if not environment[variable]:
            continue  # as if it were not set: how scripts and containers leave one out
        if variable in known:
            found[known[variable]] = _Value(environment[variable], variable)
        elif folded(variable) in map(folded, _SAFETY_VARIABLES):
            raise ConfigInvalid(f"{variable} is no setting of Lithos", hint=f"Did you mean {_SAFETY_VARIABLES[0]}?")
        elif variable.startswith(PREFIX) and variable != FILE_VARIABLE:
            warnings.append(f"{variable} is no setting of Lithos{_did_you_mean(variable, known)}")
    return found, warnings


def _found_file(data_dir: _Value | None) -> Path | None:
    folder = Path(data_dir.value if data_dir else StorageSettings().data_dir).expanduser()
    return folder / FILE_NAME if (folder / FILE_NAME).is_file() else None


def _read_file(file: Path) -> dict[str, _Value]:
    try:
        root = yaml.compose(file.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except OSError as error:
        raise ConfigInvalid(f"{file}: {error.strerror or error}", hint="Check --config.") from None
    except UnicodeDecodeError:
        raise ConfigInvalid(f"{file} is not UTF-8 text") from None
    except yaml.YAMLError as error:
        raise ConfigInvalid(f"{file} is not YAML: {_one_line(error)}", hint="Fix it or remove it.") from None
    return {} if root is None else dict(_file_values(root, file))


def _file_values(root: yaml.Node, file: Path) -> Iterator[tuple[str, _Value]]:
    sections = _sections()
    for section, node, line in _entries(root, file, "the file"):
        if section not in sections:
            raise _unknown(section, [*sections, *(option.key for option in options())], f"{file} line {line}")
        for name, inner, inner_line in _entries(node, file, section):
            where = f"{file} line {inner_line}"
            if name not in sections[section].model_fields:
                raise _unknown(f"{section}.{name}", [option.key for option in options()], where)
            yield f"{section}.{name}", _Value(_plain(inner), where)


def _entries(node: yaml.Node, file: Path, what: str) -> Iterator[tuple[str, yaml.Node, int]]:
    if isinstance(node, yaml.ScalarNode) and node.value in ("", "null", "~"):
        return
    if not isinstance(node, yaml.MappingNode):
        raise ConfigInvalid(f"{file} line {node.start_mark.line + 1}: {what} holds no `name: value` pairs")
    for key, value in node.value:
        yield str(key.value), value, key.start_mark.line + 1


def _plain(node: yaml.Node) -> Any:
    return yaml.SafeLoader("").construct_document(node)


def _build(values: Mapping[str, _Value]) -> LithosConfig:
    tree: dict[str, dict[str, Any]] = {}
    for key, held in values.items():
        section, _, name = key.partition(".")
        tree.setdefault(section, {})[name] = held.value
    try:
        return LithosConfig.model_validate(tree)
    except ValidationError as error:
        raise _wrong_value(error, values) from None


def _wrong_value(error: ValidationError, values: Mapping[str, _Value]) -> ConfigInvalid:
    first = error.errors(include_url=False, include_context=False)[0]
    key = ".".join(str(part) for part in first["loc"][:2])
    if first["type"] == "extra_forbidden":
        return _unknown(key, [option.key for option in options()], values[key].origin)
    message = first["msg"].removeprefix("Value error, ")
    origin = values[key].origin if key in values else "settings"
    shown = f", not {values[key].value!r}" if key in values else ""
    return ConfigInvalid(f"{origin}: {key}: {message}{shown}", hint="`lithos config show` lists every setting.")


def _unknown(key: str, known: list[str], where: str) -> ConfigInvalid:
    return ConfigInvalid(
        f"{where}: there is no setting {key!r}{_did_you_mean(key, known)}",
        hint="`lithos config show` lists every setting.",
    )


def _check_data_dir(config: LithosConfig, values: Mapping[str, _Value], file: Path) -> None:
    """A file found inside a data directory cannot name another one: which of the two would be opened?"""
    held = values.get("storage.data_dir")
    if held is None or not held.origin.startswith(str(file)):
        return
    if file.parent.resolve() != config.storage.data_dir.expanduser().resolve():
        raise ConfigInvalid(
            f"{held.origin}: storage.data_dir points away from the data directory that holds this file",
            hint="Remove the line, or use --data-dir.",
        )


def _did_you_mean(word: str, known: Any) -> str:
    meant = nearest(word, known)
    return f", did you mean {meant!r}?" if meant else ""


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
