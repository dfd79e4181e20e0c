"""Knowledge: the parts of the note lifecycle that tools call."""

from __future__ import annotations

from dataclasses import dataclass

from lithos.notes.lifecycle.decay import Decay
from lithos.notes.lifecycle.feedback import Feedback
from lithos.notes.lifecycle.near_duplicates import NearDuplicates
from lithos.notes.lifecycle.promotions import Promotions


@dataclass(frozen=True, slots=True)
class Knowledge:
    feedback: Feedback
    promotions: Promotions
    decay: Decay
    likes: NearDuplicates
