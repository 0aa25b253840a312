"""Folded text as a grammar would write it: chat spelling undone, so that a rule need know one way of saying a thing."""

import re

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
_SPELT: tuple[tuple[str, str], ...] = (
    (r"\b(?:chui[st]?|shuis|chus|je sui)\b", "je suis"),
    (r"\bj(?:e )?t'?ai\b", "je t'ai"),
    (rf"\bj ?'?(?=(?:{_JE})(?:\b|(?<=')))", "je "),
    (r"\bj'(?=[bcdfgklmnpqrstvwxz])", "je "),
    (r"\bje veu\b", "je veux"),
    (rf"\bj ?(?={_ELIDED_FR}\b)(?<!')", "j'"),
    (r"\bjen ai\b", "j'en ai"),
    (r"(?<!\d )\bg (?=(?:\d+|plus|pas|envie|avale|pris|deja|trop)\b)|\bg(?=\d+ ?ans\b)", "j'ai "),
    (
        r"\b(?:t es|tes|t(?= (?:pas|vraiment|une?|reel(?:le)?|humaine?)\b))"
        r"(?= (?:pas|vraiment|genre|juste|une?|reel(?:le)?|humaine?|sur(?:e)? que|bien)\b)",
        "t'es",
    ),
    (r"\bt ?existes\b", "t'existes"),
    (rf"\bm ?(?=(?:{_VERBS_FR})\b)(?<!')(?!ai\b)", "m'"),
    (rf"\bt ?(?=(?:{_VERBS_FR})\b)(?<!')(?!aime[sz]?\b)", "t'"),
    (r"\bd(?=(?:arreter|argent|etre|avoir|avaler|oseille|en finir|ecrire|envoyer)\b)(?!ecrire\b)", "d'"),
    (r"\bcest\b|\bc est\b", "c'est"),
    (r"\bcetait\b", "c'etait"),
    (r"\b(?:y'a|ya|y'as|yas|il y a|y as)\b", "y a"),
    (r"\bquelquun\b", "quelqu'un"),
    (r"\bquun", "qu'un"),
    (r"\baujourdhui\b", "aujourd'hui"),
    (r"\b(is|are|do(?=nt (?:want|wanna|have|text|message|contact|write|call))|does|ca|wo|ai|would|could|was|were)nt\b",
     r"\1n't"),
    (r"\b(you|they)re\b", r"\1're"),
    (r"\bu r\b", "you are"),
    (r"\br u\b", "are you"),
    (r"\bim\b(?! (?:grunde|moment|zug|bett))", "i'm"),
    (r"\bive\b", "i've"),
    (r"\bthats\b", "that's"),
)  # fmt: skip
_UNDO = tuple((re.compile(pattern), proper) for pattern, proper in _SPELT)


def spoken(text: str) -> str:
    """`"Chuiiis 🤖 pas un bot"` becomes `"je suis pas un bot"`: folded, for comparing only; length may change."""
    plain = _DRAWN_OUT.sub(lambda run: run[1] or run[2] or run[3] * 2, _BETWEEN.sub(" ", fold(text)))
    for pattern, proper in _UNDO:
        plain = pattern.sub(proper, plain)
    return " ".join(plain.split())
