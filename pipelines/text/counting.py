"""Counts in sentences."""


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 call`, `2 calls`; `many` where an s is not enough (`1 reply`, `2 replies`)."""
    return f"{number} {one if number == 1 else many or one + 's'}"
