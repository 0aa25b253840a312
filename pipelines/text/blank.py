"""Whether a text shows a reader anything at all."""

import regex

# Besides spaces and what Unicode calls ignorable: the Hangul fillers and the empty Braille cell.
_UNSEEN = regex.compile(r"[\s\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\u115f\u1160\u3164\uffa0\u2800]*")


def is_blank(text: str) -> bool:
    """True of spaces and invisible characters alone: `"\\u200b \\ufeff"`."""
    return _UNSEEN.fullmatch(text) is not None
