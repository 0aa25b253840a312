"""What this API answers when it does not answer: status, and `{"error": {message, type, param, code}}`."""

from workers.simulator.faults import Fault, FaultKind

INVALID = "invalid_request_error"


class ChatRefused(Exception):
    """The API would not run this request. Never billed."""

    def __init__(self, sentence: str, param: str | None = None, code: str | None = None, status: int = 400) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.status = status
        self.body = error_body(sentence, INVALID, param, code)


class ChatFailed(Exception):
    """The provider's own failure, as an error answer. Never billed."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.kind)
        self.fault = fault
        self.status, sentence, kind, code = _FAILURES.get(fault.kind, _FAILURES[FaultKind.OVERLOADED])
        self.body = error_body(sentence, kind, None, code)

    @property
    def headers(self) -> dict[str, str]:
        if self.fault.kind is not FaultKind.RATE_LIMITED:
            return {}
        wait = self.fault.retry_after
        return {"retry-after": f"{wait:g}", "retry-after-ms": f"{wait * 1000:.0f}"}


_FAILURES: dict[FaultKind, tuple[int, str, str, str | None]] = {
    FaultKind.RATE_LIMITED: (429, "Rate limit reached. Please try again later.", "requests", "rate_limit_exceeded"),
    FaultKind.SPEND_CAP: (
        429,
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
        "insufficient_quota",
    ),
    FaultKind.OVERLOADED: (503, "The engine is currently overloaded, please try again later.", "server_error", None),
    FaultKind.SERVER_ERROR: (500, "The server had an error while processing your request.", "server_error", None),
    FaultKind.TIMEOUT: (504, "Gateway timeout.", "server_error", None),
}


def error_body(sentence: str, kind: str, param: str | None, code: str | None) -> dict[str, object]:
    return {"error": {"message": sentence, "type": kind, "param": param, "code": code}}
