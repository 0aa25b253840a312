"""Which names of an environment were meant for us and would be passed over: nobody is to run on a default unawares."""

from collections.abc import Collection, Iterator
from difflib import SequenceMatcher

OWN_FAMILIES = ("AI_MODEL_", "MAX_FREE_", "MAX_HISTORY_")
"""Nobody else's names begin like this, so an unknown one is ours however it goes on."""

CLOSE, CLOSE_WORD, CLOSE_RUN_TOGETHER = 0.85, 0.6, 0.93
"""Of difflib's ratio: of the whole, of each word in its place, and of the whole where the words are not as many.
`DATABSE_URL` and `DATABASE_USER` are as near to `DATABASE_URL` as a whole; only the former is in every word."""


def misspelt(names: Collection[str], known: Collection[str]) -> Iterator[str]:
    """A sentence for each of `names` that must have been meant as one of `known`.

    Environments are shared: `AI_GATEWAY_URL` or `DATABASE_URL_REPLICA` belong to other programs. Nor is a name
    refused that only resembles one which is set, rightly spelt, beside it.
    """
    given = {name.upper() for name in names}
    for name in names:
        upper = name.upper()
        if upper in known:
            continue
        alike = _closest(upper, known)
        if upper.startswith(OWN_FAMILIES) or (alike is not None and alike not in given):
            yield f"{name}: no such setting{_did_you_mean(alike)}"


def _did_you_mean(name: str | None) -> str:
    return f"; did you mean {name}?" if name else ""


def _closest(name: str, known: Collection[str]) -> str | None:
    alike = [other for other in known if _comparable(name, other) and _resembles(name, other)]
    return max(alike, key=lambda other: _ratio(name, other), default=None)


def _comparable(name: str, other: str) -> bool:
    """A name that goes on with a word or number of its own is no slip of the pen: `REDIS_URL_2`, `OPENAI_API_KEY1`."""
    rest = name.removeprefix(other)
    goes_on = rest != name and (rest.startswith("_") or rest.isdigit())
    return name[:1] == other[:1] and abs(len(name) - len(other)) <= 4 and not goes_on


def _resembles(name: str, other: str) -> bool:
    words, others = name.split("_"), other.split("_")
    if len(words) != len(others):
        return _ratio(name, other) >= CLOSE_RUN_TOGETHER
    in_place = zip(words, others, strict=True)
    return _ratio(name, other) >= CLOSE and all(_ratio(word, meant) >= CLOSE_WORD for word, meant in in_place)


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other).ratio()
