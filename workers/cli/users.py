"""`replique users`: who may sign in to the console."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from workers.cli.options import Cursor, Json, Limit, Org, gateway

if TYPE_CHECKING:
    from workers.cli.terminal import Terminal

app = typer.Typer(no_args_is_help=True, help="Who may sign in to the console: add, link, list, disable.")
COLUMNS = ("id", "name", "email", "role", "organization", "has_password", "disabled_at")
User = Annotated[str, typer.Argument(metavar="USER", help="Their address or name, or e.g. user_3")]


@app.command()
def add(
    email: Annotated[str, typer.Argument(help="What they sign in with.")],
    name: Annotated[str, typer.Option(help="How others see them, e.g. anna.")],
    role: Annotated[str, typer.Option(help="operator, ops or admin")] = "operator",
    locale: Annotated[str, typer.Option(help="en or fr")] = "en",
    org: Org = None,
    as_json: Json = False,
) -> None:
    """Let somebody in. Their one-time link is shown this once; it sets their password."""
    from workers.cli.terminal import Terminal

    with gateway(org) as at:
        made = at.add_user({"email": email, "name": name, "role": role, "locale": locale})
    _tell(Terminal(), made, made["link"], as_json)


@app.command()
def link(user: User, org: Org = None, as_json: Json = False) -> None:
    """A new one-time link, for a forgotten password; earlier links are void."""
    from workers.cli.terminal import Terminal

    with gateway(org) as at:
        made = at.link_user(user)
    _tell(Terminal(), made, made, as_json)


@app.command("list")
def list_users(limit: Limit = 50, cursor: Cursor = None, org: Org = None, as_json: Json = False) -> None:
    """Who may sign in, the newest first."""
    from workers.cli.terminal import Terminal

    with gateway(org) as at:
        page = at.users(limit=limit, cursor=cursor)
    terminal = Terminal()
    if as_json:
        return terminal.json(page)
    terminal.table(COLUMNS, [[user.get(column) for column in COLUMNS] for user in page["items"]])
    if page.get("next") and terminal.console:
        terminal.say(f"more with --cursor {page['next']}", "dim")
    return None


@app.command()
def disable(user: User, org: Org = None, as_json: Json = False) -> None:
    """Sign somebody out, for good."""
    from workers.cli.terminal import Terminal

    with gateway(org) as at:
        answer = at.disable_user(user)
    if as_json:
        Terminal().json(answer)
    else:
        Terminal().say(f"{user}: disabled")


def _tell(terminal: "Terminal", answer: dict[str, Any], link: dict[str, Any], as_json: bool) -> None:
    if as_json:
        terminal.json(answer)
        return
    terminal.say(str(link["url"]))
    if terminal.console:
        terminal.say(f"{link['user']}: good once, until {link['expires_at']}", "dim")
