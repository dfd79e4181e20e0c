"""Trust: what is claimed is checked, what is old or doubtful says so."""

from __future__ import annotations

from lithos.graph.trust.claims.checking import check
from lithos.graph.trust.claims.extraction import claims_in
from lithos.graph.trust.claims.values import Checked, Claim, ClaimKind, CodeFacts, Mention, Verdict
from lithos.graph.trust.claims.verify import Earlier, Evidence, Verification, VerificationType, opposed, verify
from lithos.graph.trust.freshness import Age, Decay, Freshness, freshness
from lithos.graph.trust.levels import Side, Standing, trust_level, trust_name, trust_warning, winner
from lithos.graph.trust.quality import Chosen, choose, estimated_tokens, quality

__all__ = [
    "Age",
    "Checked",
    "Chosen",
    "Claim",
    "ClaimKind",
    "CodeFacts",
    "Decay",
    "Earlier",
    "Evidence",
    "Freshness",
    "Mention",
    "Side",
    "Standing",
    "Verdict",
    "Verification",
    "VerificationType",
    "check",
    "choose",
    "claims_in",
    "estimated_tokens",
    "freshness",
    "opposed",
    "quality",
    "trust_level",
    "trust_name",
    "trust_warning",
    "verify",
    "winner",
]
