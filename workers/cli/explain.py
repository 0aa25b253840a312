"""`replique explain`: why is there no answer, and what to do about it."""

import re
from shlex import quote
from typing import Annotated, Any

import typer

from workers.cli.options import Json, Org, gateway


def explain(
    subject: Annotated[str, typer.Argument(metavar="CONVERSATION|MESSAGE|JOB", help="e.g. c-12, m-981 or job_42")],
    org: Org = None,
    as_json: Json = False,
) -> None:
    """Why no answer? One reason, since when, who, and what to do next."""
    from workers.cli.terminal import SIMULATED, Terminal

    with gateway(org) as at:
        found = at.explain(subject)
    terminal = Terminal()
    if as_json:
        return terminal.json(found)
    if found.get("simulated"):
        terminal.warn(SIMULATED)
    if org is not None:
        found["next"] = _in(org, str(found["next"]))
    terminal.say(str(found["sentence"]), "bold")
    for name, value in _lines(found):
        terminal.say(f"  {name}: {value}", "dim" if name != "next" else "")
    return None


def _in(org: str, to_do: str) -> str:
    """Whoever had to name the organisation has to name it to the next command too."""
    return re.sub(r"`replique conversations [^`]+", lambda command: f"{command[0]} --org {quote(org)}", to_do)


def _lines(found: dict[str, Any]) -> list[tuple[str, Any]]:
    particulars = [(name.replace("_", " "), value) for name, value in (found.get("facts") or {}).items()]
    of_it = [(name, found.get(name)) for name in ("cause", "code", "since", "until", "who", "job", "conversation")]
    return [(name, value) for name, value in [*of_it, *particulars, ("next", found.get("next"))] if value is not None]
