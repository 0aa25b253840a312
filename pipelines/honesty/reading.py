"""A message as its rules read it: folded, cut into clauses, without what the contact only quotes."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from pipelines.text import fold, spoken

_CLAUSE = re.compile(r"[\n\r]+|(?<=[.!?…;])\s+")
_QUOTED = re.compile(r"\"[^\"]{1,300}\"|«[^»]{1,300}»|“[^”]{1,300}”")
_THEIRS = (
    r"il|elle|ils|elles|on|lui|leur|fils|fille|niece|neveu|soeur|frere|cousine?|copine|copain|pote|ami|amie|mere|pere"
    r"|ex|mec|meuf|type|gars|prof|eleve|eleves|chanson|film|serie|perso|personnage|heroine|heros|he|she|they|him|her"
    r"|them|son|daughter|sister|brother|kid|kids|nephew|friend|guy|girl|mom|dad|student|students|song|movie|character"
)
# « ma nièce m'a dit : j'ai 15 ans », "I told him stop texting me": somebody else's words, or words to somebody else.
_REPORTED = re.compile(
    rf"\b(?:{_THEIRS})\b.{{0,25}}\b(?:dit|dis|disait|disent|ecrit|ecrivait|repond|repondu|envoye|chante|crie|hurle"
    rf"|raconte"
    r"|said|says|say|told|tells|wrote|texted|goes|sings|screamed)\b.{0,12}$"
    r"|\btold (?:him|her|them|my \w+)\b.{0,12}$"
)
REACH = 80
"""How far before a statement its reporter is looked for."""
_LAUGHS = re.compile(
    r"\b(?:mdr+|ptdr+|lo+l|lmao|rofl|haha\w*|hihi\w*|hehe\w*|jk|xd+|je rigole|je plaisante|je deconne|just kidding"
    r"|kidding)\b|[😂🤣😹😆😝😜😏]"
)


@lru_cache(maxsize=32)
def clauses(text: str) -> tuple[str, ...]:
    """`"J'ai 15 ans. Et toi ?"` becomes `["j'ai 15 ans.", "et toi ?"]`; a message that is one quotation stays.

    Kept for a moment: several rules read the same message in turn.
    """
    found = []
    for part in _CLAUSE.split(text):
        plain = spoken(part)
        own = " ".join(_QUOTED.sub(" … ", plain).split())
        found.append(own if own.strip(" .…!?") else plain)
    return tuple(clause for clause in found if clause)


def laughs(text: str) -> bool:
    return _LAUGHS.search(fold(text)) is not None


def hits(pattern: re.Pattern[str], lines: Iterable[str]) -> Iterator[re.Match[str]]:
    """Where the contact speaks for themself: what somebody else is reported to have said is left out."""
    for line in lines:
        for match in pattern.finditer(line):
            if _REPORTED.search(line[max(0, match.start() - REACH) : match.start()]) is None:
                yield match


def words(listed: str) -> tuple[str, ...]:
    """Parts of words, given with a bar between."""
    return tuple(listed.split("|"))


def naming(sought: Iterable[str], lines: Iterable[str]) -> list[str]:
    """The lines that hold one of `sought` anywhere: most messages hold none, and no pattern need be tried on them."""
    return [line for line in lines if any(word in line for word in sought)]


def any_of(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives))
