"""What the simulator bills: the provider's cache rules on the requests as they were sent."""

import asyncio
from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic

from workers.simulator.control import SimulatorControl

MODEL = "claude-haiku-5-5"  # caches prompts from 512 tokens
FIVE_MINUTES: dict[str, Any] = {"type": "ephemeral"}
ONE_HOUR: dict[str, Any] = {"type": "ephemeral", "ttl": "1h"}
SYSTEM_TOKENS = 603  # '{"text":"…"}' around 2,400 characters, four bytes a token


def system(marker: dict[str, Any] | None = FIVE_MINUTES, letter: str = "s") -> list[dict[str, Any]]:
    block = {"type": "text", "text": letter * 2_400}
    return [{**block, "cache_control": marker} if marker else block]


def user(text: str = "Hello", marker: dict[str, Any] | None = None) -> dict[str, Any]:
    block = {"type": "text", "text": text}
    return {"role": "user", "content": [{**block, "cache_control": marker} if marker else block]}


def request(**changes: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 50, "system": system(), "messages": [user()], **changes}


async def bill(client: AsyncAnthropic, **changes: Any) -> tuple[int, int, int, int]:
    """Tokens in full, read, written for 5 minutes, written for an hour."""
    usage = (await client.messages.create(**request(**changes))).usage
    split = usage.cache_creation
    assert split is not None
    return (
        usage.input_tokens,
        usage.cache_read_input_tokens or 0,
        split.ephemeral_5m_input_tokens,
        split.ephemeral_1h_input_tokens,
    )


async def read(client: AsyncAnthropic, **changes: Any) -> int:
    return (await bill(client, **changes))[1]


async def test_a_marked_prefix_is_written_then_read(client: AsyncAnthropic) -> None:
    first, second = await bill(client), await bill(client, messages=[user("Something else")])

    assert first == (4, 0, SYSTEM_TOKENS, 0)
    assert second == (7, SYSTEM_TOKENS, 0, 0)


async def test_unmarked_prompts_cache_nothing(client: AsyncAnthropic) -> None:
    for _ in range(2):
        assert await bill(client, system=system(None)) == (4 + SYSTEM_TOKENS, 0, 0, 0)


@pytest.mark.parametrize(
    ("model", "tokens", "cached"),
    [
        ("claude-haiku-5-5", 511, False),
        ("claude-haiku-5-5", 512, True),
        ("claude-sonnet-4-6", 1_023, False),
        ("claude-sonnet-4-6", 1_024, True),
        ("claude-opus-4-7", 2_047, False),
        ("claude-opus-4-7", 2_048, True),
        ("claude-haiku-4-5", 4_095, False),
        ("claude-haiku-4-5", 4_096, True),
    ],
)
async def test_a_prefix_under_the_models_minimum_is_paid_in_full(
    client: AsyncAnthropic, model: str, tokens: int, cached: bool
) -> None:
    marked = [{"type": "text", "text": "s" * (tokens * 4 - 11), "cache_control": FIVE_MINUTES}]

    first = await bill(client, model=model, system=marked)
    second = await bill(client, model=model, system=marked)

    assert first == ((4, 0, tokens, 0) if cached else (4 + tokens, 0, 0, 0))
    assert second == ((4, tokens, 0, 0) if cached else (4 + tokens, 0, 0, 0))


@pytest.mark.parametrize(("added", "hit"), [(19, True), (20, False)])
async def test_the_look_back_reaches_nineteen_new_positions(
    client: AsyncAnthropic, added: int, hit: bool
) -> None:
    await bill(client, messages=[user("first", FIVE_MINUTES)], system=system(None))
    blocks = [{"type": "text", "text": f"line {n}"} for n in range(added)]
    blocks[-1]["cache_control"] = FIVE_MINUTES

    found = await read(
        client, messages=[user("first"), {"role": "user", "content": blocks}], system=system(None)
    )

    assert (found > 0) is hit


