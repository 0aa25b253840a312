"""`replique bubbles`: change or drop one of a reply that waits."""

from typing import Annotated, Any

import typer

from workers.cli.options import Json, Org, gateway

app = typer.Typer(no_args_is_help=True, help="The bubbles of a reply that waits: rewrite, move, drop.")
Bubble = Annotated[str, typer.Argument(metavar="BUBBLE", help="e.g. bub_14, as `replique jobs show` names it")]


@app.command()
def edit(
    bubble: Bubble,
    text: Annotated[str | None, typer.Option(help="What the contact will read instead.")] = None,
    price: Annotated[str | None, typer.Option(metavar="AMOUNT", help="Of an offer, as 12.50.")] = None,
    currency: Annotated[str | None, typer.Option(metavar="CODE", help="As EUR; with --price.")] = None,
    place: Annotated[int | None, typer.Option(min=0, max=1000, help="Where it moves to; 0 is the first.")] = None,
    version: Annotated[int | None, typer.Option(min=0, help="The one you have seen; refused when it changed.")] = None,
    org: Org = None,
    as_json: Json = False,
) -> None:
    """Change its words, price or place. The countdown goes on: stop it with `replique jobs hold`."""
    from workers.cli.failures import AskedWrongly
    from workers.cli.terminal import Terminal

    if (price is None) != (currency is None):
        raise AskedWrongly("--price and --currency belong together")
    changes: dict[str, Any] = {"text": text, "ordinal": place, "version": version}
    changes["price"] = None if price is None else {"amount": price, "currency": currency}
    wanted = {name: value for name, value in changes.items() if value is not None}
    if not wanted.keys() - {"version"}:
        raise AskedWrongly("nothing to change: give --text, --price or --place")
    with gateway(org) as at:
        changed = at.edit(bubble, wanted)
    if as_json:
        return Terminal().json(changed)
    return Terminal().say(f"{bubble}: #{changed['ordinal']} [{changed['kind']}] {changed['text']}")


@app.command()
def drop(bubble: Bubble, org: Org = None, as_json: Json = False) -> None:
    """Drop one bubble; dropping the last ends the reply."""
    from workers.cli.terminal import Terminal

    with gateway(org) as at:
        dropped = at.drop(bubble)
    if as_json:
        return Terminal().json(dropped)
    return Terminal().say(f"{bubble}: dropped")
