"""A decision whose ground moved while it was made is made again, but not for ever."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from schemas.errors import Unavailable

T = TypeVar("T")
TRIES = 8
"""Each loses against another transaction that committed; more in a row than this is a fault, and has to be seen."""


async def decided(decide: Callable[[], Awaitable[T]], *moved: type[Exception]) -> T:
    """What `decide` answers as soon as none of `moved` is raised. After so many tries raises Unavailable: nothing was
    kept, the caller may come back."""
    for _ in range(TRIES):
        with suppress(*moved):
            return await decide()
    raise Unavailable("others keep changing the same thing: nothing was done", retry_after=1)
