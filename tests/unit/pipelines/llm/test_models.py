"""Names, routes, and who answers a task."""

import pytest

from pipelines.llm.models import (
    NoModel,
    Routes,
    UnknownModel,
    not_named,
    parse_choice,
    parse_model,
    parse_route,
    routes_of,
)
from schemas.llm import Model, Task
from tests.builders import settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("claude-haiku-5-5", "anthropic:claude-haiku-5-5"),
        (" claude-sonnet-4-6 ", "anthropic:claude-sonnet-4-6"),
        ("anthropic:my-own", "anthropic:my-own"),
        ("gpt-4o-mini", "openai:gpt-4o-mini"),
        ("o4-mini", "openai:o4-mini"),
        ("text-embedding-3-small", "openai:text-embedding-3-small"),
        ("openai:claude-like", "openai:claude-like"),
    ],
)
def test_a_name_says_its_provider(text: str, expected: str) -> None:
    assert str(parse_model(text)) == expected


@pytest.mark.parametrize("text", ["llama-4", "", "anthropic:", "mistral:large", "bedrock:claude-x"])
def test_a_name_that_says_none_is_refused(text: str) -> None:
    with pytest.raises(UnknownModel, match="names no known provider"):
        parse_model(text)


def test_a_route_is_a_list_best_first() -> None:
    assert parse_route("claude-haiku-5-5, gpt-6-luna,") == (
        Model("anthropic", "claude-haiku-5-5"),
        Model("openai", "gpt-6-luna"),
    )
    with pytest.raises(UnknownModel, match="empty"):
        parse_route(" , ")


def test_a_wrong_route_is_refused_naming_its_task() -> None:
    with pytest.raises(UnknownModel, match="AI_MODEL_REVIEW: 'llama-4'"):
        routes_of(settings(AI_MODEL_REVIEW="llama-4"))


def test_members_without_a_key_are_left_out() -> None:
    routes = Routes(
        routes_of(named := settings(AI_MODEL_REPLY="gpt-6-luna,claude-haiku-5-5", AI_MODEL_BULK="gpt-6-luna")),
        frozenset({"anthropic"}),
        not_named(named),
    )

    assert routes.pick(Task.REPLY) == Model("anthropic", "claude-haiku-5-5")
    assert routes.left_out() == [Model("openai", "gpt-6-luna")]
    with pytest.raises(NoModel, match="no model for task bulk: no key for openai:gpt-6-luna"):
        routes.pick(Task.BULK)
    with pytest.raises(NoModel, match="no key for any route"):
        routes.pick(Task.EMBEDDINGS)


def test_an_organisation_has_its_own_route_as_far_as_it_can_be_used() -> None:
    routes = Routes(routes_of(settings()), frozenset({"anthropic"}))

    picked = [
        routes.pick(Task.REPLY, {"reply": route}).name
        for route in ("claude-opus-5-5", "gpt-6-luna", "nonsense", "gpt-6-luna,claude-opus-5-5")
    ]

    assert picked == ["claude-opus-5-5", "claude-haiku-5-5", "claude-haiku-5-5", "claude-opus-5-5"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("90% claude-haiku-5-5 | gpt-6-luna", "each route needs its share"),
        ("0% claude-haiku-5-5 | 0% gpt-6-luna", "all 0"),
        ("50% claude-haiku-5-5 | 50% ", "empty"),
        ("claude-haiku-5-5 | ", "empty"),
    ],
)
def test_shares_are_written_for_all_or_none(text: str, sentence: str) -> None:
    with pytest.raises(UnknownModel, match=sentence):
        parse_choice(text)


def test_several_routes_may_share_a_task() -> None:
    choice = parse_choice("90% claude-haiku-5-5,gpt-6-luna | 10% claude-sonnet-4-6")

    assert [(variant.share, [model.name for model in variant.route]) for variant in choice] == [
        (90, ["claude-haiku-5-5", "gpt-6-luna"]),
        (10, ["claude-sonnet-4-6"]),
    ]
