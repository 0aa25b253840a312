"""From how many tokens on a model caches a prompt's beginning; shorter ones are read at full price every time.

Source: the providers' pages on prompt caching.
"""

import re

from schemas.llm import Model

USUAL = 1_024
_MINIMUMS = (
    (re.compile(r"claude-(haiku|sonnet|opus|fable|mythos)-5-\d"), 512),
    (re.compile(r"claude-(opus|fable|mythos)-5(?!\d)"), 512),
    (re.compile(r"claude-opus-4-7"), 2_048),
    (re.compile(r"claude-(opus-4-[56]|haiku-4-5)"), 4_096),
)


def cacheable_minimum(model: Model) -> int:
    """Tokens. What is not known here is taken for the usual."""
    return next((tokens for family, tokens in _MINIMUMS if family.match(model.name)), USUAL)


def estimated_tokens(text: str) -> int:
    """Four bytes to a token: near enough to tell a prompt that is far too short from one that is not."""
    return len(text.encode("utf-8", "replace")) // 4
