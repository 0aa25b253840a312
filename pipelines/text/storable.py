"""Text that every store and every wire takes: no NUL, no lone surrogates. Nothing else changes: bytes matter here."""

import json
import re
from collections.abc import Iterable
from typing import Any

_ENCODE = json.JSONEncoder(ensure_ascii=False).encode
_LONE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """Surrogate pairs become the character they mean, lone ones U+FFFD; NUL goes; all else stays as it is."""
    if "\0" not in text and (text.isascii() or _encodable(text)):
        return text
    if _LONE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "")


def storable_deep(value: Any) -> Any:
    """`storable` for every string of a JSON value, keys included. What is clean is not copied."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list | tuple):
        return value if _all_clean(value) else [storable_deep(item) for item in value]
    if isinstance(value, dict):
        return value if _all_clean(value) else {storable(key): storable_deep(item) for key, item in value.items()}
    return value


def deeper_than(value: Any, most: int) -> bool:
    """Whether JSON is nested further than so many levels: what walks it later does so by recursion. Level by level
    here, because the depth is what is in doubt."""
    level = [value]
    for _ in range(most + 1):
        level = [item for parent in level for item in _children(parent)]
        if not level:
            return False
    return True


def _children(parent: Any) -> Iterable[Any]:
    if isinstance(parent, dict):
        return parent.values()
    return parent if isinstance(parent, list) else ()


def _all_clean(value: Any) -> bool:
    """By one pass of the JSON encoder, a tenth of the time of a walk. False is no verdict: then it is walked."""
    try:
        text = _ENCODE(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return "\\u0000" not in text and _encodable(text)


def _encodable(text: str) -> bool:
    """Quicker than any search for what UTF-8 does not take."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
