"""Folded text as a grammar would write it: chat spelling undone, so that a rule need know one way of saying a thing."""

import re
from collections.abc import Sequence

import regex

from pipelines.text.fold import fold

# A picture between two words of a sentence; behind it, it is the writer's tone and stays.
_PICTURES = r"[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}\u20e3\ufe0f]+"
_BETWEEN = regex.compile(rf"(?<=[^\W\d]) ?{_PICTURES} ?(?=\w)|(?<=\d) ?{_PICTURES} ?(?=(?:ans|years?|yo)\b)")
# « booot », « suiiis », « arrrete »: no word of either language has a letter three times.
_DRAWN_OUT = re.compile(r"([aeiouy])\1{2,}|([b-df-hj-np-tvxz])\2{2,}(?!\w)|([b-df-hj-np-tvxz])(?=\3{2,}\w)\3+")

_JE = (
    "suis|veux|veu|vais|peux|pense|fais|parle|sais|crois|tape|prends|prefere|voudrais|pourrais|dois|reviens|viens"
    "|galere|passe|rentre|ferai|rappelle|mets|sens|deteste|reponds|perds|bosse|compte|cherche|regarde"
    "|te|t'|me|m'|ne|n'|le|les|la|vous"
)
_ELIDED_FR = "ai|aurai|aurais|avais|etais|espere|aime|aimerais|ecris|envoie|arrive|existe|avale|en ai|arrete|hesite"
_VERBS_FR = (
    "ecri(?:s|t|re|ve[sz]?|vez|rai)|envo(?:ie[sz]?|yer|yez|ye)|appel(?:er|le[sz]?|ez)|enverrai|embete[rsz]?|aime[sz]?"
    "|ai"
)
# What stands alone for two words, or lost its apostrophe. Only what is no other word: "tes photos", "decrire" stay.
# First what a text must hold for the pattern to find anything, with a bar between: asking that costs nearly nothing.
# A single letter stands before its own boundary, for the engine then looks for the letter instead of trying everywhere.
_SPELT: tuple[tuple[str, str, str], ...] = (
    ("chui|shuis|chus|je sui", r"\b(?:chui[st]?|shuis|chus|je sui)\b", "je suis"),
    ("tai|t'ai", r"j(?<=\bj)(?:e )?t'?ai\b", "je t'ai"),
    ("j", rf"j(?<=\bj) ?'?(?=(?:{_JE})(?:\b|(?<=')))", "je "),
    ("j'", r"j'(?<=\bj')(?=[bcdfgklmnpqrstvwxz])", "je "),
    ("je veu", r"\bje veu\b", "je veux"),
    ("j", rf"j(?<=\bj) ?(?={_ELIDED_FR}\b)(?<!')", "j'"),
    ("jen ai", r"\bjen ai\b", "j'en ai"),
    ("g |ans", r"g(?<=\bg)(?:(?<!\d g) (?=(?:\d+|plus|pas|envie|avale|pris|deja|trop)\b)|(?=\d+ ?ans\b))", "j'ai "),
    (
        "tes|t ",
        r"t(?<=\bt)(?: es|es|(?= (?:pas|vraiment|une?|reel(?:le)?|humaine?)\b))"
        r"(?= (?:pas|vraiment|genre|juste|une?|reel(?:le)?|humaine?|sur(?:e)? que|bien)\b)",
        "t'es",
    ),
    ("existes", r"\bt ?existes\b", "t'existes"),
    ("m", rf"m(?<=\bm) ?(?=(?:{_VERBS_FR})\b)(?<!')(?!ai\b)", "m'"),
    ("t", rf"t(?<=\bt) ?(?=(?:{_VERBS_FR})\b)(?<!')(?!aime[sz]?\b)", "t'"),
    ("d", r"d(?<=\bd)(?=(?:arreter|argent|etre|avoir|avaler|oseille|en finir|ecrire|envoyer)\b)(?!ecrire\b)", "d'"),
    ("cest|c est", r"\bcest\b|\bc est\b", "c'est"),
    ("cetait", r"\bcetait\b", "c'etait"),
    ("y'a|ya|y a", r"\b(?:y'a|ya|y'as|yas|il y a|y as)\b", "y a"),
    ("quelquun", r"\bquelquun\b", "quelqu'un"),
    ("quun", r"\bquun", "qu'un"),
    ("aujourdhui", r"\baujourdhui\b", "aujourd'hui"),
    (
        "nt",
        r"\b(is|are|do(?=nt (?:want|wanna|have|text|message|contact|write|call))|does|ca|wo|ai|would|could|was|were)"
        r"nt\b",
        r"\1n't",
    ),
    ("youre|theyre", r"\b(you|they)re\b", r"\1're"),
    ("u r", r"u(?<=\bu) r\b", "you are"),
    ("r u", r"r(?<=\br) u\b", "are you"),
    ("im", r"im(?<=\bim)\b(?! (?:grunde|moment|zug|bett))", "i'm"),
    ("ive", r"ive(?<=\bive)\b", "i've"),
    ("thats", r"thats(?<=\bthats)\b", "that's"),
)
_UNDO = tuple((tuple(marks.split("|")), re.compile(pattern), proper) for marks, pattern, proper in _SPELT)

_BREAK, _NO_BREAK = "\ue000", "\ue001"
"""Of no use in text: no letter to any pattern, and nothing that folding changes or drops."""
_AT_BREAK = re.compile(rf" ?{_BREAK} ?")
_FORCED = "\u202e"


def spoken(text: str) -> str:
    """`"Chuiiis 🤖 pas un bot"` becomes `"je suis pas un bot"`: folded, for comparing only; length may change."""
    return " ".join(_undone(fold(text)).split())


def spoken_each(texts: Sequence[str]) -> list[str]:
    """`spoken` of each, in one go: of a text in ten thousand lines the tenth part of the time."""
    if any(_FORCED in text for text in texts):  # such a run would reach over the end of its own text
        each = {text: spoken(text) for text in dict.fromkeys(texts)}
        return [each[text] for text in texts]
    if not texts:
        return []
    one = fold(_BREAK.join(text.replace(_BREAK, _NO_BREAK) for text in texts))
    return [" ".join(part.split()) for part in _undone(_AT_BREAK.sub(_BREAK, one)).split(_BREAK)]


def _undone(folded: str) -> str:
    bare = folded if folded.isascii() else _BETWEEN.sub(" ", folded)
    plain = _DRAWN_OUT.sub(lambda run: run[1] or run[2] or run[3] * 2, bare)
    for marks, pattern, proper in _UNDO:
        if any(mark in plain for mark in marks):
            plain = pattern.sub(proper, plain)
    return plain
