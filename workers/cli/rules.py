"""`replique rules`: what the strategy would have done."""

from typing import Annotated, Any

import typer

from workers.cli.options import Json, Org, gateway

app = typer.Typer(no_args_is_help=True, help="The rules that steer replies: try them on replies of the past.")


@app.callback()
def _rules() -> None:
    """A single command would otherwise lose its name."""


@app.command("dry-run")
def dry_run(
    rule: Annotated[list[str] | None, typer.Option(help="A stored rule, also a disabled one. Default: all.")] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="FILE", help="A Rule that is not stored; - reads stdin.")
    ] = None,
    conversation: Annotated[str | None, typer.Option(help="Only replies of this conversation.")] = None,
    persona: Annotated[str | None, typer.Option(help="Only replies of this persona.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="The newest so many replies.")] = 50,
    org: Org = None,
    as_json: Json = False,
) -> None:
    """Which rules would have fired on replies of the past, and why or why not."""
    from workers.cli.terminal import Terminal

    body: dict[str, Any] = {"rules": rule or [], "limit": limit}
    body |= {"conversation": conversation, "persona": persona, "rule": _draft(file)}
    with gateway(org) as at:
        found = at.dry_run({name: value for name, value in body.items() if value is not None})
    terminal = Terminal()
    if as_json:
        return terminal.json(found)
    if terminal.console:  # in a pipe, lines of one kind only
        counts = [
            (r["rule"], "yes" if r["enabled"] else "", r["applied"], r["dropped"], r["not_matched"])
            for r in found["rules"]
        ]
        terminal.table(("rule", "enabled", "applied", "dropped", "not matched"), counts)
    rows = [
        (item["job"], item["conversation"], outcome["rule"], outcome["outcome"], outcome.get("reason") or "")
        for item in found["items"]
        for outcome in item["rules"]
    ]
    if rows:
        terminal.table(("job", "conversation", "rule", "outcome", "why"), rows)
    for warning in found["warnings"]:
        terminal.warn(warning)
    return None


def _draft(path: str | None) -> dict[str, Any] | None:
    from workers.cli import manifest

    if path is None:
        return None
    documents = manifest.read(path)
    if len(documents) != 1:
        raise manifest.FileRefused(f"{path} holds {len(documents)} documents; a dry run tries one Rule")
    return documents[0]
