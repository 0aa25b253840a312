"""Every failure the system can name, with the code an operator will search for.

`CODES` is the table behind docs/ERRORS.md; a test keeps the two equal.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar


class Code(StrEnum):
    BAD_REQUEST = "AR-400"
    UNAUTHENTICATED = "AR-401"
    FORBIDDEN = "AR-403"
    GONE = "AR-404"
    METHOD = "AR-405"
    SLOW = "AR-408"
    CONFLICT = "AR-409"
    EXPIRED = "AR-410"
    TOO_LARGE = "AR-413"
    MEDIA_TYPE = "AR-415"
    INVALID = "AR-422"
    RATE_LIMITED = "AR-429"
    HEAD = "AR-431"
    INTERNAL = "AR-500"
    UNAVAILABLE = "AR-503"
    NOTHING_TO_ANSWER = "AR-510"
    MODELS_FAILED = "AR-520"
    MODEL_REFUSED = "AR-521"
    CRITICAL_REVIEW = "AR-530"
    IDENTITY_QUESTION = "AR-531"
    SAFETY_STOP = "AR-532"
    QUOTA = "AR-540"
    BUDGET = "AR-541"
    MAX_ITERATIONS = "AR-550"
    REFUSED_CALLS = "AR-551"
    NO_CANDIDATE = "AR-552"
    TIMEOUT = "AR-553"
    DELIVERY = "AR-560"
    SPEECH = "AR-561"
    PAYMENT_LINK = "AR-562"
    MEDIA = "AR-563"
    QUEUE_MESSAGE = "AR-570"
    POISON = "AR-571"


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """What a code means, whether the system tries again by itself, and who hears of it."""

    meaning: str
    retried: str = "no"
    attention: bool = False
    dead_letter: bool = False
    critical: bool = False
    """Whoever reads the attention list looks at it first."""
    title: str | None = None
    """Of the HTTP problem, where `meaning` speaks of jobs too."""

    @property
    def of_http(self) -> str:
        return self.title or self.meaning


class Severity(StrEnum):
    """How soon somebody must look at what is on the attention list."""

    CRITICAL = "critical"
    NORMAL = "normal"

    @classmethod
    def of(cls, code: str | None) -> "Severity":
        return cls.CRITICAL if code is not None and CODES[Code(code)].critical else cls.NORMAL


CODES: dict[Code, CodeFacts] = {
    Code.BAD_REQUEST: CodeFacts("the request is not JSON, or not a JSON object"),
    Code.UNAUTHENTICATED: CodeFacts("no key, an unknown key or a revoked one"),
    Code.FORBIDDEN: CodeFacts(
        "the key's role may not do this; or a link or signature is not genuine", title="the key's role may not do this"
    ),
    Code.GONE: CodeFacts("not found; for a job: conversation or contact is gone, it ends `silent`", title="not found"),
    Code.METHOD: CodeFacts("the route exists, this method does not"),
    Code.SLOW: CodeFacts("the request did not arrive in time"),
    Code.CONFLICT: CodeFacts("too late, or it clashes with what is stored; `state`, `by`, `at` say what was found"),
    Code.EXPIRED: CodeFacts("the link to a file has expired"),
    Code.TOO_LARGE: CodeFacts(
        "text over 64 KiB, more than 20 attachments, a document over 200,000 characters, or the body over 1 MiB "
        "(20 MiB with a file)"
    ),
    Code.MEDIA_TYPE: CodeFacts("the body's content type is not accepted here"),
    Code.INVALID: CodeFacts("a field is missing, unknown or out of bounds; `errors` names each"),
    Code.RATE_LIMITED: CodeFacts("too many requests; `Retry-After` says when", "by the caller"),
    Code.HEAD: CodeFacts("the request's address and headers are over 32 KiB, or over 100 headers"),
    Code.INTERNAL: CodeFacts("a fault of ours; it is logged under the request id"),
    Code.UNAVAILABLE: CodeFacts("the database does not answer; `Retry-After` says when", "by the caller"),
    Code.NOTHING_TO_ANSWER: CodeFacts("nothing to answer (all deleted, only whitespace): the job ends `silent`"),
    Code.MODELS_FAILED: CodeFacts(
        "every model on the route failed",
        "yes, with backoff; then dead letter",
        attention=True,
        dead_letter=True,
    ),
    Code.MODEL_REFUSED: CodeFacts("the model refused, or its answer was cut and stayed cut", attention=True),
    Code.CRITICAL_REVIEW: CodeFacts(
        "critical validation: the whole reply is suppressed, media included", attention=True
    ),
    Code.IDENTITY_QUESTION: CodeFacts("identity question: a person must answer", attention=True),
    Code.SAFETY_STOP: CodeFacts("safety stop (minor signal, self-harm); critical", attention=True, critical=True),
    Code.QUOTA: CodeFacts("plan quota exceeded", attention=True),
    Code.BUDGET: CodeFacts("run, conversation or organisation budget (US dollars) spent", attention=True),
    Code.MAX_ITERATIONS: CodeFacts("`MaxIterations` reached", attention=True),
    Code.REFUSED_CALLS: CodeFacts("too many refused tool calls in a row", attention=True),
    Code.NO_CANDIDATE: CodeFacts("the agent stopped with nothing that can be sent", attention=True),
    Code.TIMEOUT: CodeFacts("`TimeoutSeconds` passed", attention=True),
    Code.DELIVERY: CodeFacts(
        "delivery given up: the rest stays held for a retry",
        "yes; then dead letter",
        attention=True,
        dead_letter=True,
    ),
    Code.SPEECH: CodeFacts("voice synthesis failed", "yes; then `held` without countdown", attention=True),
    Code.PAYMENT_LINK: CodeFacts(
        "payment link could not be made", "yes; then `held` without countdown", attention=True
    ),
    Code.MEDIA: CodeFacts(
        "a photo or video can no longer be sent: the reply is `held` without countdown", attention=True
    ),
    Code.QUEUE_MESSAGE: CodeFacts("a queue message is malformed", attention=True, dead_letter=True),
    Code.POISON: CodeFacts("the job killed its worker three times", attention=True, dead_letter=True),
}


class AppError(Exception):
    """Base of the failures that cross a seam. Subclasses fix the code and HTTP status; callers give the facts."""

    code: ClassVar[Code]
    http_status: ClassVar[int]
    title: ClassVar[str | None] = None
    """Of the HTTP problem, where the code's own does not fit."""

    def __init__(self, sentence: str, **facts: object) -> None:
        super().__init__(f"{self.code} {sentence}")
        self.sentence = sentence
        self.facts = facts


