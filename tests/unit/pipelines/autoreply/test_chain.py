"""Engine V1: four questions, the same review, the same guards."""

import json
from typing import Any

import pytest

from pipelines.autoreply.intents import BUILT_IN, Intents
from pipelines.llm.dialects.anthropic import to_wire
from schemas.agent import TraceKind
from schemas.conversation import Author, FollowUp, Trigger
from schemas.decisions import Failure, Parked, Reply
from schemas.errors import Code, FailureKind, ModelFailure
from schemas.llm import ModelRequest, Stop, Task
from schemas.strategy import IntentSpec, RuleSpec, StrategyDocuments
from tests.builders import a_case, a_turn, dialogue
from tests.fakes import Line, done, sending
from tests.replies import FINE, TOO_COLD, stage, verdict

V1 = {"engine": "v1"}


def said(**answer: Any) -> Line:
    return done(json.dumps(answer))


INTENT = said(intent="question", because="il demande")
CONTEXT = said(facts=["vit à Lyon"], open_points=["et toi ?"], mood="gai")
REFLECTION = said(approach="répondre simplement", avoid=["promettre"])
THOUGHT = (INTENT, CONTEXT, REFLECTION)


def drafted(*messages: str) -> Line:
    return said(messages=list(messages))


def asked(request: ModelRequest) -> list[str]:
    """The texts of the newest user turn."""
    return [block["text"] for block in to_wire(request)["messages"][-1]["content"]]


def reply_of(decision: Any) -> tuple[str, ...]:
    assert isinstance(decision, Reply)
    return tuple(bubble.text for bubble in decision.bubbles)


def failure_of(decision: Any) -> tuple[Code, str]:
    assert isinstance(decision, Failure)
    return decision.code, decision.reason


async def test_four_auxiliary_calls_and_a_review_make_a_reply() -> None:
    on = stage(*THOUGHT, drafted("ça va, *et toi* ?", " ", "raconte !"))

    decision = await on.run(a_case(persona=V1))

    assert reply_of(decision) == ("ça va, et toi ?", "raconte !")
    assert [request.task for request in on.heard] == [*[Task.AUXILIARY] * 4, Task.REVIEW]
    assert [call.task for call in on.keep.reserved] == [*[Task.AUXILIARY] * 4, Task.REVIEW]
    assert {request.tools for request in on.heard} == {()}


async def test_each_question_stands_on_the_answers_before() -> None:
    on = stage(*THOUGHT, drafted("ça va"))

    await on.run(a_case(turns=dialogue(("coucou", "salut toi")), persona=V1))

    first, last = on.heard[0], to_wire(on.heard[3])["messages"]
    assert [text.split("\n")[0][:30] for text in asked(first)] == [
        "[12:03] et toi ?",
        "<run_context>",
        "[Step 1 of 4: intent] What doe",
    ]
    assert [(m["role"], [b["text"][:24] for b in m["content"]]) for m in last] == [
        ("user", ["[12:01] coucou"]),
        ("assistant", ["salut toi"]),
        ("user", ["[12:03] et toi ?", "<run_context>\nNow: Monda", "[Step 1 of 4: intent] Wh"]),
        ("assistant", ['{"intent": "question", "']),
        ("user", ["The intent is question. ", "[Step 2 of 4: context] L"]),
        ("assistant", ['{"facts": ["vit \\u00e0 L']),
        ("user", ["[Step 3 of 4: reflection"]),
        ("assistant", ['{"approach": "r\\u00e9pon']),
        ("user", ["[Step 4 of 4: drafting] "]),
    ]
    names = first.output_schema["properties"]["intent"]["enum"] if first.output_schema else []
    assert names == list(BUILT_IN)
    assert asked(on.heard[1])[0] == f"The intent is question. {BUILT_IN['question']}"


async def test_the_system_is_the_same_in_all_four_and_alone_is_marked() -> None:
    on = stage(*THOUGHT, drafted("ça va"))

    await on.run(a_case(persona=V1))

    wires = [json.dumps(to_wire(request)["system"]) for request in on.heard[:4]]
    assert len(set(wires)) == 1
    assert "Never say or hint that a human is typing" in wires[0]
    marked = [json.dumps(to_wire(request)).count("cache_control") for request in on.heard[:4]]
    assert marked == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("persona", "note"),
    [
        (V1, "engine V1 answers"),
        ({"agent": {"Enable": False}}, "Enable is off: engine V1 answers in place of V2"),
        ({"engine": "v1", "agent": {"Enable": False}}, "engine V1 answers"),
    ],
)
async def test_the_trace_says_that_v1_answers_and_what_it_thought(persona: dict[str, Any], note: str) -> None:
    on = stage(*THOUGHT, drafted("ça va"))

    decision = await on.run(a_case(persona=persona))

    assert on.trace(decision, TraceKind.NOTE) == [
        {"note": note},
        {"note": "V1 intent", "intent": "question", "found": "question", "because": "il demande"},
        {"note": "V1 context", "facts": ["vit à Lyon"], "open_points": ["et toi ?"], "mood": "gai"},
        {"note": "V1 reflection", "approach": "répondre simplement", "avoid": ["promettre"]},
    ]


