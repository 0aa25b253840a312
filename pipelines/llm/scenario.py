"""What a month of conversations would cost: the requests the layout would send, by the cache's rules and the prices.

A few dozen conversations are played, evenly spread over the month as its conversations are, and scaled up to it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from pipelines.llm.caching import cacheable_minimum
from pipelines.llm.layout import Kept, marked_messages, marked_system
from pipelines.llm.prefix_cache import Piece, PrefixCache
from pipelines.ports import PriceTable
from schemas.llm import Message, Model, Text, Usage
from schemas.scenario import Month, Scenario, Simulated

PLAYED = 60
"""Conversations."""
DAYS = 30
USER, ASSISTANT = "user", "assistant"


class NoPrice(Exception):
    """The price table does not know the model: nothing can be said about its cost."""


@dataclass(frozen=True, slots=True)
class _Request:
    at: float
    pieces: tuple[Piece, ...]
    output: int


def simulate(scenario: Scenario, model: Model, prices: PriceTable) -> Simulated:
    """Raises NoPrice."""
    conversations = max(scenario.messages_per_month // scenario.turns_per_conversation, 1)
    played = min(conversations, PLAYED)
    apart = DAYS * scenario.hours_a_day * 3600 / conversations
    requests = sorted(
        (request for n in range(played) for request in _conversation(scenario, n, n * apart)), key=lambda each: each.at
    )
    minimum = cacheable_minimum(model)
    cache = PrefixCache(minimum)
    usages = [replace(cache.ask(each.pieces, each.at), output=each.output) for each in requests]
    scale = Decimal(scenario.messages_per_month) / (played * scenario.turns_per_conversation)
    share = scenario.assume_cached_share
    return Simulated(
        conversations=conversations,
        minimum=minimum,
        longest=max(usage.total_input for usage in usages),
        by_rules=_month(usages, model, prices, scale),
        assumed=None if share is None else _month([_assumed(usage, share) for usage in usages], model, prices, scale),
    )


def _conversation(scenario: Scenario, number: int, start: float) -> Iterator[_Request]:
    kept: list[Message] = []
    system = [_piece(block, scenario) for block in marked_system(["system"], caching=scenario.caching)]
    for turn in range(scenario.turns_per_conversation):
        known = len(kept)
        kept = kept if scenario.keeps_history else []
        if len(kept) >= 2 * scenario.window:
            kept, known = kept[-scenario.window :], 0
        kept.append(_says(USER, f"message {number} {turn}"))
        previous = known - 2 if known >= 2 else None
        run = [_says(USER, f"context {number} {turn}")] if scenario.tokens.context else []
        at = start + turn * scenario.gap_seconds
        for call in range(1, scenario.calls_per_message + 1):
            messages = marked_messages(Kept(tuple(kept), previous), run, caching=scenario.caching)
            pieces = (*system, *(_piece(block, scenario) for message in messages for block in message.blocks))
            last = call == scenario.calls_per_message
            yield _Request(at, pieces, scenario.tokens.reply if last else scenario.tokens.tool_call)
            run += [_says(ASSISTANT, f"tool_call {number} {turn} {call}")] if scenario.tokens.tool_call else []
            run += [_says(USER, f"tool_result {number} {turn} {call}")] if scenario.tokens.tool_result else []
        kept.append(_says(ASSISTANT, f"reply {number} {turn}"))


def _says(role: str, name: str) -> Message:
    """A block whose text is its name: its first word says how long it is."""
    return Message(role, (Text(name),))


def _piece(block: object, scenario: Scenario) -> Piece:
    if not isinstance(block, Text):
        raise TypeError(f"a scenario has no {type(block).__name__}")
    return Piece(block.text, getattr(scenario.tokens, block.text.split()[0]), block.cache)


def _assumed(usage: Usage, share: float) -> Usage:
    read = round(usage.total_input * share)
    return Usage(input=usage.total_input - read, cache_read=read, output=usage.output)


def _month(usages: Sequence[Usage], model: Model, prices: PriceTable, scale: Decimal) -> Month:
    """Priced request by request: a month's sum would fall into the prices of prompts that are longer than any."""
    usd, sums = Decimal(0), [0, 0, 0, 0, 0]
    for usage in usages:
        cost = prices.cost(model, usage)
        if cost is None:
            raise NoPrice(f"no price is known for {model}")
        usd += cost
        parts = (usage.input, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h, usage.output)
        sums = [total + part for total, part in zip(sums, parts, strict=True)]
    return Month(round(len(usages) * scale), Usage(*(round(total * scale) for total in sums)), usd * scale)
