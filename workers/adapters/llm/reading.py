"""What a provider answered: a message, or a failure. It may have been billed, and nobody can read it."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

from pipelines.text import deeper_than
from schemas.errors import FailureKind, ModelFailure

MAX_DEPTH = 64
"""A message has eight levels, and what a model writes as the arguments of a tool a few more."""

T = TypeVar("T")


def read_answer(body: bytes, read: Callable[[Any], T]) -> T:
    """What `read` makes of the body. Raises ModelFailure."""
    try:
        message = json.loads(body)
        if deeper_than(message, MAX_DEPTH):
            raise ValueError("nested too deep")
        return read(message)
    except _UNREADABLE as error:
        raise ModelFailure(FailureKind.CUT, "the provider's answer could not be read") from error


_UNREADABLE = (ValueError, AttributeError, TypeError, LookupError, OverflowError, RecursionError)
