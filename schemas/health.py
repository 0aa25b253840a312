"""What `doctor` looks at, and what it finds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any

from schemas.http import Body


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    WRONG = "wrong"


class Finding(Body):
    """`next` is what to do about it; null when all is well."""

    check: str
    level: Level
    sentence: str
    next: str | None = None


class DoctorOut(Body):
    """`ok`: nothing is wrong; warnings do not count."""

    ok: bool
    findings: list[Finding]


@dataclass(frozen=True, slots=True)
class QueueHealth:
    """Of one queue. `working`: rows in hand of `workers` processes; `lost`: leases that are over. Ages in seconds:
    `untaken` of the oldest hint nobody claimed, `unseen` of the oldest due row no clock has sent out."""

    queue: str
    working: int
    workers: int
    lost: int
    untaken: float
    unseen: float


@dataclass(frozen=True, slots=True)
class ServerHealth:
    """`version` as in `server_version_num`; `vector`: the version of pgvector that can be had. `rate_limited`: jobs
    that a provider's 429 keeps waiting, the last of them for `rate_limited_seconds` more. `vectors_of`: how many
    passages have vectors of which model. `own_routes`: what organisations name in `models`. `own_in_vain`:
    organisations' settings that nothing reads yet, with whose they are. `crowding`: organisations beside others that
    may hold more than their share of a worker's threads. `later`: the schema is a later release's, and this one runs
    on it."""

    version: int
    migration: str | None
    newest: str | None
    vector: str | None
    queues: Sequence[QueueHealth] = ()
    no_webhook: Sequence[str] = ()
    disabled_webhook: Sequence[str] = ()
    failing_webhook: Sequence[str] = ()
    organizations: int = 0
    failed_jobs: int = 0
    dead_letters: int = 0
    rate_limited: int = 0
    rate_limited_seconds: float = 0.0
    vectors_of: Mapping[str, int] = field(default_factory=dict)
    own_routes: Sequence[str] = ()
    own_in_vain: Sequence[str] = ()
    crowding: Sequence[str] = ()
    later: bool = False

    @property
    def fits(self) -> bool:
        return self.later or self.migration == self.newest


@dataclass(frozen=True, slots=True)
class PromptHealth:
    """The shortest prompt prefix that is meant to be cached, in estimated tokens, against its model's minimum.

    `segments`: tools, product, organisation, persona. In US dollars per thousand model calls: `read_short` what the
    prefix costs as it is, at full price, where it is under the minimum; `read_filled` what one filled up to the minimum
    would cost, read from the cache. None: the model has no known price.
    """

    persona: str
    model: str
    segments: Mapping[str, int]
    minimum: int
    read_short: Decimal | None = None
    read_filled: Decimal | None = None

    @property
    def tokens(self) -> int:
        return sum(self.segments.values())

    @property
    def missing(self) -> int:
        return max(0, self.minimum - self.tokens)


@dataclass(frozen=True, slots=True)
class Checkup:
    """`server` None: the database does not answer. `routes`: the model each needed task takes, or None. `storage`:
    an error's sentence, or None where the store took a file and gave it back."""

    server: ServerHealth | None
    redis: Mapping[str, Any]
    routes: Mapping[str, str | None]
    left_out: Sequence[str]
    simulator: bool
    prompt: PromptHealth | None
    storage_url: str | None
    storage: str | None
    local: bool
    threads: int = 64
    """Of one worker process, as the settings have it."""
    embeds: str | None = None
    """The model that makes vectors here."""
    set_in_vain: Sequence[str] = ()
    """Names of settings that are set and that nothing reads yet."""
    unpriced: Sequence[str] = ()
    """Models of the routes whose price nobody knows."""
    down: Sequence[str] = ()
    """Models that kept failing, and whose breaker is not closed."""
