"""What a run leaves behind: its steps, saved as it goes, and its trace, read by people."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from schemas.ids import RunId
from schemas.llm import SettledCall, Task


class TraceKind(StrEnum):
    MODEL = "model"
    TOOL = "tool"
    REVIEW = "review"
    GUARD = "guard"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class TraceItem:
    """One line of the story of a run. `n` is the model call it belongs to, from 1; 0 before the first.

    `facts` by kind, all JSON: model `{model, stop, input, cache_read, cache_write, output, cost_usd, ms}`; tool
    `{tool, args, result, refused, reason}`, and `unknown` when there is no such tool; review
    `{verdict, issues}`, and `by` when the rules alone judged; guard `{code, rule}`; note `{note, …}`.
    """

    n: int
    kind: TraceKind
    at: datetime
    facts: dict[str, Any]

    def shown(self) -> dict[str, Any]:
        return {"n": self.n, "kind": self.kind.value, "at": self.at.isoformat(), **self.facts}


@dataclass(frozen=True, slots=True)
class Step:
    """One finished model call of a run, saved before anything is done with it.

    `content` is JSON text whose bytes are kept as they are: the next request repeats them. `active_seconds` is the
    run's time in hand so far, over all its claims.
    """

    n: int
    task: Task
    content: str
    call: SettledCall
    active_seconds: float
    trace: tuple[TraceItem, ...] = ()


@dataclass(frozen=True, slots=True)
class SavedStep:
    n: int
    task: Task
    content: str


@dataclass(frozen=True, slots=True)
class Resume:
    """Where a run stands when it is claimed: new (no steps) or left off by another worker. `tries`: claims in a row in
    which no model answered."""

    run: RunId
    fence: int
    steps: tuple[SavedStep, ...] = ()
    active_seconds: float = 0.0
    tries: int = 0


class Kept(StrEnum):
    """What saving a step found. FRESH: go on. OVERTAKEN: the contact wrote since, the job is queued again. LOST: the
    lease is somebody else's. OVER_…: the step is kept and the run is ours, but that budget has no room for the next
    call, which is not reserved and must not be made."""

    FRESH = "fresh"
    OVERTAKEN = "overtaken"
    LOST = "lost"
    OVER_RUN = "over_run"
    OVER_CONVERSATION = "over_conversation"
    OVER_MONTH = "over_month"

    @property
    def over_budget(self) -> bool:
        return self in (Kept.OVER_RUN, Kept.OVER_CONVERSATION, Kept.OVER_MONTH)


@dataclass(frozen=True, slots=True)
class AgentParameters:
    """The guards and switches of one run, resolved: settings, then organisation, then persona."""

    enable: bool = True
    max_iterations: int = 12
    timeout_seconds: float = 150.0
    max_refused_tool_calls: int = 6
    max_validation_passes: int = 2
    use_redaction_validation: bool = True
    hard_remove_disabled_tools: bool = True
    prefer_album_continuity: bool = True
    max_free_media: int = 4
    max_free_media_window: str | None = "24h"
    max_tokens_per_turn: int = 4000
