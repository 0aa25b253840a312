"""A message as its rules read it: folded, cut into clauses, without what the contact only quotes."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, wraps
from itertools import groupby
from typing import ParamSpec, TypeVar

from pipelines.text import fold, spoken_each

P = ParamSpec("P")
T = TypeVar("T")

_CLAUSE = re.compile(r"[\n\r]+|(?<=[.!?…;])\s+")
_QUOTED = re.compile(r"\"[^\"]{1,300}\"|«[^»]{1,300}»|“[^”]{1,300}”")
_QUOTES = frozenset('"«“')
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
_BOUNDARY = r"\b"
REACH = 80
"""How far before a statement its reporter is looked for."""
_LAUGHS = re.compile(
    r"\b(?:mdr+|ptdr+|lo+l|lmao|rofl|haha\w*|hihi\w*|hehe\w*|jk|xd+|je rigole|je plaisante|je deconne|just kidding"
    r"|kidding)\b|[😂🤣😹😆😝😜😏]"
)


@lru_cache(maxsize=32)
def clauses(text: str) -> tuple[str, ...]:
    """`"J'ai 15 ans. Et toi ?"` becomes `["j'ai 15 ans.", "et toi ?"]`; a message that is one quotation stays.

    Kept until whoever reads it has `forgetting` done: several rules read the same message in turn.
    """
    parts = _CLAUSE.split(text)
    once = list(dict.fromkeys(parts))
    own = dict(zip(once, map(_own, spoken_each(once)), strict=True))
    return tuple(clause for part in parts if (clause := own[part]))


def forgetting(reader: Callable[P, T]) -> Callable[P, T]:
    """What reads messages from outside: with its answer they are forgotten, so that none stays in a process's memory
    after the contact was erased."""

    @wraps(reader)
    def reads(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return reader(*args, **kwargs)
        finally:
            clauses.cache_clear()

    return reads


def _own(plain: str) -> str:
    if _QUOTES.isdisjoint(plain):
        return plain
    own = " ".join(_QUOTED.sub(" … ", plain).split())
    return own if own.strip(" .…!?") else plain


def laughs(text: str) -> bool:
    return _LAUGHS.search(fold(text)) is not None


def hits(pattern: re.Pattern[str], lines: Iterable[str]) -> Iterator[re.Match[str]]:
    """Where the contact speaks for themself: what somebody else is reported to have said is left out. A line that is
    there a thousand times is read once."""
    for line in dict.fromkeys(lines):
        for match in pattern.finditer(line):
            if _REPORTED.search(line[max(0, match.start() - REACH) : match.start()]) is None:
                yield match


def words(listed: str) -> tuple[str, ...]:
    """Parts of words, given with a bar between."""
    return tuple(listed.split("|"))


def naming(sought: Iterable[str], lines: Sequence[str]) -> list[str]:
    """The lines that hold one of `sought` anywhere: most messages hold none, and no pattern need be tried on them."""
    whole = "\n".join(lines)
    there = [word for word in sought if word in whole]
    return [line for line in dict.fromkeys(lines) if any(word in line for word in there)] if there else []


def any_of(*alternatives: str) -> re.Pattern[str]:
    """Those that begin with a boundary share it: where no word begins, none of them is tried.

    Each begins with a letter behind it, in whichever of its own alternatives: so a word's end is no beginning.
    """
    parts = []
    for bounded, group in groupby(alternatives, lambda alternative: alternative.startswith(_BOUNDARY)):
        own = "|".join(group)
        parts.append(rf"{_BOUNDARY}(?=\w)(?:{own})" if bounded else own)
    return re.compile("|".join(parts))
