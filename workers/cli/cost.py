"""`replique cost simulate`: what a month of conversations would cost, before there is one."""

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from schemas.scenario import Month, Scenario, Simulated

app = typer.Typer(no_args_is_help=True, help="What conversations would cost.")
COLUMNS = ("", "$ a month", "cached", "input", "cache read", "write 5m", "write 1h", "output")


@app.callback()
def _group() -> None:
    """What conversations would cost."""


@app.command("simulate")
def simulate(
    file: Annotated[str, typer.Argument(metavar="SCENARIO", help="A YAML file; see examples/scenarios.")],
    as_json: Annotated[bool, typer.Option("--json", help="The figures as JSON.")] = False,
) -> None:
    """Tokens, cache and cost of a scenario's month, by the price table and the cache's rules. Asks nobody."""
    from pipelines.llm import scenario as scenarios
    from schemas.settings import read_settings
    from workers.adapters.llm.prices import GenaiPrices
    from workers.cli import scenario_file
    from workers.cli.failures import CommandFailed
    from workers.cli.terminal import Terminal

    scenario, model = scenario_file.read(file)
    try:
        found = scenarios.simulate(scenario, model, GenaiPrices())
    except scenarios.NoPrice as missing:
        raise CommandFailed(str(missing)) from None
    shown = figures(scenario, found, read_settings())
    terminal = Terminal()
    if as_json:
        return terminal.json(shown)
    terminal.heading(f"{scenario.name}: {scenario.messages_per_month:,} messages a month on {model}")
    rows = [_row("by the rules", found.by_rules)]
    if found.assumed is not None:
        rows.append(_row(f"assumed: {scenario.assume_cached_share:.0%} cached", found.assumed))
    terminal.table(COLUMNS, rows)
    if found.longest < found.minimum and scenario.caching:
        sentence = (
            f"no request has the {found.minimum} tokens from which {model} caches: the longest has {found.longest}"
        )
        terminal.say(f"nothing is cached: {sentence}")
    if (margin := shown["margin"]) is not None:
        terminal.say(f"margin on plan {scenario.plan} at {shown['price']} {shown['currency']}: {margin:.1%}")
    return None


def figures(scenario: "Scenario", found: "Simulated", settings: Any) -> dict[str, Any]:
    """As `--json` gives them: money as decimal text, shares between 0 and 1."""
    from pipelines.llm.plans import margin, plan_of
    from schemas.resources import OrganizationSpec

    plan = plan_of(OrganizationSpec(plan=scenario.plan), settings.plans)
    left = None if plan is None else margin(plan, found.by_rules.usd, settings.fx)
    return {
        "scenario": scenario.name,
        "model": scenario.model,
        "messages_per_month": scenario.messages_per_month,
        "conversations": found.conversations,
        "cacheable_from": found.minimum,
        "longest_request": found.longest,
        "by_rules": _month(found.by_rules),
        "assumed": None if found.assumed is None else _month(found.assumed),
        "price": None if plan is None or plan.price is None else str(plan.price),
        "currency": None if plan is None else plan.currency,
        "margin": None if left is None else float(left),
    }


def _month(month: "Month") -> dict[str, Any]:
    usage = month.usage
    return {
        "requests": month.requests,
        "cost_usd": f"{month.usd.quantize(Decimal('0.0001'))}",
        "cached_share": round(month.cached_share, 4),
        "input": usage.input,
        "cache_read": usage.cache_read,
        "cache_write_5m": usage.cache_write_5m,
        "cache_write_1h": usage.cache_write_1h,
        "output": usage.output,
    }


def _row(name: str, month: "Month") -> list[str]:
    usage = month.usage
    tokens = (usage.input, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h, usage.output)
    return [name, f"{month.usd:.2f}", f"{month.cached_share:.0%}", *(f"{number:,}" for number in tokens)]
