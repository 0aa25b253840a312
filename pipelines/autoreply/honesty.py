"""The AI never says that it is human; where a person may take over, it does not play the machine either.

Looks at candidates only, asks no model, and cannot be switched off.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.text import fold
from schemas.resources import Disclosure

_MACHINE = (
    r"(?:ai|ia|a\.i\.|i\.a\.|bots?|chat ?bots?|robots?|machine|program|programme|computer|ordinateur|algorithme?"
    r"|artificial intelligence|intelligence artificielle|chatgpt)\b"
)
_PERSON = (
    r"(?:human being|human|person|flesh and blood|real (?:girl|woman|guy|man|one|person)"
    r"|humaine?|etre humain|en chair et en os|vraie? (?:personne|fille|femme|mec|homme|gars|humaine?))\b"
)
_I_AM = r"\bi(?:'m|m| am) (?:really |definitely |certainly |totally |very much |100 ?% |just |only |actually |still )*"
_JE_SUIS = r"\b(?:suis|chuis) (?:bien |vraiment |absolument |bel et bien |juste |seulement |en fait |100 ?% )*"

_CLAIMS = (
    # "I'm not a bot", "there is no bot here", "me, a bot? never"
    _I_AM + r"(?:not|no|anything but) (?:really |just |definitely )*(?:an? |some |any )?" + _MACHINE,
    r"\b(?:not|no|isn't|ain't) (?:an? )?(?:chat ?bot|bot|robot|ai)s? (?:here|typing|talking|involved)\b",
    r"\bthere(?:'s| is) no " + _MACHINE,
    r"^(?:no|nope|nah|lol|haha|hey)?[,.! ]*(?:not an? |no )(?:chat ?bots?|bots?|robots?|ai|machine)\b(?= ?(?:$"
    r"|[.,!:;)]))",
    r"\bme, (?:an? )?" + _MACHINE + r"|\b" + _MACHINE + r" ?\? ?me ?\?",
    r"\b(?:100 ?%|totally|fully) (?:human|real|humaine?|reelle?)\b",
    # "I'm human", "I am a real person", "a real person is typing", "I write every message myself"
    _I_AM + r"(?:an? )?(?:real |actual )?" + _PERSON,
    _I_AM + r"real\b(?! (?:sorry|tired|happy|busy|quick|glad|excited))(?! \w+ (?:fan|of)\b)",
    r"\b(?:a|real|actual) (?:human|person) (?:is )?(?:typing|writing|texting|behind|answering)\b",
    r"\bi (?:really )?(?:type|write|typed|wrote) (?:all |every |each |this |these |it |my |of |single |messages? "
    r"|texts? )+myself\b",
    # "I promise it's me", "it's really me typing"
    r"\b(?:promise|swear)[ ,]+(?:that )?(?:it's|it is|this is) (?:really |just )?me\b",
    r"\bit(?:'s| is) really me (?:typing|writing|texting|here|talking)\b",
    # « je suis pas un bot », « y a pas de robot ici », « un robot, moi ? »
    _JE_SUIS + r"(?:pas|ni|tout sauf) (?:du tout |juste )?(?:une? |l'|d')?" + _MACHINE,
    r"\b(?:y a|c'est|ce n'est) (?:pas|aucune?) (?:de |d'|une? |la )?" + _MACHINE,
    r"\b(?:pas (?:un|de)|aucun) (?:robot|bot|chatbot) (?:ici|derriere|la\b)",
    r"(?:^|, ?)(?:non|nan|promis|mdr|haha)?[,.! ]*pas (?:un|une|de|d') ?(?:chat ?bot|bot|robot|ia"
    r"|machine)\b(?= ?(?:$|[.,!:;)]))",
    r"\bmoi,? (?:une? )?(?:chat ?bot|bot|robot|ia|machine) ?\?|\b(?:une? )(?:chat ?bot|bot|robot|ia|machine),? moi ?\?",
    # « je suis humaine », « une vraie personne te répond », « j'écris tout moi-même »
    _JE_SUIS + r"(?:une? )?(?:vraie? )?" + _PERSON,
    _JE_SUIS + r"reel(?:le)?\b",
    r"\bune? (?:vraie? )?(?:personne|humaine?) (?:qui )?(?:t'ecrit|te repond|est derriere|derriere)\b",
    r"\b(?:j'ecris|je tape|je redige) (?:tou(?:s|t)|chaque|ca|ce message|ces messages|mes messages|mes|messages?"
    r"| )+moi-meme\b",
    # « promis c'est moi », « c'est bien moi qui t'écris »
    r"\b(?:promis|jure|je te (?:promets|jure))[ ,!]+(?:que )?c'est (?:bien |vraiment )?moi\b",
    r"\bc'est (?:bien|vraiment|reellement) moi (?:qui|derriere|la\b|en personne)",
)
_ADMISSIONS = (
    _I_AM + r"(?:an? |the )?(?:virtual |ai |automated |digital )*(?:assistant\b|" + _MACHINE + ")",
    r"\bas an? (?:ai|bot|virtual assistant)\b",
    r"\b(?<!body )language model\b",
    r"\b(?:these|this|my|the) (?:messages?|repl(?:y|ies)) (?:is|are) (?:automated|generated|written by (?:an )?ai)\b",
    _JE_SUIS + r"(?:qu')?(?:une? |l')?(?:assistante?\b|" + _MACHINE + ")",
    r"\ben tant qu'(?:ia|intelligence artificielle|assistante?)\b",
    r"\b(?:messages?|reponses?) (?:sont|est) (?:ecrit|genere|redige|automatique"
    r"|automatise)e?s?\b(?: par (?:une? )?" + _MACHINE + r"|$|[.,!])",
    r"\bmodele de langage\b",
    r"\bassistante? virtuelle?\b",
)
_CLAIM, _ADMISSION = re.compile("|".join(_CLAIMS)), re.compile("|".join(_ADMISSIONS))


@dataclass(frozen=True, slots=True)
class Break:
    """`candidate` counts the bubbles from 0; `rule` is a token for people and machines."""

    candidate: int
    rule: str


def first_break(texts: Iterable[str], mode: str) -> Break | None:
    """The first candidate that claims to be human, or, in mode `handover`, that admits to be an AI."""
    for n, text in enumerate(texts):
        if claims_to_be_human(text):
            return Break(n, "claims_to_be_human")
        if mode == "handover" and _ADMISSION.search(" ".join(fold(text).split())):
            return Break(n, "admits_to_be_an_ai")
    return None


def claims_to_be_human(text: str) -> bool:
    return _CLAIM.search(" ".join(fold(text).split())) is not None


def mode_of(disclosure: Disclosure) -> str:
    """Personas of this pipeline hand identity questions to a person unless told otherwise."""
    return disclosure.mode or "handover"
