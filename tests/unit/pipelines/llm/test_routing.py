"""Who is asked: by task, organisation, plan, experiment and how hard the conversation is."""

from dataclasses import replace

import pytest

from pipelines.llm.models import NoModel, Routes, routes_of
from pipelines.llm.routing import LOOKED_AT, STRONGER, Taken, Whom, Why, pick_model, take
from schemas.conversation import Effort
from schemas.llm import Task
from tests.builders import settings

BOTH = frozenset({"anthropic", "openai"})
SEEDS = {
    "AI_MODEL_CONCIERGE": "claude-haiku-4-5",
    "AI_MODEL_CONCIERGE_STRONG": "claude-sonnet-4-6",
    "AI_MODEL_AUXILIARY": "gpt-4o-mini",
    "AI_MODEL_EMBEDDINGS": "text-embedding-3-small",
}


def routes(**environment: str) -> Routes:
    return Routes(routes_of(settings(**environment)), BOTH)


def names(task: Task, whom: Whom, of: Routes | None = None) -> list[str]:
    return [model.name for model in pick_model(task, whom, of or routes())]


@pytest.mark.parametrize("task", [task for task in Task if task is not Task.EMBEDDINGS])
def test_every_task_has_a_cheap_route_and_a_fallback_elsewhere(task: Task) -> None:
    strong, usual = ["claude-sonnet-5-5", "gpt-6.1-terra"], ["claude-haiku-5-5", "gpt-6-luna"]

    if task in STRONGER.values():
        assert names(task, Whom()) == strong + usual, (
            "who cannot be answered by a stronger one is answered all the same"
        )
    else:
        assert names(task, Whom()) == (strong if task in (Task.ASSISTANT, Task.DRAFT) else usual)


def test_the_ids_that_operators_have_written_work() -> None:
    of = routes(**SEEDS)

    assert names(Task.CONCIERGE, Whom(), of) == ["claude-haiku-4-5"]
    assert names(Task.CONCIERGE_STRONG, Whom(), of) == ["claude-sonnet-4-6", "claude-haiku-4-5"]
    assert [str(model) for model in pick_model(Task.AUXILIARY, Whom(), of)] == ["openai:gpt-4o-mini"]
    assert [str(model) for model in pick_model(Task.EMBEDDINGS, Whom(), of)] == ["openai:text-embedding-3-small"]


def test_an_organisation_has_its_own_route() -> None:
    own = Whom(overrides={"reply": "claude-opus-5-5, gpt-6.1-terra"})

    assert names(Task.REPLY, own) == ["claude-opus-5-5", "gpt-6.1-terra"]
    assert names(Task.REVIEW, own) == ["claude-haiku-5-5", "gpt-6-luna"]


def test_an_own_route_that_cannot_be_called_leaves_the_installations() -> None:
    only = Routes(routes_of(settings()), frozenset({"anthropic"}))

    for route in ("gpt-6-luna", "nonsense", "100% gpt-6-luna"):
        assert names(Task.REPLY, Whom(overrides={"reply": route}), only) == ["claude-haiku-5-5"]
    with pytest.raises(NoModel):
        pick_model(Task.EMBEDDINGS, Whom(), only)


MOST = Effort(replies=6, strong=31, answers=LOOKED_AT)
"""One answer below what lets another conversation in, of a share of 20 %."""


@pytest.mark.parametrize(
    ("effort", "proposed", "expected"),
    [
        (None, True, Taken(Task.REPLY)),
        (Effort(), False, Taken(Task.REPLY)),
        (Effort(replies=5), False, Taken(Task.REPLY)),
        (Effort(replies=6), False, Taken(Task.REPLY_STRONG, Why.MANY_TURNS)),
        (Effort(), True, Taken(Task.REPLY_STRONG, Why.COMPLEX_BOOKING)),
        (MOST, False, Taken(Task.REPLY_STRONG, Why.MANY_TURNS)),
        (replace(MOST, strong=32), False, Taken(Task.REPLY, Why.MANY_TURNS, kept_back=True)),
        (replace(MOST, strong=39, strong_before=True), False, Taken(Task.REPLY_STRONG, Why.MANY_TURNS)),
        (replace(MOST, strong=40, strong_before=True), True, Taken(Task.REPLY, Why.COMPLEX_BOOKING, kept_back=True)),
        (replace(MOST, replies=0, strong=0, strong_before=True), False, Taken(Task.REPLY)),
    ],
    ids=str,
)
def test_a_hard_conversation_takes_the_stronger_way_while_its_share_lasts(
    effort: Effort | None, proposed: bool, expected: Taken
) -> None:
    assert take(Task.REPLY, Whom(plan="enterprise"), effort, proposed=proposed, share=0.2) == expected


