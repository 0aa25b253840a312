"""Who is asked: by task, organisation, plan, experiment and how hard the conversation is."""

from dataclasses import replace

import pytest

from pipelines.llm.models import NoModel, Routes, routes_of
from pipelines.llm.routing import STRONGER, Whom, pick_model
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


def names(task: Task, whom: Whom, of: Routes | None = None, *, dynamic: bool = False) -> list[str]:
    return [model.name for model in pick_model(task, whom, of or routes(), dynamic=dynamic)]


@pytest.mark.parametrize("task", [task for task in Task if task is not Task.EMBEDDINGS])
def test_every_task_has_a_cheap_route_and_a_fallback_elsewhere(task: Task) -> None:
    strong = task in (Task.CONCIERGE_STRONG, Task.ASSISTANT, Task.DRAFT)

    assert names(task, Whom()) == (
        ["claude-sonnet-5-5", "gpt-6.1-terra"] if strong else ["claude-haiku-5-5", "gpt-6-luna"]
    )


def test_the_ids_that_operators_have_written_work() -> None:
    of = routes(**SEEDS)

    assert names(Task.CONCIERGE, Whom(), of) == ["claude-haiku-4-5"]
    assert names(Task.CONCIERGE_STRONG, Whom(), of) == ["claude-sonnet-4-6"]
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


@pytest.mark.parametrize(
    ("changes", "dynamic", "strong"),
    [
        ({}, False, False),
        ({}, True, False),
        ({"turns": 6}, True, False),
        ({"turns": 7}, True, True),
        ({"turns": 7}, False, False),
        ({"intent": "complex_booking"}, True, True),
        ({"intent": "complex_booking"}, False, False),
        ({"intent": "greeting"}, True, False),
        ({"plan": "enterprise"}, False, True),
        ({"plan": "pro"}, True, False),
    ],
    ids=str,
)
def test_who_pays_for_it_or_needs_it_gets_the_stronger_route(
    changes: dict[str, object], dynamic: bool, strong: bool
) -> None:
    whom = replace(Whom(), **changes)  # type: ignore[arg-type]

    assert names(Task.CONCIERGE, whom, dynamic=dynamic)[0] == ("claude-sonnet-5-5" if strong else "claude-haiku-5-5")
    assert names(Task.REPLY, whom, dynamic=dynamic)[0] == "claude-haiku-5-5", "only tasks with a stronger way"
    assert set(STRONGER) == {Task.CONCIERGE}


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
