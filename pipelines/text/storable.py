"""Text that every store and every wire takes: no NUL, no lone surrogates. Nothing else changes: bytes matter here."""

import re
from typing import Any

_CLEAN = re.compile("[^\0\ud800-\udfff]*")
_LONE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """Surrogate pairs become the character they mean, lone ones U+FFFD; NUL goes; all else stays as it is."""
    if _CLEAN.fullmatch(text):
        return text
    if _LONE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "")


def storable_deep(value: Any) -> Any:
    """`storable` for every string of a JSON value, keys included."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list | tuple):
        return [storable_deep(item) for item in value]
    if isinstance(value, dict):
        return {storable(key): storable_deep(item) for key, item in value.items()}
    return value
