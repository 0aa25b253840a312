"""What the HTTP surface answers, besides the bodies of `schemas.http`."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import ConfigDict, Field, StringConstraints

from schemas.access import Role
from schemas.claims import CandidateState
from schemas.conversation import Author, BubbleKind, HandledBy
from schemas.http import Asked, AudioOut, Body, JobOut
from schemas.memory import Scope
from schemas.payments import PaymentState
from schemas.spec import Name

Item = TypeVar("Item")


class Page(Body, Generic[Item]):
    """A list. `next` is the cursor of the following page, null on the last."""

    items: list[Item]
    next: str | None = None


class Change(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


class Applied(Body):
    kind: str
    name: str
    result: Change


class ApplyOut(Body):
    organization: str
    resources: list[Applied]


class DocumentOut(Body):
    """A document as it is kept. `passages`: how many pieces of it can be found."""

    name: str
    result: Change
    scope: Scope
    persona: str | None
    contact: str | None
    title: str
    passages: int


class KeyIn(Asked):
    """`organization` is needed for the roles app and operator, and refused for the others. `name` is how jobs, refusals
    and the audit log call whoever holds the key; without one it is the role and the key's id: `operator-key_3`."""

    role: Annotated[Role, Field(strict=False)]
    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=128)] | None = None
    organization: Name | None = None


class KeyOut(Body):
    id: str
    role: Role
    name: str
    organization: str | None
    created_at: datetime
    revoked_at: datetime | None = None


class KeyMade(KeyOut):
    """The only answer that holds the key itself."""

    key: str


class ContactOut(Body):
    id: str
    name: str | None
    locale: str | None
    timezone: str | None
    profile: dict[str, Any]
    opted_out_at: datetime | None
    locked_at: datetime | None


class AttachmentOut(Body):
    type: str
    url: str


class MessageOut(Body):
    """`id` is the upstream app's for what it posted, ours (`msg_…`) for what the system wrote.

    `candidate`, `job` and `state` are set for the AI's bubbles: `leaving` until the receiver took it; `audio` for those
    that are heard.
    """

    id: str
    author: Author
    kind: BubbleKind
    text: str
    attachments: list[AttachmentOut] = Field(default_factory=list)
    audio: AudioOut | None = None
    position: int
    sent_at: datetime | None
    created_at: datetime
    edited_at: datetime | None = None
    candidate: str | None = None
    job: str | None = None
    state: CandidateState | None = None
    reason: str | None = None


class ConversationOut(Body):
    """`messages` are in order, the newest last; `next` is the cursor of the older ones."""

    id: str
    organization: str
    persona: str
    contact: ContactOut
    handled_by: HandledBy
    by: str | None
    handled_at: datetime | None
    plan: str | None
    paused_until: datetime | None
    follow_up_at: datetime | None
    job: JobOut | None
    messages: list[MessageOut]
    next: str | None = None


class TakeoverOut(Body):
    conversation: str
    handled_by: HandledBy
    by: str


class ResumeOut(Body):
    """`job` was made at once because something waits for an answer."""

    conversation: str
    job: str | None


class ConsentOut(Body):
    """The contact may be written to again, in all their conversations."""

    conversation: str
    contact: str
    opted_out_at: None = None


class ReopenOut(Body):
    """`pending` (202) until a second person has confirmed, then `open`."""

    conversation: str
    state: Literal["pending", "open"]
    asked_by: str
    asked_at: datetime
    confirmed_by: str | None = None


class ConsentRecordOut(Body):
    """`rule` is what was heard or how consent was given, `message` where: the upstream app's id of it."""

    at: datetime
    act: Literal["opted_out", "opted_in", "locked", "reopening", "reopened"]
    who: str
    rule: str | None
    reason: str | None
    conversation: str
    message: str | None
    job: str | None


class CandidateStateOut(Body):
    id: str
    state: CandidateState


class CancelOut(Body):
    """Every bubble of the cancelled job, and where it is now."""

    job: str
    candidates: list[CandidateStateOut]


class PaymentOut(Body):
    """`media_ids` by their upstream names; `url` is null where the platform makes its own link. `reference` is what
    whoever told of it called it; `job` delivers what was paid."""

    id: str
    conversation: str
    state: PaymentState
    amount: str
    currency: str
    media_ids: list[str]
    url: str | None
    reference: str | None
    job: str | None


class Heard(Body):
    """`used`: a payment of this installation was moved by it, or says so already."""

    used: bool


class DeadLetterOut(Body):
    """Work that was given up. `error` is the last one. `payload` and `trace` (the story of the job's runs; empty in
    lists) name and count things, and hold nothing that anybody wrote."""

    id: str
    organization: str | None
    job: str | None
    source: Literal["job", "delivery", "queue"]
    state: Literal["open", "retried", "purged"]
    code: str
    error: str
    attempts: int
    first_seen: datetime
    last_seen: datetime
    payload: dict[str, Any]
    trace: list[dict[str, Any]] = Field(default_factory=list)


class LetterRefused(Body):
    """It stays open: `code` and `detail` say why it could not be tried again."""

    id: str
    code: str
    detail: str


class LettersRetried(Body):
    """`next` is the cursor of those that the filter finds beyond these."""

    retried: list[str]
    refused: list[LetterRefused]
    next: str | None = None


class LettersPurged(Body):
    purged: list[str]
    next: str | None = None


class Alive(Body):
    status: Literal["ok"] = "ok"


class Readiness(Body):
    """`ready` hangs on PostgreSQL and the migration alone; the rest is told for people. `models`:
    whether a simulator plays them."""

    ready: bool
    postgres: dict[str, Any]
    redis: dict[str, Any]
    clock: dict[str, Any]
    models: dict[str, Any]


class FieldProblem(Body):
    field: str
    message: str


class Problem(Body):
    """RFC 9457, media type `application/problem+json`. Some codes carry members of their own: `errors` (AR-422),
    `state`, `by`, `at` (AR-409 of a call that came too late; `newer_job` when another job has taken over, `version`
    when somebody else edited the bubble), `retry_after` in seconds (AR-429, AR-503)."""

    model_config = ConfigDict(frozen=True, extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: list[FieldProblem] | None = None
