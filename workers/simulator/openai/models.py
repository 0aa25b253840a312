"""What each model takes."""

from dataclasses import dataclass

_EVERY = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"})
_OLDER = frozenset({"minimal", "low", "medium", "high"})


@dataclass(frozen=True, slots=True)
class ChatModel:
    """`efforts` empty: it does not reason. `bills_writes`: what the cache stores is billed, as `cache_write_tokens`."""

    id: str
    efforts: frozenset[str] = frozenset()
    bills_writes: bool = False
    context: int = 400_000
    max_output: int = 128_000
    cached_for: float = 600.0


CHAT_MODELS = {
    model.id: model
    for model in (
        ChatModel("gpt-6-luna", _EVERY, bills_writes=True, context=1_000_000, cached_for=1_800.0),
        ChatModel("gpt-6.1-terra", _EVERY, bills_writes=True, context=1_000_000, cached_for=1_800.0),
        ChatModel("gpt-5-mini", _OLDER),
        ChatModel("gpt-4.1-mini", context=1_000_000, max_output=32_768),
        ChatModel("gpt-4o", context=128_000, max_output=16_384),
        ChatModel("gpt-4o-mini", context=128_000, max_output=16_384),
    )
}

EMBEDDING_MODELS = {"text-embedding-3-small": 1_536, "text-embedding-3-large": 3_072}
"""The most numbers a vector of theirs has."""
