"""Numbers in folded text, however they are written: `1 200,50`, `1.200`, `vingt-cinq`, `twenty five`."""

import re
from collections.abc import Iterator
from itertools import pairwise

NUMBER = r"(?<!\w)(?<!\d[.,])(?:\d{1,3}(?:[ .,']\d{3})+(?:[.,]\d{1,2})?(?!\d)|\d+(?:[.,]\d+)?)"
_NUMBER = re.compile(NUMBER)
_GROUPED = re.compile(r"\d{1,3}(?:[ .,']\d{3})+(?:[.,]\d{1,2})?")
_LETTERS = re.compile(r"[a-z]+")
_NOT_OF_A_PHONE = re.compile(r"[^\d .()/+\-]+")

_UNITS = {
    "zero": 0, "un": 1, "une": 1, "one": 1, "deux": 2, "two": 2, "trois": 3, "three": 3, "quatre": 4, "four": 4,
    "cinq": 5, "five": 5, "six": 6, "sept": 7, "seven": 7, "huit": 8, "eight": 8, "neuf": 9, "nine": 9, "dix": 10,
    "ten": 10, "onze": 11, "eleven": 11, "douze": 12, "twelve": 12, "treize": 13, "thirteen": 13, "quatorze": 14,
    "fourteen": 14, "quinze": 15, "fifteen": 15, "seize": 16, "sixteen": 16, "seventeen": 17, "eighteen": 18,
    "nineteen": 19,
}  # fmt: skip
_TENS = {
    "dix": 10, "vingt": 20, "vingts": 20, "twenty": 20, "trente": 30, "thirty": 30, "quarante": 40, "forty": 40,
    "cinquante": 50, "fifty": 50, "soixante": 60, "sixty": 60, "septante": 70, "seventy": 70, "eighty": 80,
    "nonante": 90, "ninety": 90,
}  # fmt: skip
_TIMES = {"cent": 100, "cents": 100, "hundred": 100, "mille": 1000, "thousand": 1000}
_BETWEEN = frozenset({"et", "and"})
WORD = "|".join(sorted({*_UNITS, *_TENS, *_TIMES}, key=len, reverse=True))


def values(text: str) -> frozenset[float]:
    """Every number of the text, in every way in which it can be read."""
    written = {value for found in _NUMBER.finditer(text) for value in readings(found[0])}
    return frozenset(written | set(_in_words(text)))


def readings(number: str) -> frozenset[float]:
    """`1.200` is a thousand two hundred to one reader and one point two to another."""
    plain = number.replace(",", ".")
    found = set()
    if plain.count(".") <= 1 and " " not in plain and "'" not in plain:
        found.add(float(plain))
    if _GROUPED.fullmatch(number):
        whole, cents = number, ""
        if re.search(r"[.,]\d{1,2}$", number):
            whole, cents = re.split(r"[.,](?=\d{1,2}$)", number)
        found.add(float(re.sub(r"\D", "", whole) + ("." + cents if cents else "")))
    return frozenset(found)


def in_words(text: str) -> float | None:
    """The number that the whole text says in words."""
    return next(iter(runs), None) if len(runs := list(_runs(text))) == 1 else None


def digits_of(text: str) -> str:
    """The digits alone, with a cross where what stands between two cannot belong to a telephone number."""
    return re.sub(r"[ .()/+\-]", "", _NOT_OF_A_PHONE.sub("x", text))


def _in_words(text: str) -> Iterator[float]:
    yield from _runs(text)
    for word in _LETTERS.findall(text):
        if word in _UNITS:
            yield float(_UNITS[word])


def _runs(text: str) -> Iterator[float]:
    """Neighbouring words of number make one: `quatre vingt dix neuf` is 99, `two hundred fifty` 250."""
    run: list[str] = []
    for word, following in pairwise([*_LETTERS.findall(text), ""]):
        if word in _UNITS or word in _TENS or word in _TIMES:
            run.append(word)
        elif not (run and word in _BETWEEN and (following in _UNITS or following in _TENS)):
            if run:
                yield _added_up(run)
            run = []
    if run:
        yield _added_up(run)


def _added_up(run: list[str]) -> float:
    total = part = 0
    for word in run:
        if word in _TIMES:
            part = max(part, 1) * _TIMES[word]
            total, part = (total + part, 0) if _TIMES[word] == 1000 else (total, part)
        elif word in ("vingt", "vingts") and part % 100 == 4:
            part += 76
        else:
            part += _TENS.get(word, _UNITS.get(word, 0))
    return float(total + part)
