"""`replique keys`: who may call the gateway."""

from typing import Annotated

import typer

from workers.cli.options import Cursor, Json, Limit, Org, gateway

app = typer.Typer(no_args_is_help=True, help="Who may call the gateway: create, list, revoke.")
COLUMNS = ("id", "role", "organization", "name", "created_at", "revoked_at")


@app.command()
def create(
    role: Annotated[str, typer.Option(help="app, operator, ops or admin")],
    name: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    org: Org = None,
    as_json: Json = False,
) -> None:
    """Make a key. Its secret is shown this once."""
    from workers.cli.terminal import Terminal

    with gateway(org) as at:
        made = at.make_key(role, name)
    terminal = Terminal()
    if as_json:
        return terminal.json(made)
    terminal.say(str(made["key"]))
    if terminal.console:
        terminal.say(f"{made.get('id')}: keep it, it is not shown again", "dim")
    return None


@app.command("list")
def list_keys(limit: Limit = 50, cursor: Cursor = None, org: Org = None, as_json: Json = False) -> None:
    """Who has a key; never the keys themselves."""
    from workers.cli.terminal import Terminal

    with gateway(org) as at:
        page = at.keys(limit=limit, cursor=cursor)
    terminal = Terminal()
    if as_json:
        return terminal.json(page)
    terminal.table(COLUMNS, [[key.get(column) for column in COLUMNS] for key in page["items"]])
    if page.get("next") and terminal.console:
        terminal.say(f"more with --cursor {page['next']}", "dim")
    return None


@app.command()
def revoke(
    key: Annotated[str, typer.Argument(metavar="KEY", help="e.g. key_3")], org: Org = None, as_json: Json = False
) -> None:
    """Take a key back; it is refused within seconds."""
    from workers.cli.terminal import Terminal

    with gateway(org) as at:
        answer = at.revoke_key(key)
    if as_json:
        Terminal().json(answer)
    else:
        Terminal().say(f"{key}: revoked")
