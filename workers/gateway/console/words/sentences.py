"""Sentences that are said in English elsewhere: why something was refused, what a check-up found. Here they are put
into the visitor's language, by the words around what they name."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml

_HERE = Path(__file__).parent
_GAP = "{}"


@cache
def sentences(language: str) -> Mapping[str, str]:
    """By the English one, with `{}` where it names something. English itself needs none."""
    path = _HERE / f"sentences.{language}.yaml"
    found: Mapping[str, str] = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


@cache
def _patterns(language: str) -> list[tuple[re.Pattern[str], str]]:
    """Those with the most words of their own first: what names nearly everything fits nearly everything."""
    ordered = sorted((key for key in sentences(language) if _GAP in key), key=lambda key: -len(key.replace(_GAP, "")))
    return [(_pattern(key), sentences(language)[key]) for key in ordered]


def _pattern(key: str) -> re.Pattern[str]:
    return re.compile("(.*?)".join(map(re.escape, key.split(_GAP))), re.S)


def said(language: str, sentence: str) -> str:
    """As it was said, where nobody has put it into that language. What it names may be a sentence again."""
    known = sentences(language)
    if sentence in known:
        return known[sentence]
    for pattern, there in _patterns(language):
        if found := pattern.fullmatch(sentence):
            parts = [said(language, part) if part != sentence else part for part in found.groups()]
            return there.format(*parts)
    return sentence
