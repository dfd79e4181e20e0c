"""Trust: what is claimed is checked, what is old or doubtful says so."""

from __future__ import annotations

from lithos.graph.trust.check_rows import CheckRow, CheckRows, ProvenanceRow, SourceType
from lithos.graph.trust.claims.checking import check
from lithos.graph.trust.claims.extraction import claims_in
from lithos.graph.trust.claims.values import Checked, Claim, ClaimKind, CodeFacts, Mention, Verdict
from lithos.graph.trust.claims.verify import Earlier, Evidence, Verification, VerificationType, opposed, verify
from lithos.graph.trust.conflict_detection import Conflict, ConflictType, Statement, detect_conflicts
from lithos.graph.trust.conflict_finding import ConflictFinder
from lithos.graph.trust.conflict_rows import ConflictRows, ConflictShown
from lithos.graph.trust.firewall import Firewall, NodeText
from lithos.graph.trust.following import WrittenFollower
from lithos.graph.trust.freshness import DECAYS, Age, Decay, Freshness, freshness
from lithos.graph.trust.levels import Side, Standing, trust_level, trust_name, trust_warning, winner
from lithos.graph.trust.node_texts import NodeTexts
from lithos.graph.trust.quality import quality
from lithos.graph.trust.trust import Trust

__all__ = [
    "DECAYS",
    "Age",
    "CheckRow",
    "CheckRows",
    "Checked",
    "Claim",
    "ClaimKind",
    "CodeFacts",
    "Conflict",
    "ConflictFinder",
    "ConflictRows",
    "ConflictShown",
    "ConflictType",
    "Decay",
    "Earlier",
    "Evidence",
    "Firewall",
    "Freshness",
    "Mention",
    "NodeText",
    "NodeTexts",
    "ProvenanceRow",
    "Side",
    "SourceType",
    "Standing",
    "Statement",
    "Trust",
    "Verdict",
    "Verification",
    "VerificationType",
    "WrittenFollower",
    "check",
    "claims_in",
    "detect_conflicts",
    "freshness",
    "opposed",
    "quality",
    "trust_level",
    "trust_name",
    "trust_warning",
    "verify",
    "winner",
]
