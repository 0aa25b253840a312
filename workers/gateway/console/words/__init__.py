"""The console's sentences, by language and key."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from workers.gateway.console.words.sentences import said

LANGUAGES = ("en", "fr")
_SPACE, _THIN = "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}"
_HERE = Path(__file__).parent


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """Keys as `window.title`. Read once."""
    return dict(_flat("", yaml.safe_load((_HERE / f"{language}.yaml").read_text(encoding="utf-8"))))


def _flat(prefix: str, tree: Mapping[str, Any]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, value in tree.items():
        key = f"{prefix}{name}"
        found += _flat(f"{key}.", value) if isinstance(value, dict) else [(key, str(value).strip())]
    return found


class Words:
    """One language. A key that is missing is a fault of ours, and raises KeyError."""

    def __init__(self, language: str) -> None:
        self.language = language if language in LANGUAGES else LANGUAGES[0]
        self._known = catalogue(self.language)

    def __call__(self, key: str, **values: object) -> str:
        return self._known[key].format(**values) if values else self._known[key]

    def count(self, key: str, n: int, **values: object) -> str:
        """French counts nothing as one; English does not."""
        one = n in (0, 1) if self.language == "fr" else n == 1
        return self(f"{key}.{'one' if one else 'other'}", n=self.number(n), **values)

    def known(self, key: str) -> bool:
        return key in self._known

    def or_token(self, group: str, token: str | None) -> str:
        """The words for a token of a closed set; a token without words is shown as it is."""
        if token is None:
            return ""
        return self._known.get(f"{group}.{token}", token.replace("_", " "))

    def said(self, sentence: str | None) -> str:
        """What is said in English elsewhere, in this language; as it was said, where nobody has put it into it."""
        return said(self.language, sentence or "")

    def why(self, token: str | None) -> str:
        """The words for why something moved: what happened, or the reason that a run gave."""
        for group in ("event", "reason", "cause", "flag"):
            if (found := self._known.get(f"{group}.{token}")) is not None:
                return found
        return self.said((token or "").replace("_", " "))

    def note(self, text: str) -> str:
        """A remark about a reply: tokens and sentences, joined by semicolons."""
        return "; ".join(self.why(part) if "_" in part else self.said(part) for part in text.split("; "))

    def number(self, value: float, digits: int = 0) -> str:
        plain = f"{value:,.{digits}f}"
        return plain.replace(",", _THIN).replace(".", ",") if self.language == "fr" else plain

    def plain(self, value: float) -> str:
        """As it stands in a field: no thousands, no needless zeros."""
        return f"{value:.10g}".replace(".", "," if self.language == "fr" else ".")

    def percent(self, share: float) -> str:
        return f"{self.number(100 * share)}{_SPACE}%" if self.language == "fr" else f"{self.number(100 * share)}%"

    def money(self, amount: float, currency: str, digits: int = 2) -> str:
        """Small sums keep as many digits as say something."""
        digits = max(digits, 4) if 0 < amount < 1 else digits
        sign = {"USD": "$", "EUR": "€"}.get(currency, currency)
        number = self.number(amount, digits)
        return f"{number}{_SPACE}{sign}" if self.language == "fr" or len(sign) > 1 else f"{sign}{number}"

    def seconds(self, value: float) -> str:
        """`42 s`, `3 min`, `2 h`: how long something has lasted."""
        if value < 60:
            return f"{self.number(value)} s"
        if value < 3600:
            return f"{self.number(value / 60)} min"
        return (
            f"{self.number(value / 3600)} h"
            if value < 172_800
            else f"{self.number(value / 86_400)} {self('unit.days')}"
        )


def preferred(header: str) -> str:
    """The best of our languages in an Accept-Language header."""
    wanted: list[tuple[float, str]] = []
    for part in header.split(","):
        name, _, rest = part.strip().partition(";")
        language = name.partition("-")[0].lower()
        try:
            weight = float(rest.partition("q=")[2] or 1)
        except ValueError:
            weight = 0.0
        if language in LANGUAGES:
            wanted.append((weight, language))
    return max(wanted, key=lambda item: item[0])[1] if wanted else LANGUAGES[0]