async def test_the_installation_can_switch_the_agent_off() -> None:
    on = stage(*THOUGHT, drafted("ça va"), REPLIQUE_AGENT__ENABLE="false")

    assert reply_of(await on.run()) == ("ça va",)


async def test_a_reply_that_the_review_finds_wanting_is_drafted_again() -> None:
    on = stage(*THOUGHT, drafted("non"), drafted("non, mon cher"), reviews=(TOO_COLD, FINE))

    decision = await on.run(a_case(persona=V1))

    assert reply_of(decision) == ("non, mon cher",)
    assert [call.task for call in on.keep.reserved][4:] == [Task.REVIEW, Task.AUXILIARY, Task.REVIEW]
    (told,) = asked(on.model.agent.heard[4])
    assert "Be warmer." in told
    assert told.endswith('[Step 4 again] Write the whole corrected reply as "messages".')


async def test_the_best_version_is_kept_when_a_correction_brings_nothing() -> None:
    on = stage(*THOUGHT, drafted("non"), drafted(), drafted(), reviews=(TOO_COLD,))

    decision = await on.run(a_case(persona=V1))

    assert isinstance(decision, Reply)
    assert (reply_of(decision), decision.note) == (
        ("non",),
        "the best of 1 versions was kept, with 1 open issues: the correction queued nothing that can be sent",
    )


async def test_a_local_check_sends_the_whole_draft_back() -> None:
    on = stage(*THOUGHT, drafted("bien", "<b>oui"), drafted("bien", "oui"))

    decision = await on.run(a_case(persona=V1))

    assert reply_of(decision) == ("bien", "oui")
    assert asked(on.heard[4]) == [
        "[Check] The reply cannot be sent like this:\n"
        "- message 2: The text holds a tag. Write only what the contact should read.\n"
        '[Step 4 again] Write the whole corrected reply as "messages".'
    ]


async def test_a_lie_about_who_writes_ends_the_run() -> None:
    on = stage(*THOUGHT, drafted("promis, je suis une vraie personne, pas un robot"))

    assert failure_of(await on.run(a_case(persona=V1)))[0] is Code.CRITICAL_REVIEW
    assert len(on.heard) == 4


async def test_its_own_rules_are_never_quoted() -> None:
    quoted = "You are asked four questions in turn about one conversation: what the contact wants"
    on = stage(*THOUGHT, drafted(quoted))

    assert failure_of(await on.run(a_case(persona=V1))) == (Code.CRITICAL_REVIEW, "prompt_leak")


NONSENSE = done("Bien sûr !")
BROKEN = [drafted("</b>"), drafted("<i>"), drafted("<u>")]


@pytest.mark.parametrize(
    ("lines", "agent", "expected", "calls"),
    [
        ([INTENT, done("", stop=Stop.REFUSED)], {}, (Code.MODEL_REFUSED, "model_refused"), 2),
        (
            [INTENT, NONSENSE, CONTEXT, done("{", stop=Stop.CUT)],
            {},
            (Code.MODEL_REFUSED, "answer_unreadable"),
            4,
        ),
        (
            [*THOUGHT, drafted(), drafted(" ")],
            {},
            (Code.NO_CANDIDATE, "nothing_to_send"),
            5,
        ),
        (
            list(THOUGHT),
            {"MaxIterations": 3},
            (Code.MAX_ITERATIONS, "max_iterations"),
            3,
        ),
        (
            [*THOUGHT, *BROKEN],
            {"MaxRefusedToolCalls": 3},
            (Code.REFUSED_CALLS, "refused_calls"),
            6,
        ),
        (
            [done(INTENT.text, takes=6)],
            {"TimeoutSeconds": 5},
            (Code.TIMEOUT, "timeout"),
            1,
        ),
    ],
    ids=["refused", "unreadable", "empty", "iterations", "refusals", "time"],
)
async def test_guards_end_the_chain_as_they_end_the_agent(
    lines: list[Line], agent: dict[str, Any], expected: tuple[Code, str], calls: int
) -> None:
    on = stage(*lines)

    assert failure_of(await on.run(a_case(persona={**V1, "agent": agent}))) == expected
    assert len(on.heard) == calls


async def test_a_provider_that_is_down_parks_the_chain_and_it_goes_on_where_it_was() -> None:
    on = stage(INTENT, CONTEXT, ModelFailure(FailureKind.OVERLOADED, "529"), REFLECTION, drafted("ça va"))
    case = a_case(persona=V1)
    parked = await on.run(case)

    decision = await on.run(case, on.keep.resume(2))

    assert isinstance(parked, Parked)
    assert reply_of(decision) == ("ça va",)
    assert len(on.model.agent.heard) == 5


