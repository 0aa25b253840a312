"""From the bytes of a request to its JSON, with the refusals that come before any rule about fields."""

import json
import re
from typing import Any, NoReturn

from workers.simulator.refusals import ErrorType, Refused

MAX_REQUEST_BYTES = 32 * 1024 * 1024
TOO_LARGE = "Request exceeds the maximum size"

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)


def parse(raw: bytes) -> tuple[str, dict[str, Any]]:
    """The exact text and the object in it.

    Raises:
        Refused: too large, not UTF-8, not JSON, a lone surrogate, or not an object.
    """
    if len(raw) > MAX_REQUEST_BYTES:
        raise Refused(TOO_LARGE, ErrorType.TOO_LARGE)
    try:
        text = raw.decode("utf-8")
        body = json.loads(text, parse_constant=_no_constant)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise Refused(f"The request body is not valid JSON: {error}") from error
    _refuse_lone_surrogates(text)
    if not isinstance(body, dict):
        raise Refused("Input should be a valid dictionary")
    return text, body


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"unexpected {name}")


def _refuse_lone_surrogates(text: str) -> None:
    if "\\ud" not in text and "\\uD" not in text:
        return  # nearly always: the walk below is slow
    high_ends_at = -1
    for escape in _ESCAPE.finditer(text):
        code = int(escape[1], 16) if escape[1] else 0
        if high_ends_at >= 0 and not (0xDC00 <= code <= 0xDFFF and escape.start() == high_ends_at):
            _lone(high_ends_at)
        if 0xDC00 <= code <= 0xDFFF and high_ends_at < 0:
            _lone(escape.start())
        high_ends_at = escape.end() if 0xD800 <= code <= 0xDBFF else -1
    if high_ends_at >= 0:
        _lone(high_ends_at)


def _lone(at: int) -> NoReturn:
    raise Refused(f"The request body is not valid JSON: no low surrogate in string: line 1 column {at + 1} (char {at})")
