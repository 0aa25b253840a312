"""A decision whose ground moved while it was made is made again, but not for ever."""

from collections.abc import Iterator
from itertools import repeat

from schemas.errors import Unavailable

TRIES = 8
"""Each loses against another transaction that committed; more in a row than this is a fault, and has to be seen."""


def tries() -> Iterator[None]:
    """As often as makes sense. Then raises Unavailable: nothing was kept, the caller may come back."""
    yield from repeat(None, TRIES)
    raise Unavailable("others keep changing the same thing: nothing was done", retry_after=1)