class BadRequest(AppError):
    code, http_status = Code.BAD_REQUEST, 400


class Unauthenticated(AppError):
    code, http_status = Code.UNAUTHENTICATED, 401


class Forbidden(AppError):
    code, http_status = Code.FORBIDDEN, 403


class NotSigned(Forbidden):
    """No key was asked for: a link or a signature is not genuine."""

    title = "the link or signature is not genuine"


class NotFound(AppError):
    """Also for what belongs to another organisation: a stranger learns nothing."""

    code, http_status = Code.GONE, 404


class Conflict(AppError):
    code, http_status = Code.CONFLICT, 409


_NEXT = {
    "queued": "wait until it is held, or cancel it",
    "running": "wait until it is held, or cancel it",
    "held": "approve, hold, release or cancel it",
    "sending": "hold or cancel what has not left",
    "sent": "nothing of it can be changed any more",
    "superseded": "a newer job answers",
    "silent": "retry it if it should be answered after all",
    "failed": "retry it, or dismiss it",
    "cancelled": "retry it if it should be answered after all",
    "human": "resume it first, or leave it to them",
    "ai": "take it over first",
    "pending": "somebody else must confirm it, with a key of their own",
    "open": "nothing is left to be done",
    "retried": "see what came of it",
    "purged": "nothing of it is left",
}
"""What whoever came too late can do, by the state that was found."""

_TOLD = {"human": "with a person", "ai": "with the AI", "pending": "waiting for a second person"}


class TooLate(Conflict):
    """A steering call found another state than it needs. `by` is who moved it there, `at` when, as far as known;
    `to_do` what can be done now, where more decides than the state. `never`: nobody was faster, it cannot be done."""

    def __init__(
        self,
        state: str,
        by: str | None = None,
        at: datetime | None = None,
        to_do: str | None = None,
        never: bool = False,
        **facts: object,
    ) -> None:
        moved = " ".join(filter(None, [f"by {by}" if by else "", f"at {at:%Y-%m-%d %H:%M:%S} UTC" if at else ""]))
        because = f" ({facts['reason']})" if "reason" in facts else ""
        found = f"it is {_TOLD.get(state, state)}{f', moved there {moved}' if moved else ''}{because}"
        if "newer_job" in facts:
            to_do = f"see {facts['newer_job']}"
        to_do = to_do or _NEXT.get(state, "look at it again")
        super().__init__(f"{'' if never else 'too late: '}{found}; {to_do}", state=state, by=by, at=at, **facts)
        self.state = state
        self.never = never
        self.by = by
        self.at = at


class TooLarge(AppError):
    code, http_status = Code.TOO_LARGE, 413


class TooSlow(AppError):
    code, http_status = Code.SLOW, 408


class HeadTooLarge(AppError):
    code, http_status = Code.HEAD, 431


class UnsupportedMedia(AppError):
    code, http_status = Code.MEDIA_TYPE, 415


class Invalid(AppError):
    """`errors` lists `{"field": dotted path, "message": sentence}`."""

    code, http_status = Code.INVALID, 422

    def __init__(self, sentence: str, errors: list[dict[str, str]] | None = None, **facts: object) -> None:
        super().__init__(sentence, errors=errors or [], **facts)


class RateLimited(AppError):
    code, http_status = Code.RATE_LIMITED, 429


class Unavailable(AppError):
    """The database is away, full or refuses connections. Nothing was kept and the caller should come back; unless the
    fact `done` says that only what came of it could not be read."""

    code, http_status = Code.UNAVAILABLE, 503


class FailureKind(StrEnum):
    """What to do about a failed model call, decided once from the provider's error type."""

    RATE_LIMITED = "rate_limited"
    SPEND_CAP = "spend_cap"
    OVERLOADED = "overloaded"
    TRANSIENT = "transient"
    TIMEOUT = "timeout"
    CUT = "cut"
    CONTEXT_OVERFLOW = "context_overflow"
    MODEL_GONE = "model_gone"
    """The provider has no model of that name (any more), or not for this account."""
    PERMANENT = "permanent"
    DEADLINE = "deadline"

    @property
    def cost_unknown(self) -> bool:
        """The provider may have answered and billed: nobody heard it."""
        return self in {FailureKind.TIMEOUT, FailureKind.CUT, FailureKind.DEADLINE}


class ModelFailure(Exception):
    """A model call did not give an answer. The only error a `ChatModel` raises.

    `retry_after` is in seconds, as the provider asked; `sentence` never holds text of the conversation.
    """

    def __init__(self, kind: FailureKind, sentence: str, retry_after: float | None = None) -> None:
        super().__init__(f"{kind}: {sentence}")
        self.kind = kind
        self.sentence = sentence
        self.retry_after = retry_after
