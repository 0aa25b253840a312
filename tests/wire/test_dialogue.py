"""Twenty turns of real dialogue through the whole pipeline and the real SDK, billed by the provider's cache rules."""

from collections.abc import AsyncIterator
from datetime import timedelta
from string import ascii_lowercase
from typing import Any

import pytest

from pipelines.autoreply.pipeline import ReplyPipeline
from schemas.decisions import Reply
from tests.builders import settings
from tests.fakes import FrozenClock
from tests.simulator import RunningSimulator
from tests.talk import Bill, Talk, bill, real_pairs
from workers.adapters.llm import build
from workers.adapters.llm.anthropic import AnthropicModel
from workers.simulator.control import SimulatorControl

TURNS = 20
INSTRUCTIONS = (
    "You are a painter who lives by the sea with two dogs. You answer warmly, with humour, in short sentences. "
    "You never talk about politics. You like old cars, country music, long walks and good tea. "
) * 35
"""Fills the prefix to about 3,000 tokens, what a persona with its media tools has."""


@pytest.fixture
async def pipeline(simulator: RunningSimulator, control: SimulatorControl) -> AsyncIterator[ReplyPipeline]:
    clock = FrozenClock()
    configured = settings(ANTHROPIC_BASE_URL=simulator.base_url)
    llm = build(configured, clock)
    yield ReplyPipeline(clock, llm.models, llm.prices, configured)
    for model in llm.models.values():
        assert isinstance(model, AnthropicModel)
        await model.close()


def _reply_in_three_calls(text: str, plan: str) -> list[dict[str, Any]]:
    return [
        {"calls": [{"name": "set_plan", "input": {"plan": plan}}]},
        {"calls": [{"name": "send_message", "input": {"text": text}}]},
        {"text": "Réponse complète."},
    ]


async def _twenty_turns(pipeline: ReplyPipeline, control: SimulatorControl, gap: timedelta) -> Bill:
    talk = Talk(
        pipeline,
        {"persona": {"instructions": f"{INSTRUCTIONS} Médaille en 1993."}, "contact": {"profile": {"city": "Lyon"}}},
    )
    for n, (theirs, ours) in enumerate(real_pairs(TURNS)):
        await control.advance(gap.total_seconds())
        text = f"{ours} ({ascii_lowercase[n]})"  # no two are alike, and no number is made up
        await control.script(*_reply_in_three_calls(text, f"plan {n}: parler de la suite"), task="reply")
        said = [theirs, "tu es là ?"] if n % 5 == 0 else [theirs]
        decision = await talk.hear(*said, gap=gap)
        assert isinstance(decision, Reply), decision
        assert [bubble.text for bubble in decision.bubbles] == [text]
    seen = await control.requests()
    assert [request.refused for request in seen if request.refused] == []
    review, spent = bill(seen, "review"), bill(seen, "reply")
    shares = f"reply {spent.read_share:.1%} read, {spent.times_cheaper:.2f}x; review {review.read_share:.1%} read"
    print(f"\n{gap}: {shares}")
    return spent


@pytest.mark.parametrize("gap", [timedelta(minutes=1), timedelta(minutes=10)], ids=["1-minute-gaps", "10-minute-gaps"])
async def test_most_of_a_long_conversation_is_read_from_the_cache(
    pipeline: ReplyPipeline, control: SimulatorControl, gap: timedelta
) -> None:
    spent = await _twenty_turns(pipeline, control, gap)

    assert spent.calls == 3 * TURNS
    assert spent.read_share >= 0.92
    assert spent.times_cheaper >= 4.8


async def test_the_creator_of_the_simulator_is_answered_for_without_a_script(
    pipeline: ReplyPipeline, control: SimulatorControl
) -> None:
    talk = Talk(pipeline)

    decisions = [await talk.hear(theirs) for theirs, _ in real_pairs(8)]

    assert [type(decision).__name__ for decision in decisions] == ["Reply"] * 8
    assert [request.refused for request in await control.requests() if request.refused] == []
