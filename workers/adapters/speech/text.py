"""What of a text can be said aloud."""

import re
import unicodedata

from schemas.speech import MAX_CHARACTERS, SpeechFailed

# Pictures, their skin tones and joiners, direction marks, private and broken characters: seen, never said.
# An engine would read out "grinning face" in the middle of a sentence.
UNSPOKEN = {"So", "Cf", "Cc", "Cs", "Co", "Cn", "Sk", "Me"}
VARIATION_SELECTORS = {chr(code) for code in range(0xFE00, 0xFE10)}
SPOKEN_SIGNS = {"°", "©", "®", "™", "\u200c"}  # the last keeps letters apart in Persian and Hindi words
_KEYCAP = re.compile("[0-9#*]\ufe0f?\u20e3")


def speakable(text: str) -> str:
    """The words of `text` on one line. Raises `SpeechFailed`, never worth a retry, when there are none or too many."""
    said = "".join(_said(character) for character in _KEYCAP.sub(" ", text))
    words = " ".join(said.split())
    if not any(character.isalnum() for character in words):
        raise SpeechFailed("there is nothing to say in this text", retryable=False)
    if len(words) > MAX_CHARACTERS:
        raise SpeechFailed(f"{len(words)} characters, at most {MAX_CHARACTERS} are spoken at once", retryable=False)
    return words


def _said(character: str) -> str:
    if character in SPOKEN_SIGNS:
        return character
    if character in VARIATION_SELECTORS:
        return ""
    category = unicodedata.category(character)
    if category == "Cf":
        return ""  # a soft hyphen or a mark inside a word: no gap
    return " " if category in UNSPOKEN else character
