"""Text as checks compare it: without case, accents, full-width forms and characters that have no width."""

import re
import unicodedata

_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'", "´": "'"})
_NOT_WORDS = re.compile(r"[^\w']+")


def folded(text: str) -> str:
    """`"L’Été"` becomes `"l'ete"`; length may change."""
    plain = text.translate(_APOSTROPHES)
    decomposed = unicodedata.normalize("NFKD", plain).casefold()
    kept = (char for char in decomposed if unicodedata.category(char) not in ("Mn", "Cf", "Cc") or char in "\n\t")
    return unicodedata.normalize("NFC", "".join(kept)).translate(_APOSTROPHES)


def words_of(text: str) -> str:
    """The folded words with single blanks between; empty for a text of signs only."""
    return _NOT_WORDS.sub(" ", folded(text)).strip()
