"""`replique queues`: how much waits, since when, and how much is with workers."""

from typing import Any

from workers.cli.options import Json, Org, gateway

COLUMNS = ("queue", "depth", "due", "in_flight", "oldest_due_seconds")


def queues(org: Org = None, as_json: Json = False) -> None:
    """Every queue: rows that wait, those whose time has come, those with workers, and the oldest due one's age."""
    from workers.cli.terminal import SIMULATED, Terminal

    with gateway(org) as at:
        page = at.queues()
    terminal = Terminal()
    if as_json:
        return terminal.json(page)
    if page.get("simulated"):
        terminal.warn(SIMULATED)
    return terminal.table(COLUMNS, [[_cell(queue.get(column)) for column in COLUMNS] for queue in page["items"]])


def _cell(value: Any) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)
