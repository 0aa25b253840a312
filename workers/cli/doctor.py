"""`replique doctor`: is everything well? Exit code 1 when something is wrong.

The gateway is asked, because it knows its own settings. Without one, the servers of this environment are looked at
from here.
"""

import asyncio
from typing import TYPE_CHECKING, Any

import typer

from workers.cli.options import Json, Org

if TYPE_CHECKING:
    from schemas.settings import Settings

_STYLES = {"ok": "green", "warning": "yellow", "wrong": "red"}


def doctor(org: Org = None, as_json: Json = False) -> None:
    """Check settings, servers, clock, workers, webhooks, models, prompt lengths and files."""
    from workers.cli.terminal import Terminal

    found = _examined(org)
    terminal = Terminal()
    if as_json:
        terminal.json(found)
    else:
        _show(terminal, found["findings"])
    if not found["ok"]:
        raise typer.Exit(1)


def _examined(org: str | None) -> dict[str, Any]:
    from schemas.settings import SettingsRefused, read_settings
    from workers.cli.failures import GatewayAway, NotConnected

    try:
        settings = read_settings()
    except SettingsRefused as error:
        return _only("settings", f"the settings are refused: {error}", "mend them in the environment")
    try:
        return _asked(settings, org)
    except GatewayAway as error:
        away = {"check": "gateway", "level": "wrong", "sentence": str(error), "next": "start it (`replique gateway`)"}
        from_here = _from_here(settings)["findings"] if settings.database_url else []
        return {"ok": False, "findings": [away, *from_here]}
    except NotConnected:
        if settings.database_url is None:
            raise
        return _from_here(settings)


def _asked(settings: "Settings", org: str | None) -> dict[str, Any]:
    from workers.cli.client import Gateway
    from workers.cli.connection import find

    with Gateway(find(settings), org or settings.org) as at:
        found = at.doctor()
    well = {"check": "gateway", "level": "ok", "sentence": f"the gateway at {at.url} answers", "next": None}
    return {"ok": found["ok"], "findings": [well, *found["findings"]]}


def _from_here(settings: "Settings") -> dict[str, Any]:
    from workers.gateway.wiring import open_parts

    async def examine() -> dict[str, Any]:
        async with open_parts(settings) as parts:
            return (await parts.doctor.examine()).model_dump(mode="json")

    return asyncio.run(examine())


def _only(check: str, sentence: str, to_do: str) -> dict[str, Any]:
    return {"ok": False, "findings": [{"check": check, "level": "wrong", "sentence": sentence, "next": to_do}]}


def _show(terminal: Any, findings: list[dict[str, Any]]) -> None:
    for finding in findings:
        level = str(finding["level"])
        terminal.say(f"{level:<8}{finding['check']}: {finding['sentence']}", _STYLES.get(level, ""))
        if finding.get("next"):
            terminal.say(f"        {finding['next']}", "dim")
