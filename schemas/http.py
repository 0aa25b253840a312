"""Bodies that upstream apps post. What is not described here is refused by name."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from schemas.claims import CandidateState, JobState
from schemas.conversation import BubbleKind, Trigger
from schemas.errors import Severity
from schemas.moments import rfc3339
from schemas.resources import Zone
from schemas.spec import Locale, Name

MAX_TEXT_BYTES = 65_536
MAX_ATTACHMENTS = 20


SentAt = Annotated[
    AwareDatetime,
    Field(strict=False, ge=datetime(1970, 1, 1, tzinfo=UTC), lt=datetime(9000, 1, 1, tzinfo=UTC)),
    BeforeValidator(rfc3339),
]
"""As the upstream app says; only shown. Bounded, because a year 0 can be stored but not be read again."""


class Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Asked(Body):
    """A body that callers send. Strict: `"5"` is no number, `1` is not true."""

    model_config = ConfigDict(strict=True)


class AttachmentIn(Asked):
    type: Annotated[str, Field(min_length=1, max_length=64)]
    url: Annotated[str, Field(min_length=1, max_length=4096)]


class ContactIn(Asked):
    id: Name
    name: Annotated[str, Field(max_length=256)] | None = None
    locale: Locale | None = None
    timezone: Zone | None = None
    profile: dict[str, Any] | None = None


class MessageIn(Asked):
    """`POST /v1/messages`. `contact` is needed for the first message of a conversation."""

    id: Name
    conversation: Name
    persona: Name
    author: Literal["contact", "operator", "self"]
    contact: ContactIn | None = None
    text: str | None = None
    attachments: list[AttachmentIn] = []
    sent_at: SentAt | None = None


class MessagePatch(Asked):
    text: str | None = None
    attachments: list[AttachmentIn] | None = None


class Ingested(Body):
    """202. `job` is null when no job answers this message; `reason` then says why."""

    message: str
    conversation: str
    job: str | None
    duplicate: bool = False
    reason: str | None = None


class PriceIn(Asked):
    amount: Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,8})(\.[0-9]{1,2})?$")]
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")]


class CandidatePatch(Asked):
    """`ordinal` is the place the bubble moves to; the others keep their order. `version` is the one the caller has
    seen: when somebody has edited the bubble since, the answer is 409."""

    text: str | None = None
    price: PriceIn | None = None
    ordinal: Annotated[int, Field(ge=0, le=1000)] | None = None
    version: Annotated[int, Field(ge=0, lt=2**31)] | None = None


class InstructionIn(Asked):
    """What the next draft should mind; it is told to the model for this reply alone."""

    instruction: Annotated[str, Field(min_length=1, max_length=2000)] | None = None


class PaymentEventIn(Asked):
    """What became of a payment; `reference` is what the platform or its provider calls it."""

    status: Literal["paid", "expired", "refunded"]
    reference: Annotated[str, Field(min_length=1, max_length=256)] | None = None


class ReasonIn(Asked):
    reason: Annotated[str, Field(min_length=1, max_length=2000)]


class ConsentIn(Asked):
    """How the contact agreed (`form`, `sms`, `phone` …), and where the proof lies."""

    how: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    proof: Annotated[str, Field(min_length=1, max_length=2000)] | None = None


class ReopenIn(Asked):
    """The first of the two people must give a reason."""

    reason: Annotated[str, Field(min_length=1, max_length=2000)] | None = None


class AudioOut(Body):
    """What a voice bubble sounds like. `url` needs no key and is good for seven days from this answer."""

    url: str
    mime: str
    duration_ms: int
    transcript: str


class CandidateOut(Body):
    id: str
    ordinal: int
    kind: BubbleKind
    state: CandidateState
    text: str
    media: list[dict[str, Any]] = []
    price: dict[str, str] | None = None
    audio: AudioOut | None = None
    due_at: datetime | None = None
    reason: str | None = None
    version: int = 0


class UsageOut(Body):
    """Tokens and money of all model calls of a job. `discarded_cost_usd` is the part of `cost_usd` whose run was thrown
    away; `unpriced_calls` are those of models without a known price, in neither sum."""

    calls: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    cost_usd: str = "0"
    discarded_cost_usd: str = "0"
    unpriced_calls: int = 0


class JobOut(Body):
    """A job as people and upstream apps read it. `simulated`: a simulator plays the models of this installation.
    `severity`: of what is on the attention list."""

    id: str
    organization: str
    conversation: str
    engine: str
    trigger: Trigger
    state: JobState
    outcome: JobState | None
    code: str | None
    reason: str | None
    attention: bool
    severity: Severity | None = None
    attempts: int
    due_at: datetime | None
    on_hold: bool
    note: str | None = None
    instruction: str | None = None
    created_at: datetime
    ended_at: datetime | None
    candidates: list[CandidateOut]
    usage: UsageOut
    simulated: bool = False
    rules: list[dict[str, Any]] = []
    trace: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
