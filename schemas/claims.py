"""What the guarded transitions hand out and answer: claims on work, and what became of it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from schemas.agent import Resume
from schemas.conversation import Case
from schemas.errors import Code
from schemas.ids import CandidateId, ConversationId, DeliveryId, JobId, OrgId


class JobState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    HELD = "held"
    SENDING = "sending"
    SENT = "sent"
    SILENT = "silent"
    FAILED = "failed"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"

    @property
    def live(self) -> bool:
        return self in {JobState.QUEUED, JobState.RUNNING, JobState.HELD, JobState.SENDING}


class CandidateState(StrEnum):
    HELD = "held"
    PREPARING = "preparing"
    LEAVING = "leaving"
    SENT = "sent"
    DROPPED = "dropped"
    RECALLED = "recalled"
    FAILED = "failed"


class NoJob(StrEnum):
    """Why a message that was stored got no job: what ingestion knows without a run."""

    ECHO = "echo"
    OPERATOR = "operator"
    HUMAN_HANDLES = "human_handles"
    AUTONOMY_OFF = "autonomy_off"
    OPTED_OUT = "opted_out"
    ERASED = "erased"
    SAFETY_LOCK = "safety_lock"
    ANSWERED = "answered"
    """An edited or deleted message that a reply has covered already."""
    NOTHING_TO_ANSWER = "nothing_to_answer"
    """A deleted message was the last one that waited for a reply."""


class MustBeAlone(Exception):
    """Two workers have died with this job in hand. Only one that has nothing else in hand may take it: whose fault the
    third death is must be plain, and nobody else may come to harm by it."""


class NoFollowUp(StrEnum):
    """Why a follow-up that was planned is not written; beside these, whatever of `NoJob` closes the conversation."""

    ON_ITS_WAY = "on_its_way"
    UNANSWERED = "unanswered"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Claim:
    """A job taken by one worker, until its lease is over. Everything it does names the fence."""

    job: JobId
    conversation: ConversationId
    org: OrgId
    fence: int
    case: Case
    resume: Resume


@dataclass(frozen=True, slots=True)
class Held:
    """The reply waits in its window; `due_at` None: for an operator."""

    due_at: datetime | None


@dataclass(frozen=True, slots=True)
class Ended:
    state: JobState
    code: Code | None = None


@dataclass(frozen=True, slots=True)
class Requeued:
    """Queued again: overtaken, or parked until the provider answers."""

    due_at: datetime | None


@dataclass(frozen=True, slots=True)
class Lost:
    """Another worker has the row, or an operator ended it. Nothing was written but the ledger."""


Recorded = Held | Ended | Requeued | Lost


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where webhooks of an organisation go. `secret` never appears in a repr."""

    url: str
    secret: str

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r})"


@dataclass(frozen=True, slots=True)
class Posting:
    """One webhook to be handed over now. `endpoint` None: no webhook is configured, it goes to the built-in inbox."""

    delivery: DeliveryId
    webhook_id: str
    org: OrgId
    conversation: ConversationId | None
    candidate: CandidateId | None
    type: str
    body: str
    fence: int
    attempt: int
    endpoint: Endpoint | None


@dataclass(frozen=True, slots=True)
class Preparing:
    """A voice bubble to be spoken now, outside of any transaction: it can still be edited, held and recalled. The job
    is leased meanwhile, under `fence`; whether the bubble may leave is asked again when its audio is there.

    `voice` and `consented` (its owner's consent is on record) are the persona's; `language` is the conversation's;
    `due_at` is when it should have left.
    """

    job: JobId
    conversation: ConversationId
    org: OrgId
    fence: int
    candidate: CandidateId
    version: int
    text: str
    voice: str | None
    language: str
    consented: bool
    due_at: datetime | None


@dataclass(frozen=True, slots=True)
class Accepted:
    """2xx. `platform_id` is what the receiver called it, if it said."""

    platform_id: str | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """A whole answer that is not 2xx: the bubble was certainly not shown.

    `final`: repeating is pointless. `gone`: the endpoint asks to be disabled (410). `retry_after` in seconds.
    """

    sentence: str
    final: bool
    gone: bool = False
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """Time-out, cut, reset: the receiver may have applied it."""

    sentence: str


Posted = Accepted | Refused | Unknown
