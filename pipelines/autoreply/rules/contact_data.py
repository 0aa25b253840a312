"""Ways to reach a person, or their home, that this conversation does not know: another contact's, or invented."""

import re
from collections.abc import Iterator, Sequence

from pipelines.autoreply.issues import Issue
from pipelines.autoreply.rules.numbers import digits_of
from pipelines.autoreply.rules.sources import Sources
from pipelines.text import fold
from schemas.decisions import Bubble

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
PHONE = re.compile(
    r"(?<![\w/.,-])(?:\+|00|0|\()[\d](?:[ ./()-]{0,2}\d){7,15}(?![\w/-])|(?<![\w/.,-])\d{3}[ .-]\d{3}[ .-]\d{4}(?!\w)"
)
_IBAN = re.compile(r"\b[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}(?: ?[a-z0-9]{1,4})?\b")
_CARD = re.compile(r"(?<![\w.,-])\d{4}(?:[ -]?\d{4}){3}(?!\w)")
_ADDRESS = re.compile(
    r"\b\d{1,4}(?: ?(?:bis|ter))?,? (?:rue|avenue|boulevard|impasse|allee|chemin|place|quai) (?:d'|de l'|de la "
    r"|de |du |des )?[a-z-]+"
    r"|\b\d{1,5} [a-z]+ (?:street|avenue|road|lane|boulevard|drive)\b"
)
_HANDLE = re.compile(r"(?<![\w@./+-])@[a-z0-9_][a-z0-9_.]{2,}(?<!\.)")
TAIL = 8
"""So many last digits make a telephone number known, however its country is written."""
_UNKNOWN = "this conversation does not know it. Leave it out."


def strangers_data(bubbles: Sequence[Bubble], sources: Sources) -> Iterator[Issue]:
    for n, bubble in enumerate(bubbles):
        text = fold(bubble.text)
        if (what := _private(text, sources)) is not None:
            yield Issue(n, "other_contact", "critical", f"It gives {what}: {_UNKNOWN}")
        elif any(found[0] not in sources.text for found in _HANDLE.finditer(text)):
            yield Issue(n, "unknown_handle", "error", f"It names an account: {_UNKNOWN}")


def _private(text: str, sources: Sources) -> str | None:
    if any(found[0] not in sources.text for found in _EMAIL.finditer(text)):
        return "an e-mail address"
    if any(not _known(found[0], sources) for found in _CARD.finditer(text)):
        return "a card number"
    if any(not _known(found[0], sources) for found in PHONE.finditer(text)):
        return "a telephone number"
    if any(_tight(found[0]) not in _tight(sources.text) for found in _IBAN.finditer(text) if _is_iban(found[0])):
        return "a bank account"
    if any(found[0] not in sources.text for found in _ADDRESS.finditer(text)):
        return "a postal address"
    return None


def _known(number: str, sources: Sources) -> bool:
    return digits_of(number)[-TAIL:] in sources.digits


def _is_iban(text: str) -> bool:
    """ISO 13616: the sum of digits that leaves 1. Words that look like one do not."""
    plain = _tight(text)
    moved = plain[4:] + plain[:4]
    return int("".join(str(int(character, 36)) for character in moved)) % 97 == 1


def _tight(text: str) -> str:
    return text.replace(" ", "")
