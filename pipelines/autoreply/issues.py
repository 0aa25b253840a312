"""What a review finds wrong with a bubble."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "critical"]


@dataclass(frozen=True, slots=True)
class Issue:
    """`candidate` counts from 0; `feedback` is a sentence to the writer: what is wrong, and what to do instead."""

    candidate: int
    rule: str
    severity: Severity
    feedback: str
