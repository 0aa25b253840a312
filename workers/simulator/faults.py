"""Failures on demand: which request they hit, for how long, and what the client then meets."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from workers.simulator.clock import VirtualClock
from workers.simulator.fields import optional, text_or_none
from workers.simulator.refusals import ErrorType


class FaultKind(StrEnum):
    """The first five answer with an error and bill nothing; the others bill the call."""

    RATE_LIMITED = "rate_limited"
    SPEND_CAP = "spend_cap"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    SLOW = "slow"
    CUT_BEFORE = "cut_before"
    CUT_BODY = "cut_body"
    BAD_JSON = "bad_json"
    BAD_OUTPUT = "bad_output"
    WRONG_ARGUMENTS = "wrong_arguments"
    REFUSAL = "refusal"
    MAX_TOKENS = "max_tokens"
    EMPTY = "empty"
    STREAM_ERROR = "stream_error"


ERRORS = {
    FaultKind.RATE_LIMITED: (
        ErrorType.RATE_LIMIT,
        "This request would exceed your organization's rate limit.",
    ),
    FaultKind.SPEND_CAP: (ErrorType.RATE_LIMIT, "You have reached your specified API usage limits."),
    FaultKind.OVERLOADED: (ErrorType.OVERLOADED, "Overloaded"),
    FaultKind.SERVER_ERROR: (ErrorType.API, "Internal server error"),
    FaultKind.TIMEOUT: (ErrorType.TIMEOUT, "Request timed out."),
}

DEFAULT_RETRY_AFTER = 5.0  # seconds
DEFAULT_DELAY = {FaultKind.SLOW: 5.0}  # seconds


@dataclass(frozen=True, slots=True)
class Fault:
    """One failure. `retry_after` and `delay` in seconds; the delay comes first, whatever follows."""

    kind: FaultKind
    delay: float = 0.0
    retry_after: float = DEFAULT_RETRY_AFTER

    @property
    def is_error(self) -> bool:
        return self.kind in ERRORS

    @classmethod
    def of(cls, given: Any) -> "Fault":
        """From a kind's name or `{"kind", "delay"?, "retry_after"?}`. ValueError if it is neither."""
        fields = {"kind": given} if isinstance(given, str) else given
        if not isinstance(fields, dict) or "kind" not in fields:
            raise ValueError('a fault is a kind or {"kind": …}')
        kind = FaultKind(fields["kind"])
        delay = optional(fields, "delay", float, DEFAULT_DELAY.get(kind, 0.0))
        return cls(kind, delay, optional(fields, "retry_after", float, DEFAULT_RETRY_AFTER))


@dataclass(slots=True)
class Outage:
    """A fault and its aim: `left` more requests, or all until `until`, of a task, model prefix or text."""

    fault: Fault
    left: int | None
    until: float | None
    real_time: bool = False
    task: str | None = None
    model: str | None = None
    match: str | None = None

    def hits(self, task: str, model: str, text: str) -> bool:
        return (
            (self.task is None or self.task == task)
            and (self.model is None or model.startswith(self.model))
            and (self.match is None or self.match in text)
        )


class Outages:
    """The faults that wait. The oldest one that fits is met first."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._waiting: list[Outage] = []

    def clear(self) -> None:
        self._waiting.clear()

    def __len__(self) -> int:
        return len([outage for outage in self._waiting if not self._over(outage)])

    def add(self, fields: dict[str, Any]) -> Outage:
        """From `{"kind", "next"?, "seconds"?, "time"?: "virtual"|"real", "task"?, "model"?, "match"?, …}`.

        Without `next` and `seconds` the next request alone is hit. ValueError if a field does not fit.
        """
        seconds = optional(fields, "seconds", float, None)
        left = optional(fields, "next", int, None if seconds is not None else 1)
        real_time = fields.get("time", "virtual") == "real"
        outage = Outage(
            fault=Fault.of(fields),
            left=left,
            until=None if seconds is None else self._time(real_time) + seconds,
            real_time=real_time,
            task=text_or_none(fields, "task"),
            model=text_or_none(fields, "model"),
            match=text_or_none(fields, "match"),
        )
        self._waiting.append(outage)
        return outage

    def take(self, task: str, model: str, text: str) -> Fault | None:
        """The fault this request meets, counted off."""
        self._waiting = [outage for outage in self._waiting if not self._over(outage)]
        for outage in self._waiting:
            if outage.hits(task, model, text):
                if outage.left is not None:
                    outage.left -= 1
                return outage.fault
        return None

    def _time(self, real: bool) -> float:
        return self._clock.real() if real else self._clock.now()

    def _over(self, outage: Outage) -> bool:
        used_up = outage.left is not None and outage.left <= 0
        return used_up or (outage.until is not None and self._time(outage.real_time) >= outage.until)