def test_no_share_is_no_stronger_way_and_a_whole_one_has_no_bound() -> None:
    hard = Effort(replies=9, strong=LOOKED_AT, answers=LOOKED_AT)

    assert take(Task.REPLY, Whom(), Effort(replies=9), proposed=False, share=0).task is Task.REPLY
    assert take(Task.REPLY, Whom(), hard, proposed=False, share=1).task is Task.REPLY_STRONG


def test_the_concierge_has_it_by_plan_too_and_other_tasks_have_none() -> None:
    enterprise, pro, hard = Whom(plan="enterprise"), Whom(plan="pro"), Effort(replies=9)

    assert take(Task.CONCIERGE, enterprise, None, proposed=True, share=0) == Taken(Task.CONCIERGE_STRONG, Why.PLAN)
    assert take(Task.CONCIERGE, pro, None, proposed=True, share=1) == Taken(Task.CONCIERGE)
    assert take(Task.CONCIERGE, pro, hard, proposed=False, share=1) == Taken(Task.CONCIERGE_STRONG, Why.MANY_TURNS)
    assert take(Task.AUXILIARY, enterprise, hard, proposed=True, share=1) == Taken(Task.AUXILIARY)


def test_who_named_its_own_model_is_not_moved_to_one_it_never_named() -> None:
    own = {"reply": "claude-opus-5-5"}
    both = own | {"reply_strong": "claude-fable-5"}
    hard = Effort(replies=9)

    assert take(Task.REPLY, Whom(overrides=own), hard, proposed=False, share=1).task is Task.REPLY
    assert take(Task.REPLY, Whom(overrides=both), hard, proposed=False, share=1).task is Task.REPLY_STRONG
    assert names(Task.REPLY_STRONG, Whom(overrides=both)) == ["claude-fable-5", "claude-opus-5-5"]


def test_an_experiment_of_the_installation_is_dealt_out_by_organisation() -> None:
    of = routes(AI_MODEL_REPLY="75% claude-haiku-5-5 | 25% claude-sonnet-5-5")
    taken = {
        str(org): {names(Task.REPLY, Whom(str(org), str(contact)), of)[0] for contact in range(5)}
        for org in range(2_000)
    }

    assert all(len(models) == 1 for models in taken.values()), "one organisation, one route"
    share = sum("claude-sonnet-5-5" in models for models in taken.values()) / len(taken)
    assert 0.21 < share < 0.29


def test_an_experiment_of_an_organisation_sticks_to_the_contact() -> None:
    own = {"reply": "claude-haiku-5-5 | claude-sonnet-5-5", "review": "claude-haiku-5-5 | claude-sonnet-5-5"}
    chosen = [
        tuple(names(task, Whom("7", str(contact), own))[0] for task in (Task.REPLY, Task.REVIEW))
        for contact in range(1_000)
    ]

    assert chosen == [
        tuple(names(task, Whom("another", str(contact), own))[0] for task in (Task.REPLY, Task.REVIEW))
        for contact in range(1_000)
    ]
    assert 450 < sum(reply == "claude-haiku-5-5" for reply, _ in chosen) < 550
    assert 450 < sum(reply == review for reply, review in chosen) < 550, "tasks are dealt out one by one"


def test_no_share_is_no_traffic() -> None:
    of = routes(AI_MODEL_REPLY="0% claude-haiku-5-5 | 1% claude-sonnet-5-5")

    assert {names(Task.REPLY, Whom(str(org)), of)[0] for org in range(200)} == {"claude-sonnet-5-5"}
