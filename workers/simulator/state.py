"""All that one simulator knows: time, cache, scripts, faults, journal."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from workers.simulator.cache import PromptCache
from workers.simulator.clock import VirtualClock
from workers.simulator.faults import Outages
from workers.simulator.journal import Journal
from workers.simulator.prompt import PromptReader
from workers.simulator.scripts import Scripts

MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Options:
    """`api_keys` empty: any non-empty key. `latency` in seconds before each answer."""

    api_keys: frozenset[str] = frozenset()
    latency: float = 0.0
    requests_per_minute: int = 1_000
    input_tokens_per_minute: int = 2_000_000
    output_tokens_per_minute: int = 400_000


@dataclass(slots=True)
class LastMinute:
    """One model's use in the last sixty seconds, for the rate-limit headers. Sums run along."""

    uses: deque[tuple[float, int, int]] = field(default_factory=deque)
    input_tokens: int = 0
    output_tokens: int = 0

    def add(self, at: float, input_tokens: int, output_tokens: int) -> None:
        self.uses.append((at, input_tokens, output_tokens))
        self.input_tokens += input_tokens
        self.output_tokens += output_tokens

    def forget_before(self, at: float) -> None:
        while self.uses and self.uses[0][0] < at:
            _, input_tokens, output_tokens = self.uses.popleft()
            self.input_tokens -= input_tokens
            self.output_tokens -= output_tokens


@dataclass(slots=True)
class Simulator:
    """Shared by the dialects and the control API."""

    options: Options
    clock: VirtualClock = field(default_factory=VirtualClock)
    reader: PromptReader = field(default_factory=PromptReader)
    cache: PromptCache = field(default_factory=PromptCache)
    scripts: Scripts = field(default_factory=Scripts)
    journal: Journal = field(default_factory=Journal)
    outages: Outages = field(init=False)
    recent: dict[str, LastMinute] = field(default_factory=dict)
    also_cleared: list[Callable[[], None]] = field(default_factory=list)
    """What a dialect keeps of its own."""

    def __post_init__(self) -> None:
        self.outages = Outages(self.clock)

    def reset(self) -> None:
        self.clock.restart()
        self.cache.clear()
        self.scripts.clear()
        self.outages.clear()
        self.journal.clear()
        self.recent.clear()
        for clear in self.also_cleared:
            clear()

    def spend(self, model: str, input_tokens: int, output_tokens: int) -> None:
        self.recent.setdefault(model, LastMinute()).add(self.clock.now(), input_tokens, output_tokens)

    def spent_in_last_minute(self, model: str) -> tuple[int, int, int]:
        """Requests, input tokens (cache reads are free of limits) and output tokens of one model."""
        recent = self.recent.setdefault(model, LastMinute())
        recent.forget_before(self.clock.now() - MINUTE)
        return len(recent.uses), recent.input_tokens, recent.output_tokens
