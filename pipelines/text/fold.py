"""The form in which checks compare texts: as alike as they look to a reader, whatever characters they are made of."""

import re
import unicodedata

import regex

from pipelines.text.clean import clean
from pipelines.text.graphemes import graphemes

# Letters that no normalisation takes apart, and apostrophes as keyboards and models write them.
_LETTERS = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "`": "'", "´": "'", "＇": "'"}
    | {"œ": "oe", "Œ": "oe", "æ": "ae", "Æ": "ae", "ø": "o", "Ø": "o", "ł": "l", "Ł": "l", "đ": "d", "Đ": "d", "ı": "i"}
)
# Blank to the eye, letters or symbols to Unicode: the Hangul fillers and the empty Braille cell.
_BLANK = regex.compile(r"[\u115f\u1160\u3164\uffa0\u2800\s]+")
_UNSEEN = regex.compile(r"[\p{Default_Ignorable_Code_Point}\p{Cf}]+")
# Marks over letters go where people leave them out: Latin, Greek, Cyrillic accents, Hebrew points, Arabic vowels and
# the stretching tatweel. In Indic and Thai writing a mark is a vowel of its own: without it another word remains.
_ACCENTS = regex.compile(
    r"[\p{Mn}&&[\p{Script=Inherited}\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Cyrillic}]]+|\u0640+", regex.V1
)
_OVERRIDDEN = regex.compile(r"\u202e([^\u202a-\u202e\u2066-\u2069\n]*)\u202c?")
_RIGHT_TO_LEFT = regex.compile(r"[\p{bc=R}\p{bc=AL}]")
# Unlike in `re`, \w holds the vowel marks of Indic and Thai too: without them a phrase would be found inside words.
_WHOLE = r"(?<!\w)", r"(?!\w)"

# Latin writing as it is typed, its punctuation and its money: each character folds by itself, whatever is beside it.
_LATIN = re.compile(r"[\x00-\u024f\u2010-\u2027\u2030-\u205e\u20a0-\u20bf]*")


class _Characters(dict[int, str]):
    """What each becomes, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = _folded(f"a{chr(code)}a")[1:-1]
        return self[code]


_CHARACTERS = _Characters()


def fold(text: str) -> str:
    """`"L’Été  d\u200bIt"` becomes `"l'ete dit"`: one line, for comparing only. Idempotent; length may change.

    Without case, accents, widths, ligatures, invisible characters; every run of blanks is one space. A run forced to
    read from right to left is turned round: it is compared as it is seen.
    """
    if _LATIN.fullmatch(text):
        return " ".join(text.translate(_CHARACTERS).split())
    return _folded(text)


def _folded(text: str) -> str:
    seen = _OVERRIDDEN.sub(lambda run: _turned(run[1]), clean(text))
    spaced = _BLANK.sub(" ", _UNSEEN.sub(lambda found: _blank_or_nothing(found[0]), seen)).translate(_LETTERS)
    bare = _ACCENTS.sub("", _decomposed(spaced)).translate(_LETTERS)
    return _BLANK.sub(" ", unicodedata.normalize("NFC", bare)).strip()


def holds(text: str, phrase: str) -> bool:
    """Whether the folded `phrase` stands in the folded `text` as whole words, in any script. Blank: False."""
    sought = fold(phrase)
    return bool(sought) and regex.search(regex.escape(sought).join(_WHOLE), fold(text)) is not None


def _decomposed(text: str) -> str:
    """Compatibility forms apart and caseless; apart again, for folding case can make new compositions."""
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())


def _turned(run: str) -> str:
    return run if _RIGHT_TO_LEFT.search(run) else "".join(reversed(graphemes(run)))


def _blank_or_nothing(unseen: str) -> str:
    return " " if _BLANK.search(unseen) else ""
