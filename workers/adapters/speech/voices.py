"""Which of eSpeak NG's voices read a language, and a text whose letters belong to another one."""

import unicodedata
from collections import Counter

# eSpeak NG's word for a tag, where it is not the tag itself.
OWN_NAMES = {"en": "en-us", "en-gb": "en", "zh": "cmn", "no": "nb", "fil": "tl", "iw": "he"}
# A voice spells out letters it cannot read one by one ("Arabic letter meem"): such a text goes to a voice that can.
READERS = {
    "ARABIC": ("ar", "fa", "ur", "ug", "sd", "ku"),
    "HEBREW": ("he", "iw", "yi"),
    "CYRILLIC": ("ru", "uk", "bg", "sr", "mk", "be", "kk", "ky", "tt", "ba", "cv", "uz"),
    "GREEK": ("el", "grc"),
    "CJK": ("cmn", "zh", "yue", "ja"),
    "HIRAGANA": ("ja",),
    "KATAKANA": ("ja",),
    "HANGUL": ("ko",),
    "DEVANAGARI": ("hi", "mr", "ne", "kok"),
    "THAI": ("th",),
}


def voice_names(language: str, text: str) -> list[str]:
    """Best first: the region's own voice, then the language at large."""
    tag = language.replace("_", "-").lower()
    primary = tag.split("-")[0]
    readers = READERS.get(main_script(text), ())
    if readers and primary not in readers:
        return [readers[0]]
    if tag in OWN_NAMES:
        return [OWN_NAMES[tag]]
    return list(dict.fromkeys([tag, OWN_NAMES.get(primary, primary)]))


def main_script(text: str) -> str:
    """The script of most letters by its Unicode name, `LATIN` when there are none."""
    scripts = Counter(unicodedata.name(letter, "").split(" ")[0] for letter in text if letter.isalpha())
    return scripts.most_common(1)[0][0] if scripts else "LATIN"
