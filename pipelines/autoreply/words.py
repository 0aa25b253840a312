"""Words as checks compare them."""

import re

from pipelines.text import fold

_NOT_WORDS = re.compile(r"[^\w']+")


def words_of(text: str) -> str:
    """The folded words with single blanks between; empty for a text of signs only."""
    return _NOT_WORDS.sub(" ", fold(text)).strip()
