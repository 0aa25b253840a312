"""`replique costs`: the ledger, summed up."""

import csv
import io
from typing import Annotated, Any

import typer

from pipelines.text.counting import counted
from workers.cli.options import Json, Org, gateway

COLUMNS = (
    "key",
    "org",
    "calls",
    "unpriced_calls",
    "unknown_calls",
    "input",
    "cache_read",
    "cache_write_5m",
    "cache_write_1h",
    "output",
    "cost_usd",
    "discarded_cost_usd",
    "cost_eur",
    "cost",
    "currency",
    "cache_share",
    "strong_share",
)
SHOWN = ("key", "calls", "input", "cache_read", "output", "cost_usd", "discarded_cost_usd", "cost", "currency")
UNPAID = "a simulator plays the models here: nobody is paid, and the sums are what its calls would cost"
SHARES = ("cache_share", "strong_share")


def costs(
    by: Annotated[str, typer.Option(help="org, model, day, month, pipeline, task or conversation.")] = "org",
    since: Annotated[str | None, typer.Option(help="RFC 3339; default: the first of this month, UTC.")] = None,
    until: Annotated[str | None, typer.Option(help="RFC 3339, not included; default: now.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 200,
    as_csv: Annotated[bool, typer.Option("--csv", help="Every column, with a head.")] = False,
    org: Org = None,
    as_json: Json = False,
) -> None:
    """What model calls cost: tokens, money, what was thrown away, and how organisations stand to their plans."""
    from workers.cli.terminal import Terminal

    with gateway(org) as at:
        found = at.costs(group=by, since=since, until=until, limit=limit)
    terminal = Terminal()
    if as_json:
        return terminal.json(found)
    if as_csv:
        return terminal.say(_csv(found["items"]))
    lines = [*found["items"], {**found["total"], "key": "total"}]
    terminal.table(
        (*SHOWN, *SHARES), [[*(line[c] for c in SHOWN), *(_share(line[c]) for c in SHARES)] for line in lines]
    )
    for sentence in notes(found):
        terminal.warn(sentence)
    return None


def notes(found: dict[str, Any]) -> list[str]:
    """What the sums do not say by themselves."""
    total, told = found["total"], []
    if found.get("simulated"):
        told.append(UNPAID)
    if found["left_off"]:
        told.append(f"{counted(found['left_off'], 'line')} more: ask with a larger --limit")
    if total["unpriced_calls"]:
        are = counted(total["unpriced_calls"], "call has no known price and is", "calls have no known price and are")
        told.append(f"{are} in no sum of money")
    if total["unknown_calls"]:
        one, many = "call was never heard of again and stands", "calls were never heard of again and stand"
        stand = counted(total["unknown_calls"], one, many)
        told.append(f"{stand} at what was set aside")
    for use in found["plans"]:
        used = f"{counted(use['used'], 'reply', 'replies')}, unlimited,"
        if use["limit"] is not None:
            used = f"{use['used']} of {counted(use['limit'], 'reply', 'replies')}"
        margin = "" if use["margin"] is None else f", margin {use['margin']:.1%}"
        told.append(f"{use['org']}: plan {use['plan']}, {used} in {use['month']}{margin}")
    return told


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def _csv(items: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_cell(item[column]) for column in COLUMNS] for item in items)
    return text.getvalue().rstrip("\n")


def _cell(value: object) -> object:
    """A name that a spreadsheet would take for a formula is text."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value