@pytest.mark.parametrize(("rounds", "hit"), [(9, True), (10, False)])
async def test_a_row_of_parallel_calls_is_one_position_and_so_are_their_results(
    client: AsyncAnthropic, rounds: int, hit: bool
) -> None:
    await bill(client, messages=[user("first", FIVE_MINUTES)], system=system(None))
    history: list[dict[str, Any]] = [user("first")]
    for n in range(rounds):
        ids = [f"call_{n}_{i}" for i in range(5)]
        calls = [{"type": "tool_use", "id": i, "name": "look", "input": {}} for i in ids]
        results = [{"type": "tool_result", "tool_use_id": i, "content": "seen"} for i in ids]
        history += [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]

    marked = [*history, user("next", FIVE_MINUTES)]  # 2 positions a round, and 1

    assert (await read(client, messages=marked, system=system(None)) > 0) is hit


@pytest.mark.parametrize(("marker", "lifetime"), [(FIVE_MINUTES, 300), (ONE_HOUR, 3_600)])
async def test_an_entry_dies_after_its_time_and_each_read_renews_it(
    client: AsyncAnthropic, control: SimulatorControl, marker: dict[str, Any], lifetime: int
) -> None:
    await bill(client, system=system(marker))
    reads = []
    for wait in (lifetime - 5, lifetime - 5, lifetime):
        await control.advance(wait)
        reads.append(await read(client, system=system(marker)))

    assert reads == [SYSTEM_TOKENS, SYSTEM_TOKENS, 0]


async def test_a_lifetime_counts_from_the_start_of_the_request(
    client: AsyncAnthropic, control: SimulatorControl
) -> None:
    await control.fault("slow", delay=0.4)
    await bill(client)
    await control.advance(299.7)

    assert await read(client) == 0


async def test_an_entry_can_be_read_once_its_writers_answer_has_begun(
    client: AsyncAnthropic, control: SimulatorControl
) -> None:
    await control.fault("slow", delay=0.3, next=2)

    both = await asyncio.gather(bill(client), bill(client))
    after = await bill(client)

    assert [row[1:3] for row in both] == [(0, SYSTEM_TOKENS), (0, SYSTEM_TOKENS)]
    assert after[1:3] == (SYSTEM_TOKENS, 0)


async def test_a_failed_call_writes_nothing_and_a_cut_one_does(
    client: AsyncAnthropic, control: SimulatorControl
) -> None:
    await control.fault("overloaded")
    with pytest.raises(anthropic.APIStatusError):
        await bill(client)
    await control.fault("cut_before")
    with pytest.raises(anthropic.APIConnectionError):
        await bill(client)

    cut = (await control.requests())[-1]
    assert cut.usage is not None
    assert cut.usage["cache_creation_input_tokens"] == SYSTEM_TOKENS
    assert await read(client) == SYSTEM_TOKENS


async def test_mixed_lifetimes_are_billed_by_the_highest_marks(client: AsyncAnthropic) -> None:
    text = "m" * 400  # 103 tokens
    first = await bill(client, system=system(ONE_HOUR), messages=[user(text, FIVE_MINUTES), user("end")])
    grown = [user(text), user(text, ONE_HOUR), user(text, FIVE_MINUTES), user("end")]
    second = await bill(client, system=system(ONE_HOUR), messages=grown)

    assert first == (4, 0, 103, SYSTEM_TOKENS)
    assert second == (4, SYSTEM_TOKENS + 103, 103, 103)


async def test_the_system_entry_of_an_hour_survives_the_conversations_five_minutes(
    client: AsyncAnthropic, control: SimulatorControl
) -> None:
    def marked() -> dict[str, Any]:
        return {"system": system(ONE_HOUR), "messages": [user("m" * 400, FIVE_MINUTES)]}

    await bill(client, **marked())
    await control.advance(600)

    assert await bill(client, **marked()) == (0, SYSTEM_TOKENS, 103, 0)


