"""What the API answers when it does not answer: status, error type and sentence."""

from enum import StrEnum


class ErrorType(StrEnum):
    """`error.type` on the wire."""

    INVALID_REQUEST = "invalid_request_error"
    AUTHENTICATION = "authentication_error"
    BILLING = "billing_error"
    PERMISSION = "permission_error"
    NOT_FOUND = "not_found_error"
    TOO_LARGE = "request_too_large"
    RATE_LIMIT = "rate_limit_error"
    API = "api_error"
    TIMEOUT = "timeout_error"
    OVERLOADED = "overloaded_error"


STATUS = {
    ErrorType.INVALID_REQUEST: 400,
    ErrorType.AUTHENTICATION: 401,
    ErrorType.BILLING: 402,
    ErrorType.PERMISSION: 403,
    ErrorType.NOT_FOUND: 404,
    ErrorType.TOO_LARGE: 413,
    ErrorType.RATE_LIMIT: 429,
    ErrorType.API: 500,
    ErrorType.TIMEOUT: 504,
    ErrorType.OVERLOADED: 529,
}


class Refused(Exception):
    """The API would not run this request. Never billed."""

    def __init__(self, sentence: str, kind: ErrorType = ErrorType.INVALID_REQUEST) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.kind = kind
        self.status = STATUS[kind]


def error_body(kind: str, sentence: str, request_id: str, error_code: str | None = None) -> dict[str, object]:
    """The JSON that every error answer carries."""
    error: dict[str, object] = {"type": kind, "message": sentence}
    if error_code is not None:
        error["details"] = {"error_code": error_code}
    return {"type": "error", "error": error, "request_id": request_id}
