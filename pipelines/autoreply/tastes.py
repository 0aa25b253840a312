"""What to look for, as one vector: the words that were asked for, and what is known of the contact's likes.

Of unit vectors, closeness to a weighted sum orders as the weighted sum of closenesses does, so one comparison per
media is enough.
"""

from collections.abc import Sequence

Vector = Sequence[float]

QUERY, HISTORY, PROFILE = 4.0, 2.0, 1.0
"""What was asked for outweighs the rest; what the contact chose says more than what their profile says."""


def wanted(query: Vector | None, history: Vector | None, profile: Vector | None) -> tuple[float, ...] | None:
    """None when nothing is known: then any media is as good as another. The sum is not of unit length."""
    parts = [(QUERY, query), (HISTORY, history), (PROFILE, profile)]
    known = [(weight, vector) for weight, vector in parts if vector is not None]
    if not known:
        return None
    return tuple(sum(weight * vector[n] for weight, vector in known) for n in range(len(known[0][1])))
