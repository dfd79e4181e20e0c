"""The ledger: hash-chained thoughts, the registry of their agents, proofs."""

from __future__ import annotations

from lithos.ledger.answers import (
    AgentRecord,
    AgentRegistry,
    Agents,
    Appended,
    Bootstrapped,
    Chains,
    Head,
    OneAgent,
    OneThought,
    Thought,
    Thoughts,
    Thread,
    Traversal,
)
from lithos.ledger.chain.chain import Chain
from lithos.ledger.chain.chain_store import chain_folder, chain_folders
from lithos.ledger.chain.forgetting import Forgotten
from lithos.ledger.environment import Environment
from lithos.ledger.ledger import Imported, Ledger
from lithos.ledger.proofs import verify_bundle
from lithos.ledger.proofs.bundle import Proof, bundle_lines, entry_lines, opened_line
from lithos.ledger.proofs.checkpoints import Checkpoint, parse_checkpoint
from lithos.ledger.proofs.verify import EXIT_CODES, Report, Verification, VerifyFinding
from lithos.ledger.query import Direction, Filter, Walk, optional_time, time_window
from lithos.ledger.registry.keys import check_host_key, host_key, signing_key
from lithos.ledger.registry.registrar import Registrar
from lithos.ledger.scopes import EntryScope
from lithos.ledger.search import THOUGHT_KEYWORDS, THOUGHT_NUMBERS, ThoughtSearch
from lithos.ledger.session_filter import SessionFilter, chosen_entries, tuple_of
from lithos.ledger.thoughts import Draft, sign_arguments
from lithos.ledger.words import Adapter, AgentStatus, RelationKind, Role, ThoughtType

__all__ = [
    "EXIT_CODES",
    "THOUGHT_KEYWORDS",
    "THOUGHT_NUMBERS",
    "Adapter",
    "AgentRecord",
    "AgentRegistry",
    "AgentStatus",
    "Agents",
    "Appended",
    "Bootstrapped",
    "Chain",
    "Chains",
    "Checkpoint",
    "Direction",
    "Draft",
    "EntryScope",
    "Environment",
    "Filter",
    "Forgotten",
    "Head",
    "Imported",
    "Ledger",
    "OneAgent",
    "OneThought",
    "Proof",
    "Registrar",
    "RelationKind",
    "Report",
    "Role",
    "SessionFilter",
    "Thought",
    "ThoughtSearch",
    "ThoughtType",
    "Thoughts",
    "Thread",
    "Traversal",
    "Verification",
    "VerifyFinding",
    "Walk",
    "bundle_lines",
    "chain_folder",
    "chain_folders",
    "check_host_key",
    "chosen_entries",
    "entry_lines",
    "host_key",
    "opened_line",
    "optional_time",
    "parse_checkpoint",
    "sign_arguments",
    "signing_key",
    "time_window",
    "tuple_of",
    "verify_bundle",
]
