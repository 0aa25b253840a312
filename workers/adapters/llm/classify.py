"""What a failed call at Anthropic means, by the type of the error and never by its wording."""

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import anthropic
import httpx2

from schemas.errors import FailureKind, ModelFailure

_BY_TYPE = {
    "rate_limit_error": FailureKind.RATE_LIMITED,
    "overloaded_error": FailureKind.OVERLOADED,
    "api_error": FailureKind.TRANSIENT,
    "timeout_error": FailureKind.TRANSIENT,
    "conflict_error": FailureKind.TRANSIENT,
    "request_too_large": FailureKind.CONTEXT_OVERFLOW,
    "not_found_error": FailureKind.MODEL_GONE,
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
    529: FailureKind.OVERLOADED,
}
_SPEND_CODES = frozenset({"enforced_spend_limit_reached", "contract_spend_limit_reached", "ramp_limit_exceeded"})
NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
NO_ADDRESS = (httpx2.UnsupportedProtocol, httpx2.InvalidURL)
_TOO_LONG = "prompt is too long"


def classify(error: anthropic.AnthropicError, now: datetime) -> ModelFailure:
    """`now` is for waits that the provider names as a date. The sentence quotes nothing of the conversation."""
    if isinstance(error, anthropic.APIStatusError):
        return _of_status(error, now)
    if isinstance(error, anthropic.APIConnectionError):
        return _of_connection(error)
    return ModelFailure(FailureKind.PERMANENT, f"the provider's library refused the call: {type(error).__name__}")


def of_error_body(kind: str) -> ModelFailure:
    """An error told inside an answer whose status says 200."""
    return ModelFailure(_BY_TYPE.get(kind, FailureKind.TRANSIENT), f"the provider answered 200 with {kind}")


def _of_status(error: anthropic.APIStatusError, now: datetime) -> ModelFailure:
    kind = _kind(error)
    wait = retry_after(error.response.headers.get("retry-after"), now)
    if kind is FailureKind.RATE_LIMITED and (wait is None or _code(error) in _SPEND_CODES):
        # No date means that waiting a moment does not help: the month's money is spent.
        kind, wait = FailureKind.SPEND_CAP, None
    named = f" {error.type}" if error.type else ""
    return ModelFailure(kind, f"the provider answered {error.status_code}{named}", wait)


def _kind(error: anthropic.APIStatusError) -> FailureKind:
    if error.type in _BY_TYPE:
        return _BY_TYPE[error.type]
    if error.status_code in _BY_STATUS:
        return _BY_STATUS[error.status_code]
    if error.status_code == 400 and _TOO_LONG in str(error).lower():
        # The one case without a type of its own.
        return FailureKind.CONTEXT_OVERFLOW
    return FailureKind.TRANSIENT if error.status_code >= 500 else FailureKind.PERMANENT


def _of_connection(error: anthropic.APIConnectionError) -> ModelFailure:
    cause = error.__cause__
    if isinstance(cause, NEVER_SENT):
        return ModelFailure(FailureKind.TRANSIENT, "the provider could not be reached")
    if isinstance(cause, NO_ADDRESS):
        return ModelFailure(FailureKind.PERMANENT, "the provider's base URL is no address")
    if isinstance(error, anthropic.APITimeoutError):
        return ModelFailure(FailureKind.TIMEOUT, "the provider did not answer in time")
    return ModelFailure(FailureKind.CUT, "the connection was cut before the answer was complete")


def _code(error: anthropic.APIStatusError) -> str | None:
    return getattr(error, "error_code", None)


def retry_after(header: str | None, now: datetime) -> float | None:
    """Seconds from now, for a number of seconds or an HTTP date; None for anything else."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            at = parsedate_to_datetime(header)
        except ValueError:
            return None
        seconds = (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None
