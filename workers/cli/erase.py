"""`replique erase`: everything about a contact goes."""

import time
from typing import Annotated

import typer

from workers.cli.options import Json, Org, gateway

COLUMNS = ("store", "state", "rows", "note")
LOOK_SECONDS = 0.5


def erase(
    contact: Annotated[str, typer.Argument(metavar="CONTACT", help="The id that your app gave the contact.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; needed where nobody can be asked.")] = False,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for the rest to be erased.")] = 60.0,
    org: Org = None,
    as_json: Json = False,
) -> None:
    """Erase a contact for good: messages, drafts, runs, documents, files. Prints a receipt per store."""
    from workers.cli.failures import AskedWrongly
    from workers.cli.terminal import Terminal

    terminal = Terminal()
    if not yes:
        if not terminal.console:
            raise AskedWrongly("nobody can be asked here: --yes erases the contact for good")
        typer.confirm(f"Erase {contact} and everything about them, for good?", abort=True)
    with gateway(org) as at:
        receipt = at.erase(contact)
        until = time.monotonic() + wait
        while receipt["state"] != "done" and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
            receipt = at.erasure(receipt["id"])
    if as_json:
        terminal.json(receipt)
    else:
        terminal.table(COLUMNS, [[store.get(column) for column in COLUMNS] for store in receipt["stores"]])
        terminal.say(f"{receipt['id']}: {receipt['state']}")
    if receipt["state"] != "done":
        raise typer.Exit(1)
