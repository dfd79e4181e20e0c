"""LithosConfig: every option, its default and what it does; the only reader of the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ServerSettings(Section):
    transport: Literal["stdio", "http", "sse"] = Field("stdio", description="How clients reach the server.")
    host: str = Field("127.0.0.1", description="Address to bind; anything but loopback needs a token.")
    port: int = Field(8765, ge=0, le=65535, description="Port for HTTP and SSE.")
    watch_files: bool = Field(True, description="Follow changes that people make to files.")


class StorageSettings(Section):
    data_dir: Path = Field(Path("./data"), description="Where everything of one memory lies.")
    knowledge_subdir: str = Field("knowledge", description="The vault's folder inside data_dir.")
    knowledge_dir: Path | None = Field(None, description="An absolute folder as the vault; wins over knowledge_subdir.")


class SearchSettings(Section):
    embedding_model: str = Field("all-MiniLM-L6-v2", description="The model in the package, or a folder of another.")
    semantic_threshold: float = Field(0.3, ge=0, le=1, description="Least similarity of lithos_semantic.")
    max_results: int = Field(50, ge=1, description="Most results of one search.")
    chunk_size: int = Field(500, ge=50, description="Characters that a chunk aims at.")
    chunk_max: int = Field(1000, ge=50, description="Characters that a chunk never exceeds.")


class CoordinationSettings(Section):
    claim_default_ttl_minutes: int = Field(60, ge=1, description="How long a claim lasts when nobody says.")
    claim_max_ttl_minutes: int = Field(480, ge=1, description="Longer wishes are clamped to this.")


class IndexSettings(Section):
    rebuild_on_start: bool = Field(False, description="Build all indexes anew at start.")
    watch_debounce_ms: int = Field(500, ge=0, description="Quiet time before changed files are read.")


class LithosConfig(Section):
    server: ServerSettings = Field(default_factory=ServerSettings)
    storage: StorageSettings = Field(default_factory=StorageSettings)
    search: SearchSettings = Field(default_factory=SearchSettings)
    coordination: CoordinationSettings = Field(default_factory=CoordinationSettings)
    index: IndexSettings = Field(default_factory=IndexSettings)
