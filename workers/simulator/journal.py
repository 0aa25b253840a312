"""Every request that was seen, kept for the test that asks: exact text, headers, answer, bill."""

from collections import Counter, deque
from dataclasses import asdict, dataclass, field
from typing import Any

MAX_REQUESTS = 10_000
MAX_CHARACTERS = 128 * 1024 * 1024
_SECRET = frozenset({"authorization", "x-api-key"})


@dataclass(slots=True)
class Seen:
    """One request. `at` is virtual seconds; `refused` the API's sentence; `fault` the failure it met."""

    n: int
    request_id: str
    at: float
    time: str
    path: str
    headers: dict[str, str]
    body: str
    task: str | None = None
    model: str | None = None
    stream: bool = False
    status: int = 0
    refused: str | None = None
    fault: str | None = None
    script: int | None = None
    usage: dict[str, Any] | None = None
    answer: dict[str, Any] | None = None


@dataclass(slots=True)
class Totals:
    """Sums since the last reset, not bounded by what is kept."""

    requests: int = 0
    answered: int = 0
    refused: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)

    def as_json(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "answered": self.answered,
            "refused": self.refused,
            "faults": dict(self.faults),
            "tokens": dict(self.tokens),
        }


class Journal:
    """Bounded in number and in size; the oldest go first."""

    def __init__(self, max_requests: int = MAX_REQUESTS, max_characters: int = MAX_CHARACTERS) -> None:
        self._max_requests = max_requests
        self._max_characters = max_characters
        self.clear()

    def clear(self) -> None:
        self._seen: deque[Seen] = deque()
        self._characters = 0
        self.totals = Totals()
        self.by_task: dict[str, Counter[str]] = {}
        self.by_model: dict[str, Counter[str]] = {}

    def open(self, seen: Seen) -> Seen:
        self._seen.append(seen)
        self._characters += len(seen.body)
        self.totals.requests += 1
        while len(self._seen) > self._max_requests or self._characters > self._max_characters:
            self._characters -= len(self._seen.popleft().body)
        return seen

    def next_number(self) -> int:
        return self.totals.requests + 1

    def refused(self, seen: Seen, status: int, sentence: str) -> None:
        seen.status, seen.refused = status, sentence
        self.totals.refused += 1

    def failed(self, seen: Seen, status: int, fault: str) -> None:
        """Met a fault; `status` 0 when the client saw none."""
        seen.status, seen.fault = status, fault
        self.totals.faults[fault] += 1

    def billed(self, seen: Seen, usage: dict[str, Any]) -> None:
        seen.usage = usage
        self.totals.answered += 1
        counts = _counts(usage)
        for sums in (
            self.totals.tokens,
            self.by_task.setdefault(seen.task or "", Counter()),
            self.by_model.setdefault(seen.model or "", Counter()),
        ):
            sums.update(counts)
            sums["calls"] += 1

    def since(self, n: int, task: str | None = None, refused: bool | None = None) -> list[dict[str, Any]]:
        return [
            asdict(seen)
            for seen in self._seen
            if seen.n > n
            and (task is None or seen.task == task)
            and (refused is None or (seen.refused is not None) == refused)
        ]


def _counts(usage: dict[str, Any]) -> dict[str, int]:
    split = usage["cache_creation"]
    return {
        "input_tokens": usage["input_tokens"],
        "cache_read_input_tokens": usage["cache_read_input_tokens"],
        "ephemeral_5m_input_tokens": split["ephemeral_5m_input_tokens"],
        "ephemeral_1h_input_tokens": split["ephemeral_1h_input_tokens"],
        "output_tokens": usage["output_tokens"],
    }


def without_secrets(headers: list[tuple[str, str]]) -> dict[str, str]:
    """Lower-case names; a credential is replaced by the word "present"."""
    return {name.lower(): "present" if name.lower() in _SECRET else value for name, value in headers}
