"""Keyset pages: newest first, the cursor is the reference of the last row shown."""

from schemas.errors import Invalid
from schemas.ids import number_of

NEWEST = 2**63 - 1


def before(kind: str, cursor: str | None) -> int:
    """The id that the page stays below. Raises `Invalid` for a cursor that was never answered."""
    if cursor is None:
        return NEWEST
    number = number_of(kind, cursor)
    if number is None:
        raise Invalid("no such cursor", [{"field": "cursor", "message": "give back `next` as it was answered"}])
    return number
