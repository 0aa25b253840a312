"""When a model that keeps failing is left alone, and when one call may find out whether it is back.

Closed: it is asked. Open, after several failures in a row: it is not, for a while that doubles from one to the next.
Half-open, when that while is over: one call is let through; its answer closes the breaker, its failure opens it again.
"""

from dataclasses import dataclass
from enum import IntEnum

from pipelines.ports import Clock
from schemas.errors import FailureKind
from schemas.llm import Model

OUTAGES = frozenset(
    {
        FailureKind.OVERLOADED,
        FailureKind.TRANSIENT,
        FailureKind.TIMEOUT,
        FailureKind.CUT,
        # No waiting of ours lifts a limit on the month's money, and another provider has its own.
        FailureKind.SPEND_CAP,
        # A name that is gone stays gone until people write another one into the route.
        FailureKind.MODEL_GONE,
    }
)
"""Failures that say something of the provider. A rate limit is none: it has a date, and its own gate."""

ALL_DOWN = "every model of the route failed a moment ago: none is asked now"

WINDOW_SECONDS = 60.0
"""Failures further apart are not a row."""
LONGEST_SECONDS = 60.0
FORGET_SECONDS = 900.0
"""So long after its last failure a model's past is forgotten."""


class State(IntEnum):
    """As `replique_ai_breaker_state` shows it."""

    CLOSED = 0
    HALF_OPEN = 1
    OPEN = 2


@dataclass(frozen=True, slots=True)
class Rules:
    """`failures` in a row open it for `seconds`, then twice as long each time."""

    failures: int = 5
    seconds: float = 10.0

    def pause(self, openings: int) -> float:
        """Seconds that the `openings`-th opening (from 1) in a row lasts."""
        return float(min(self.seconds * 2 ** min(openings - 1, 10), max(LONGEST_SECONDS, self.seconds)))


class ClosedBreaker:
    """Where nobody counts failures: every model may be asked."""

    async def admits(self, model: Model) -> bool:
        return True

    async def failed(self, model: Model) -> None:
        return None

    async def answered(self, model: Model) -> None:
        return None


@dataclass(slots=True)
class _Circuit:
    failures: int = 0
    last_failure: float = 0.0
    openings: int = 0
    open_until: float = 0.0
    probe_until: float = 0.0


class OwnBreaker:
    """The breaker of one process: the whole of it where nothing is shared."""

    def __init__(self, clock: Clock, rules: Rules) -> None:
        self._clock = clock
        self._rules = rules
        self._circuits: dict[Model, _Circuit] = {}

    def state(self, model: Model) -> State:
        circuit = self._circuits.get(model)
        if circuit is None or not circuit.openings or self._forgotten(circuit):
            return State.CLOSED
        return State.OPEN if self._clock.monotonic() < circuit.open_until else State.HALF_OPEN

    def admits(self, model: Model) -> bool:
        """Who is admitted to a half-open one has the probe, and nobody else until its time is over."""
        state = self.state(model)
        if state is not State.HALF_OPEN:
            return state is State.CLOSED
        circuit, now = self._circuits[model], self._clock.monotonic()
        if now < circuit.probe_until:
            return False
        circuit.probe_until = now + self._rules.seconds
        return True

    def failed(self, model: Model) -> bool:
        """Whether this failure opened it."""
        now, state = self._clock.monotonic(), self.state(model)
        circuit = self._circuits.setdefault(model, _Circuit())
        if now - circuit.last_failure > WINDOW_SECONDS:
            circuit.failures = 0
        if self._forgotten(circuit):
            circuit.openings = 0
        circuit.failures += 1
        circuit.last_failure = now
        opens = state is State.HALF_OPEN or (state is State.CLOSED and circuit.failures >= self._rules.failures)
        if opens:
            circuit.openings += 1
            circuit.open_until = now + self._rules.pause(circuit.openings)
            circuit.probe_until = 0.0
        return opens

    def answered(self, model: Model) -> bool:
        """Whether anything was held against it."""
        return self._circuits.pop(model, None) is not None

    def _forgotten(self, circuit: _Circuit) -> bool:
        return self._clock.monotonic() - circuit.last_failure > FORGET_SECONDS
