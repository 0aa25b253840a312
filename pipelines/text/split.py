"""Cuts a text that is too long for a channel where a reader would pause: sentence, word, character, in this order."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

import regex

from pipelines.text import links
from pipelines.text.graphemes import graphemes
from pipelines.text.limits import Limit

# An end of a sentence takes with it what closes it: quotes (French ones stand apart), brackets, emoji.
_END = regex.compile(
    r"""
      (?<![.!?…])(?P<stop>[.!?…؟۔।॥‼⁇⁈⁉]++)(?P<close>(?:[ \u00a0\u202f]?[»”’"')\]])*+)
      (?:(?P<emoji>(?:[ ]?(?=\p{Extended_Pictographic})\X)++)(?=\s)|(?=\s))
    | [。！？｡]+[」』”’）]*
    | \n\s*
    """,
    regex.VERBOSE,
)
# Punctuation that French sets apart must not begin a piece, nor « end one; spaces that do not break never cut.
_BLANK = regex.compile(r"(?<![«\s])[^\S\u00a0\u202f\u2007]+(?![\s!?:;»%€$])")
_LAST_WORD = regex.compile(r"[\p{L}\p{N}.°]+$")
_NO_BEGINNING = regex.compile(r"\s*[\p{Ll}\p{Nd}]")
_ABBREVIATIONS = frozenset(
    ("m", "mm", "mme", "mlle", "mr", "mrs", "ms", "dr", "pr", "st", "ste", "prof", "cf", "vs", "p.ex", "e.g", "i.e")
)
# Words too, or ends of sentences: abbreviations only where what follows does not begin a sentence.
_SOMETIMES = frozenset(("etc", "approx", "env", "min", "max", "ex", "p", "n", "fig", "art", "tél", "tel", "av"))


@dataclass(frozen=True, slots=True)
class _Measured:
    """A text as clusters: where each begins, and the size of all before it. Both lists have one entry more."""

    text: str
    offsets: list[int]
    sizes: list[int]
    sentences: list[int]
    words: list[int]
    addresses: list[tuple[int, int]]


def split(text: str, limit: Limit) -> list[str]:
    """`text` in pieces that `limit` allows, in order; one piece, unchanged, where it fits.

    Joined, the pieces are the text without white space at the cuts. A grapheme cluster or an address longer than the
    whole limit is cut all the same: no channel would take it. White space alone makes no piece of a long text.
    """
    if limit.size(text) <= limit.most:
        return [text]
    return list(_pieces(_measured(text, limit), limit))


def _pieces(measured: _Measured, limit: Limit) -> Iterator[str]:
    start, end = 0, len(measured.offsets) - 1
    while (start := _past_blanks(measured, start, end)) < end:
        fits = bisect_right(measured.sizes, measured.sizes[start] + limit.most) - 1
        cut = end if fits == end else _cut(measured, start, fits, limit)
        last = _before_blanks(measured, start, cut)
        yield measured.text[measured.offsets[start] : measured.offsets[last]]
        start = cut


def _cut(measured: _Measured, start: int, fits: int, limit: Limit) -> int:
    """The best place to cut after `start`, at `fits` at the latest."""
    for places in (measured.sentences, measured.words):
        found = bisect_right(places, fits)
        if found and places[found - 1] > start:
            return places[found - 1]
    for begin, end in measured.addresses:
        whole = measured.sizes[end] - measured.sizes[begin] <= limit.most
        if start < begin < fits < end and whole:
            return begin
    return fits


def _measured(text: str, limit: Limit) -> _Measured:
    clusters = [part for cluster in graphemes(text) for part in _affordable(cluster, limit)]
    offsets = list(accumulate(map(len, clusters), initial=0))
    index = {offset: at for at, offset in enumerate(offsets)}
    addresses = [(index[begin], index[end]) for begin, end in links.spans(text) if begin in index and end in index]
    inside = {at for begin, end in addresses for at in range(begin + 1, end)}
    sentences = [index[end] for end in _sentence_ends(text) if end in index and index[end] not in inside]
    words = [index[found.start()] for found in _BLANK.finditer(text) if found.start() in index]
    return _Measured(text, offsets, list(accumulate(map(limit.size, clusters), initial=0)), sentences, words, addresses)


def _affordable(cluster: str, limit: Limit) -> list[str]:
    return [cluster] if limit.size(cluster) <= limit.most else list(cluster)


def _sentence_ends(text: str) -> Iterator[int]:
    for found in _END.finditer(text):
        if not (found["stop"] and _goes_on(text, found)):
            yield found.end()


def _goes_on(text: str, found: "regex.Match[str]") -> bool:
    """Whether the sentence continues behind this mark: "M. Dupont", "je… ne sais pas", "etc. mais"."""
    stop, goes_on = found["stop"], _NO_BEGINNING.match(text, found.end()) is not None
    if stop.startswith(("…", "..")) and not found["emoji"]:
        return goes_on
    if found["close"] and "»" in found["close"]:
        return goes_on
    if stop != "." or found["close"] or found["emoji"]:
        return False
    word = _LAST_WORD.search(text[max(0, found.start() - 12) : found.start()])
    return word is not None and _is_abbreviation(word[0], goes_on, text, found.start() - len(word[0]))


def _is_abbreviation(word: str, goes_on: bool, text: str, begin: int) -> bool:
    if word.lower() in _ABBREVIATIONS or (len(word) == 1 and word.isupper()):
        return True
    if word.isdigit():
        # "2. Deuxièmement": the number of a list item, not the end of a sentence.
        return text[:begin].rstrip(" \t")[-1:] in ("", "\n")
    return goes_on and word.lower() in _SOMETIMES


def _past_blanks(measured: _Measured, start: int, end: int) -> int:
    while start < end and _at(measured, start).isspace():
        start += 1
    return start


def _before_blanks(measured: _Measured, start: int, end: int) -> int:
    while end > start and _at(measured, end - 1).isspace():
        end -= 1
    return end


def _at(measured: _Measured, index: int) -> str:
    return measured.text[measured.offsets[index] : measured.offsets[index + 1]]
