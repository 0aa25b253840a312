"""Times in documents and requests: RFC 3339, with an offset."""

import re
from datetime import datetime
from typing import Any

_RFC3339 = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})")


def rfc3339(value: Any) -> Any:
    """Lets a time through, or the text of one with its offset: no bare numbers, no naive times."""
    if isinstance(value, datetime) or (isinstance(value, str) and _RFC3339.fullmatch(value)):
        return value
    raise ValueError("not an RFC 3339 time with an offset, e.g. 2026-11-30T10:00:00+01:00")
