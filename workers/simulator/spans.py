"""Where the parts of a JSON text lie, so that a prompt can be keyed by the characters that were really sent.

Only texts that `json.loads` has accepted come here: nothing is checked again.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


class Part(NamedTuple):
    """A value, and its place in the text; `name` and `named_at` are set for the members of an object."""

    value: Any
    start: int
    end: int
    name: str = ""
    named_at: int = 0


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def object_parts(text: str, at: int = 0) -> Iterator[Part]:
    """The members of the object that starts at or after `at`, in the order sent."""
    at = _skip(text, at) + 1
    while text[at := _skip(text, at)] != "}":
        name, after = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, after) + 1)
        value, end = _DECODER.raw_decode(text, start)
        yield Part(value, start, end, name, at)
        at = _skip(text, end)
        at += text[at] == ","


def array_parts(text: str, at: int = 0) -> Iterator[Part]:
    """The items of the array that starts at or after `at`."""
    at = _skip(text, at) + 1
    while text[at := _skip(text, at)] != "]":
        value, end = _DECODER.raw_decode(text, at)
        yield Part(value, at, end)
        at = _skip(text, end)
        at += text[at] == ","
