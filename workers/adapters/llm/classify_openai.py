"""What a failed call at OpenAI means, by the code or type of the error and never by its wording."""

from datetime import datetime

import openai

from schemas.errors import FailureKind, ModelFailure
from workers.adapters.llm.classify import NEVER_SENT, NO_ADDRESS, retry_after

_BY_CODE = {
    "insufficient_quota": FailureKind.SPEND_CAP,
    "billing_hard_limit_reached": FailureKind.SPEND_CAP,
    "billing_not_active": FailureKind.SPEND_CAP,
    "context_length_exceeded": FailureKind.CONTEXT_OVERFLOW,
    "model_not_found": FailureKind.MODEL_GONE,
    "rate_limit_exceeded": FailureKind.RATE_LIMITED,
}
_BY_STATUS = {
    # An account in trouble is repaired by people while its jobs wait.
    401: FailureKind.TRANSIENT,
    402: FailureKind.SPEND_CAP,
    403: FailureKind.TRANSIENT,
    408: FailureKind.TRANSIENT,
    409: FailureKind.TRANSIENT,
    413: FailureKind.CONTEXT_OVERFLOW,
    429: FailureKind.RATE_LIMITED,
    503: FailureKind.OVERLOADED,
}
_ASIDE = frozenset({400, 403, 404, 413, 429})
"""Statuses under which the code says more."""


def classify(error: openai.OpenAIError, now: datetime) -> ModelFailure:
    """`now` is for waits that the provider names as a date. The sentence quotes nothing of the conversation."""
    if isinstance(error, openai.APIStatusError):
        return _of_status(error, now)
    if isinstance(error, openai.APIConnectionError):
        return _of_connection(error)
    return ModelFailure(FailureKind.PERMANENT, f"the provider's library refused the call: {type(error).__name__}")


def _of_status(error: openai.APIStatusError, now: datetime) -> ModelFailure:
    kind = _kind(error)
    wait = _wait(error, now) if kind is not FailureKind.SPEND_CAP else None
    named = f" {error.code}" if isinstance(error.code, str) and error.code.isidentifier() else ""
    return ModelFailure(kind, f"the provider answered {error.status_code}{named}", wait)


def _kind(error: openai.APIStatusError) -> FailureKind:
    if error.status_code in _ASIDE:
        for word in (error.code, error.type):
            if word in _BY_CODE:
                return _BY_CODE[word]
    if error.status_code in _BY_STATUS:
        return _BY_STATUS[error.status_code]
    return FailureKind.TRANSIENT if error.status_code >= 500 else FailureKind.PERMANENT


def _wait(error: openai.APIStatusError, now: datetime) -> float | None:
    """Seconds; the finer of the two headers comes first."""
    fine = retry_after(error.response.headers.get("retry-after-ms"), now)
    return fine / 1000 if fine is not None else retry_after(error.response.headers.get("retry-after"), now)


def _of_connection(error: openai.APIConnectionError) -> ModelFailure:
    cause = error.__cause__
    if isinstance(cause, NEVER_SENT):
        return ModelFailure(FailureKind.TRANSIENT, "the provider could not be reached")
    if isinstance(cause, NO_ADDRESS):
        return ModelFailure(FailureKind.PERMANENT, "the provider's base URL is no address")
    if isinstance(error, openai.APITimeoutError):
        return ModelFailure(FailureKind.TIMEOUT, "the provider did not answer in time")
    return ModelFailure(FailureKind.CUT, "the connection was cut before the answer was complete")