TOOL = {"name": "look", "description": "d" * 2_400, "input_schema": {"type": "object", "properties": {}}}
FULL = {
    "tools": [{**TOOL, "cache_control": FIVE_MINUTES}],
    "messages": [user("m" * 400, FIVE_MINUTES)],
    "thinking": {"type": "adaptive"},
}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
TIERS = [
    ("nothing", {}, "messages"),
    ("max_tokens", {"max_tokens": 40}, "messages"),
    ("metadata", {"metadata": {"user_id": "u"}}, "messages"),
    ("explicit auto", {"tool_choice": {"type": "auto"}}, "messages"),
    ("tool_choice", {"tool_choice": {"type": "none"}}, "system"),
    ("thinking", {"thinking": {"type": "disabled"}}, "system"),
    ("effort", {"output_config": {"effort": "low"}}, "system"),
    ("image", {"messages": [*FULL["messages"], {"role": "user", "content": [IMAGE]}]}, "system"),
    ("system text", {"system": system(letter="t")}, "tools"),
    ("speed", {"speed": "fast"}, "tools"),
    ("tool", {"tools": [{**TOOL, "description": "e" * 2_400, "cache_control": FIVE_MINUTES}]}, ""),
    ("key order", {"tools": [{**dict(reversed(TOOL.items())), "cache_control": FIVE_MINUTES}]}, ""),
    ("model", {"model": "claude-opus-5"}, ""),
]


@pytest.mark.parametrize(("change", "changed", "kept"), TIERS, ids=[row[0] for row in TIERS])
async def test_a_change_loses_its_tier_and_those_after_it(
    client: AsyncAnthropic, change: str, changed: dict[str, Any], kept: str
) -> None:
    written = await bill(client, **FULL)
    tools = written[2] - SYSTEM_TOKENS - 103

    found = await read(client, **{**FULL, **changed})

    assert found == {"": 0, "tools": tools, "system": tools + SYSTEM_TOKENS, "messages": written[2]}[kept]


async def test_moving_a_mark_does_not_change_what_it_marks(client: AsyncAnthropic) -> None:
    await bill(client, messages=[user("m" * 400, FIVE_MINUTES)])

    assert await bill(client, messages=[user("m" * 400), user("n" * 400, FIVE_MINUTES)]) == (
        0, SYSTEM_TOKENS + 103, 103, 0,
    )  # fmt: skip


async def test_automatic_caching_follows_the_last_block(client: AsyncAnthropic) -> None:
    automatic = {"cache_control": FIVE_MINUTES, "system": system(None)}

    first = await bill(client, **automatic, messages=[user("m" * 400)])
    second = await bill(client, **automatic, messages=[user("m" * 400), user("n" * 400)])

    assert (first, second) == ((0, 0, SYSTEM_TOKENS + 103, 0), (0, SYSTEM_TOKENS + 103, 103, 0))


async def test_each_key_has_its_own_cache(client: AsyncAnthropic) -> None:
    await bill(client)

    assert await read(client.with_options(api_key="another")) == 0
    assert await read(client) == SYSTEM_TOKENS


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"messages": [user(str(n), FIVE_MINUTES) for n in range(4)]}, "A maximum of 4 blocks"),
        (
            {
                "messages": [user(str(n), FIVE_MINUTES) for n in range(3)] + [user()],
                "cache_control": FIVE_MINUTES,
            },
            "A maximum of 4 blocks",
        ),
        ({"messages": [user("m", ONE_HOUR)]}, "must not come after"),
        ({"messages": [user("m", FIVE_MINUTES)], "cache_control": ONE_HOUR}, "conflicts"),
        (
            {"system": [{"type": "text", "text": "", "cache_control": FIVE_MINUTES}]},
            "cannot be set for empty",
        ),
    ],
)
async def test_wrong_marks_are_refused(
    client: AsyncAnthropic, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(anthropic.BadRequestError, match=sentence):
        await bill(client, **changes)
