"""Vectors as PostgreSQL reads and writes them."""

import json
from collections.abc import Sequence


def as_vector(numbers: Sequence[float]) -> str:
    return "[" + ",".join(f"{number:.7g}" for number in numbers) + "]"


def of_vector(text: str) -> tuple[float, ...]:
    return tuple(json.loads(text))
