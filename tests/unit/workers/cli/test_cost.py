"""`replique cost simulate`: the figures of the examples, and what is said of a file that is wrong."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pipelines.llm.scenario import NoPrice, simulate
from schemas.scenario import Scenario
from schemas.settings import GivenSettings
from workers.adapters.llm.prices import GenaiPrices
from workers.cli.cost import figures
from workers.cli.scenario_file import ScenarioRefused, parse, read

EXAMPLES = Path(__file__).parents[4] / "examples" / "scenarios"
HOTEL = (EXAMPLES / "hotel-pro.yaml").read_text(encoding="utf-8")


def simulated(name: str) -> dict[str, Any]:
    scenario, model = read(str(EXAMPLES / name))
    return figures(scenario, simulate(scenario, model, GenaiPrices()), GivenSettings())


def changed(*changes: tuple[str, str]) -> dict[str, Any]:
    text = HOTEL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    scenario, model = parse(text, "x.yaml")
    return figures(scenario, simulate(scenario, model, GenaiPrices()), GivenSettings())


def test_the_pro_hotel_costs_2_30_as_assumed_and_2_80_by_the_rules() -> None:
    shown = simulated("hotel-pro.yaml")

    assert (shown["assumed"]["cost_usd"], shown["by_rules"]["cost_usd"]) == ("2.2960", "2.8000")
    assert (shown["assumed"]["input"], shown["assumed"]["cache_read"], shown["assumed"]["output"]) == (
        240_000,
        560_000,
        400_000,
    )
    assert (shown["by_rules"]["input"], shown["by_rules"]["cached_share"]) == (800_000, 0.0)
    assert (shown["cacheable_from"], shown["longest_request"]) == (4_096, 400)
    assert round(shown["margin"], 3) == 0.976


def test_a_prompt_above_the_minimum_is_read_from_the_cache() -> None:
    shown = simulated("hotel-pro-full-prompt.yaml")["by_rules"]
    # conversations begin hours apart: each writes the prompt anew, its four later requests read it
    assert shown["cached_share"] > 0.7
    assert shown["cache_write_1h"] > 400 * 6_000


def test_a_conversation_is_marked_as_the_layout_marks_it() -> None:
    """Measured on the bytes of such requests: 93.0 % read (docs/decisions/prompt-layout.md)."""
    assert 0.92 < simulated("creator.yaml")["by_rules"]["cached_share"] < 0.95


def test_twice_the_messages_cost_twice_as_much_however_many_are_played() -> None:
    two = ("messages_per_month: 2000", "messages_per_month: 4000")
    assert Decimal(changed(two)["by_rules"]["cost_usd"]) == 2 * Decimal(changed()["by_rules"]["cost_usd"])


def test_caching_switched_off_pays_for_all_of_it() -> None:
    shown = changed(("system: 300", "system: 6000"), ("turns_per", "caching: false\nturns_per"))["by_rules"]
    assert (shown["cost_usd"], shown["cached_share"]) == ("14.2000", 0.0)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("reply: 200", "reply: lots", "x.yaml:14:10: tokens.reply: Input should be a valid integer"),
        ("  message: 100\n", "", "x.yaml:12:3: tokens.message: Field required"),
        ("plan: pro", "plann: pro", "x.yaml:6:8: plann: Extra inputs are not permitted"),
        ("0.70", "1.5", "x.yaml:10:22: assume_cached_share: Input should be less than or equal to 1"),
        ("claude-haiku-4-5", "haiku", "x.yaml:5:8: model: 'haiku' names no known provider"),
        ("plan: pro", "plan: pro\nplan: pro", "x.yaml:4:1: plan is given twice"),
        ("tokens:", "tokens: [", "x.yaml:13:10: "),
    ],
)
def test_a_fault_is_told_with_its_place(old: str, new: str, sentence: str) -> None:
    with pytest.raises(ScenarioRefused) as refused:
        changed((old, new))
    assert str(refused.value).startswith(sentence), str(refused.value)


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(ScenarioRefused) as refused:
        changed(("reply: 200", "reply: lots"), ("plan: pro", "plan: gold"))
    assert len(str(refused.value).splitlines()) == 2


def test_a_model_without_a_price_costs_nobody_knows_what() -> None:
    with pytest.raises(NoPrice):
        changed(("claude-haiku-4-5", "anthropic:nobody-knows-it"))


@pytest.mark.parametrize("text", ["", "- a\n", "just text"])
def test_what_is_no_scenario_is_said_to_be_none(text: str) -> None:
    with pytest.raises(ScenarioRefused, match=r"^x.yaml:1:1: a scenario is a mapping"):
        parse(text, "x.yaml")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_every_example_is_a_scenario(path: Path) -> None:
    assert isinstance(read(str(path))[0], Scenario)