@pytest.mark.parametrize(("began", "then"), [(V1, {}), ({}, V1)], ids=["v1", "v2"])
async def test_a_run_is_ended_by_the_engine_that_began_it(began: dict[str, Any], then: dict[str, Any]) -> None:
    lines = [*THOUGHT, drafted("ça va")] if began else [sending("ça va"), done()]
    on = stage(*lines)
    await on.run(a_case(persona=began))

    on.model.agent.lines.extend(lines[1:])

    assert reply_of(await on.run(a_case(persona=then), on.keep.resume(1))) == ("ça va",)


async def test_without_review_only_honesty_is_looked_at() -> None:
    on = stage(*THOUGHT, drafted("ça va"))

    decision = await on.run(a_case(persona={**V1, "agent": {"UseRedactionValidation": False}}))

    assert (reply_of(decision), len(on.heard)) == (("ça va",), 4)


async def test_an_intent_leads_where_a_rule_sends_it() -> None:
    intents = Intents({"sale": "Sell.", "warm": "Be warm."}, reroutes={"sale": "warm"})

    assert (intents.settled("sale"), intents.settled("warm")) == ("warm", "warm")


def rerouting(source: str, to: str, **fields: Any) -> RuleSpec:
    then = {"reroute_intent": {"from": source, "to": to}}
    return RuleSpec.model_validate({"when": "true", "then": then, **fields})


async def test_the_organisations_intents_take_the_place_of_ours_and_its_rules_lead_them() -> None:
    rules = {"a": rerouting("sale", "warm", priority=2), "b": rerouting("warm", "calm", priority=1)}
    named = {name: IntentSpec(guidance=f"Be {name}.") for name in ("sale", "warm", "calm", "other")}
    on = stage(said(intent="sale", because="x"), CONTEXT, REFLECTION, drafted("ça va"))

    await on.run(a_case(persona=V1, strategy=StrategyDocuments(rules, named)))

    assert "- sale: Be sale." in asked(on.heard[0])[-1]
    assert asked(on.heard[1])[0] == "The intent is calm. Be calm."


@pytest.mark.parametrize(("engine", "reason"), [("v1", None), ("v2", "it reroutes sale, and the intent was not set")])
async def test_a_reroute_is_said_to_be_in_vain_only_where_nothing_finds_an_intent(
    engine: str, reason: str | None
) -> None:
    named = {name: IntentSpec(guidance=f"Be {name}.") for name in ("sale", "warm")}
    found = said(intent="sale", because="x")
    lines = [found, CONTEXT, REFLECTION, drafted("ça va")] if engine == "v1" else [sending("ça va"), done()]
    on = stage(*lines)

    strategy = StrategyDocuments({"a": rerouting("sale", "warm")}, named)
    decision = await on.run(a_case(persona={"engine": engine}, strategy=strategy))

    assert [(rule.rule, rule.outcome, rule.reason) for rule in decision.strategy.rules] == [("a", "applied", reason)]


async def test_an_intent_that_a_rule_forces_is_the_intent_whatever_was_found() -> None:
    forcing = RuleSpec.model_validate({"when": "true", "then": {"force_intent": "calm"}})
    named = {name: IntentSpec(guidance=f"Be {name}.") for name in ("sale", "calm")}
    on = stage(said(intent="sale", because="x"), CONTEXT, REFLECTION, drafted("ça va"))

    await on.run(a_case(persona=V1, strategy=StrategyDocuments({"force": forcing}, named)))

    assert asked(on.heard[1])[0] == "The intent is calm. Be calm."


async def test_v1_is_told_what_rules_say_and_no_tool_is_required_of_it() -> None:
    rule = RuleSpec.model_validate(
        {"when": "true", "then": {"inject": "Le live est à 21 h 30.", "require_tools": ["set_plan"]}}
    )
    on = stage(*THOUGHT, drafted("ce soir à 21 h 30"))

    decision = await on.run(a_case(persona=V1, strategy=StrategyDocuments({"live": rule})))

    assert (reply_of(decision), decision.note, decision.strategy.autonomy) == (("ce soir à 21 h 30",), None, None)
    told = "\n".join(asked(on.heard[0]))
    assert ("- Le live est à 21 h 30." in told, "set_plan" in told) == (True, False)


async def test_a_follow_up_of_v1_is_told_that_nobody_wrote() -> None:
    on = stage(*THOUGHT, drafted("tu vas bien ?"))
    turns = (a_turn("coucou", answered=True), a_turn("salut", position=2, author=Author.AI))

    await on.run(a_case(turns=turns, trigger=Trigger.FOLLOW_UP, follow_up=FollowUp(), persona=V1))

    assert "Nobody has written since the last message above." in asked(on.heard[0])[0]


async def test_a_review_that_is_unreadable_closes_v1_too() -> None:
    on = stage(*THOUGHT, drafted("ça va"), reviews=(done("hm"), done("hm")))

    assert failure_of(await on.run(a_case(persona=V1)))[0] is Code.MODEL_REFUSED


async def test_a_critical_review_suppresses_the_reply() -> None:
    on = stage(*THOUGHT, drafted("ça va"), reviews=(verdict("critical", (0, "harm", "critical", "no")),))

    assert failure_of(await on.run(a_case(persona=V1))) == (Code.CRITICAL_REVIEW, "harm")
