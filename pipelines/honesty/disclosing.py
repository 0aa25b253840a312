"""Does a notice tell that an AI, or something automatic, answers? What it must say, language by language."""

import re
from functools import cache

from pipelines.text import spoken

# Whatever language is named: these mean nothing else in any other.
_NAMED = (
    r"intelligence artificielle|artificial intelligence|robots?|bots?|chat ?bots?|agents? conversationnels?|automates?"
    r"|automati(?:ques?|quement|see?s?)|assistante? virtuelle?|automat(?:ed|ic|ically)|virtual assistant"
    r"|(?:computer|machine)[- ](?:generated|written)|generee?s? par ordinateur"
    r"|inteligencia artificial|automatic[oahie]+s?|automaticamente|automatizad[oa]s?|asistente virtual|assistente "
    r"virtuale?"
    r"|intelligenza artificiale|automatizzat[oaie]|kunstliche[nr]? intelligenz|automatisch\w*|automatisiert\w*"
    r"|virtuelle\w* assistent\w*|kunstmatige intelligentie|geautomatiseerd\w*|virtuele assistent"
    r"|sztuczn\w+ inteligencj\w+|automatyczn\w+|искусственн\w+ интеллект\w*|автоматическ\w*|бот\w*|нейросет\w*"
    r"|штучн\w+ інтелект\w*|автоматичн\w*|yapay zeka\w*|otomatik\w*|ال?ذكاء ال?اصطناعي|بالذكاء الاصطناعي"
    r"|בינה מלאכותית|אוטומטי\w*|एआई|कृत्रिम बुद्धिमत्ता|स्वचालित|(?:ai|ia|ki)-[a-z]+"
)
_UNSPACED = r"人工智能|人工智慧|人工知能|自動|自动|机器人|機器人|ボット|인공지능|자동|챗봇|ปัญญาประดิษฐ์|อัตโนมัติ"
_BETWEEN_CHARACTERS = r"(?<![a-z'])ai(?![a-z'])"
# Two letters are a word of some other language: « si », « j'en ai ». Of each language its own.
_AI = r"(?<!')(?<!en )(?<!vous )(?<!les )(?<!leur )(?<!lui )(?<!y )ai"
_LETTERS = {
    "fr": r"ia|i\.a\.?|" + _AI, "en": r"a\.i\.?|" + _AI, "es": "ia|ai", "pt": "ia|ai|robo", "it": "ia", "ro": "ia",
    "ca": "ia", "de": "ki|ai", "nl": "ai|ki", "da": "ai|ki", "nb": "ki|ai", "no": "ki|ai", "sv": "ai", "pl": "si|ai",
    "ru": "ии", "uk": "ші",
}  # fmt: skip
_OTHER = "ai|ia|ki"
_NOT = (
    r"(?:pas|aucune?|sans|ni|jamais|plutot qu['e]?|not|no|never|without|isn't|aren't|don't|ain't|neither|nor|zero"
    r"|sin|ningun\w*"
    r"|nao|sem|nenhum\w*|non|senza|nessun\w*|nicht|keine?\w*|ohne|niet|geen|zonder|nie|bez|не|без|нет|ні|degil|ليس"
    r"|בלי|לא)"
)
# Up to three words between; « pas à une personne, mais à une IA » denies the person alone.
_BUT = r"(?!(?:mais|but|sondern|sino|mas|ma|maar|rather|instead|а|но)\b)"
_DENIED = re.compile(rf"(?<!\w){_NOT}(?:'|\s+)(?:{_BUT}[^\s,;.!?]+\s+){{0,3}}(?:[dl]')?$")
_SENTENCE = re.compile(r"[^.!?…\n]+(?:\.(?=\w)[^.!?…\n]+)*[.!?…\n]*")
# Who answers is the persona in person after all.
_IN_PERSON = re.compile(
    r"\b(?:(?:elle|lui|moi)-meme|en personne|(?:her|him|my|them)self|in person"
    r"|(?:c'est|avec|a) (?:bien )?(?:la vraie|le vrai)|(?:with|to|it's|is|am) (?:really )?the real)\b"
)


def discloses(words: str, language: str = "") -> bool:
    """`language`: the tag of the text. Negated, asked or beside a claim that the persona answers in person, a word
    for AI discloses nothing."""
    plain = spoken(words)
    if any(_DENIED.search(plain[: found.start()]) is None for found in _IN_PERSON.finditer(plain)):
        return False
    told = False
    for sentence in _SENTENCE.findall(plain):
        for found in _says(language.lower().split("-")[0]).finditer(sentence):
            if _DENIED.search(sentence[: found.start()]):
                return False
            told = told or not sentence.rstrip().endswith("?")
    return told


@cache
def _says(base: str) -> re.Pattern[str]:
    unspaced = f"{_UNSPACED}|{_BETWEEN_CHARACTERS}" if base in ("zh", "ja", "ko", "th") else _UNSPACED
    return re.compile(rf"(?<!\w)(?:{_NAMED}|{_LETTERS.get(base, _OTHER)})(?!\w)|{unspaced}")
