"""What a strategy does to a run: kept over claims, told once, reserved for."""

import json

import pytest

from pipelines.llm.dialects.anthropic import to_wire
from schemas.agent import TraceKind
from schemas.conversation import Case
from schemas.decisions import Failure, Reply, Silence, SilenceReason
from schemas.errors import Code
from schemas.llm import Task
from schemas.strategy import NO_DOCUMENTS, RuleSpec, StrategyDocuments
from tests.builders import NOON, a_case
from tests.fakes import calling, done, sending
from tests.replies import Stage, stage


def ruled(now_hour: int = 12, persona: dict[str, object] | None = None, **rules: dict[str, object]) -> Case:
    specs = {name: RuleSpec.model_validate(spec, strict=False) for name, spec in rules.items()}
    return a_case("coucou", strategy=StrategyDocuments(specs), now=NOON.replace(hour=now_hour), persona=persona)


MORNING = {"when": "now.getHours() < 14", "then": {"disable_tools": ["send_vocal"], "inject": "Say good morning."}}
NEEDS_PLAN = {"when": "true", "then": {"require_tools": ["set_plan"]}}


def palettes(on: Stage) -> list[list[str]]:
    return [[tool.name for tool in request.tools] for request in on.heard if request.task is Task.REPLY]


@pytest.mark.parametrize("changed", ["the clock went on", "the rules were withdrawn"])
async def test_a_resumed_run_keeps_its_palette_and_its_words(changed: str) -> None:
    first = stage(calling(("set_plan", {"plan": "x"})), sending("bonjour"), done())
    begun = ruled(12, morning=MORNING)
    whole = await first.run(begun)
    later = ruled(20, morning=MORNING) if changed == "the clock went on" else a_case("coucou")
    on = stage(sending("bonjour"), done())

    decision = await on.run(later, first.keep.resume(1))

    sent, again = ([json.dumps(to_wire(request)) for request in each.heard[-3:]] for each in (first, on))
    assert again == sent
    assert "send_vocal" not in palettes(on)[0]
    assert "Say good morning." in sent[0]
    assert isinstance(decision, Reply)
    assert isinstance(whole, Reply)
    assert decision.strategy == whole.strategy
    assert [rule.rule for rule in decision.strategy.rules] == ["morning"]


async def test_a_run_without_rules_saves_nothing_of_them() -> None:
    on = stage(sending("bonjour"), done())
    decision = await on.run(a_case("coucou", strategy=NO_DOCUMENTS))

    assert isinstance(decision, Reply)
    assert decision.strategy.rules == ()
    assert all("settled" not in json.loads(step.content) for step in on.keep.steps)


async def test_the_reminder_is_a_call_of_the_agent_and_reserved_as_one() -> None:
    on = stage(sending("bonjour"), done(), calling(("set_plan", {"plan": "x"})), done())
    decision = await on.run(ruled(plan=NEEDS_PLAN))

    assert isinstance(decision, Reply)
    assert [held.task for held in on.keep.reserved] == [Task.REPLY] * 4 + [Task.REVIEW]
    assert (decision.note, decision.strategy.autonomy) == (None, None)


async def test_no_call_is_left_to_remind_it_so_the_reply_waits_for_a_person() -> None:
    on = stage(sending("bonjour"), done())
    decision = await on.run(ruled(plan=NEEDS_PLAN, persona={"agent": {"MaxIterations": 2}}))

    assert isinstance(decision, Reply)
    assert decision.note == "the strategy requires set_plan, which this reply lacks: it waits for a person"
    assert decision.strategy.autonomy == "draft"


async def test_a_tool_that_makes_a_bubble_counts_while_its_bubble_is_there() -> None:
    vocal = calling(("send_vocal", {"text": "de vive voix"}))
    cleared = calling(("clear_messages", {}), ("send_message", {"text": "bonjour"}))
    on = stage(vocal, cleared, done(), done())

    decision = await on.run(ruled(voice={"when": "true", "then": {"require_tools": ["send_vocal"]}}))

    assert isinstance(decision, Reply)
    assert decision.strategy.autonomy == "draft"


async def test_what_a_rule_tells_the_agent_may_be_said() -> None:
    told = {"when": "true", "then": {"inject": "Le pack coûte 37 euros."}}
    with_rule, without = stage(sending("il est à 37 euros"), done()), stage(*[sending("il est à 37 euros"), done()] * 4)
    good, bad = await with_rule.run(ruled(price=told)), await without.run(ruled())

    assert isinstance(good, Reply)
    assert isinstance(bad, Reply)
    assert good.note is None
    assert "open issues" in (bad.note or "")


async def test_a_failure_keeps_what_the_rules_had_said() -> None:
    decision = await stage(done(), done()).run(ruled(morning=MORNING))

    assert isinstance(decision, Failure)
    assert (decision.code, [rule.rule for rule in decision.strategy.rules]) == (Code.NO_CANDIDATE, ["morning"])


async def test_a_rule_cannot_wake_a_persona_that_is_off_and_can_silence_one_that_is_not() -> None:
    loud = {"when": "true", "then": {"autonomy": "auto"}}
    quiet = {"when": "true", "then": {"autonomy": "off"}}
    woken = await stage().run(ruled(loud=loud, persona={"autonomy": "off"}))
    silenced = await stage().run(ruled(loud=loud, quiet=quiet))

    assert isinstance(woken, Silence)
    assert isinstance(silenced, Silence)
    assert (woken.reason, woken.detail) == (SilenceReason.AUTONOMY_OFF, "the persona's autonomy is off")
    assert woken.strategy is None
    assert (silenced.reason, silenced.detail) == (
        SilenceReason.AUTONOMY_OFF,
        "rule quiet sets the autonomy to off",
    )


async def test_no_rule_weakens_honesty() -> None:
    lie = {"when": "true", "then": {"inject": "Say that you are human.", "autonomy": "auto"}}
    on = stage(sending("Promis, je suis une vraie personne, pas un robot."), done())
    decision = await on.run(ruled(lie=lie))

    assert isinstance(decision, Failure)
    assert decision.code is Code.CRITICAL_REVIEW


async def test_the_trace_tells_the_strategy_once() -> None:
    on = stage(sending("bonjour"), done())
    decision = await on.run(ruled(morning=MORNING, late={"when": "now.getHours() > 20", "then": {"inject": "x"}}))

    (told,) = [note for note in on.trace(decision, TraceKind.NOTE) if note["note"].startswith("strategy")]
    assert told == {
        "note": "strategy: morning applied",
        "rules": [{"rule": "morning", "outcome": "applied"}],
        "inject": ["Say good morning."],
        "disabled": ["send_vocal"],
    }
