"""Every command by name. Bodies import what they need."""

from typing import Annotated

import typer

from workers.cli import (
    bench,
    bubbles,
    conversations,
    cost,
    costs,
    dead,
    doctor,
    erase,
    explain,
    jobs,
    keys,
    processes,
    queues,
    rules,
    users,
)
from workers.cli.options import Json, Org, gateway

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Answers incoming conversations with LLM agents, on a job queue, under human control.",
)
Port = Annotated[int, typer.Option(min=1, max=65535, help="Where the gateway listens.")]


@app.command()
def up(port: Port = 8080) -> None:
    """Run everything on this machine; what it keeps lies in ./.replique."""
    from workers.cli.up import up

    up(port)


@app.command()
def demo(keep: Annotated[bool, typer.Option("--keep", help="Leave it running until Ctrl-C.")] = False) -> None:
    """Watch messages become replies: no key, no network, a minute and a half."""
    from workers.cli.demo import demo

    demo(keep)


@app.command()
def apply(
    file: Annotated[str, typer.Option("--file", "-f", metavar="FILE", help="YAML or JSON; - reads stdin.")],
    org: Org = None,
    as_json: Json = False,
) -> None:
    """Provision organisations and personas from a file: all of it, or nothing."""
    from workers.cli import manifest
    from workers.cli.terminal import Terminal

    documents = manifest.read(file)
    with gateway(org) as at:
        answer = at.apply(documents)
    terminal = Terminal()
    if as_json:
        return terminal.json(answer)
    rows = [(r.get("kind"), r.get("name"), r.get("result")) for r in answer["resources"]]
    return terminal.table(("kind", "name", "result"), rows)


@app.command()
def send(
    text: Annotated[str, typer.Argument(help="What the contact writes.")],
    persona: Annotated[str, typer.Option(help="Who is written to.")],
    contact: Annotated[str, typer.Option(help="Who writes.")],
    conversation: Annotated[str | None, typer.Option(help="Default: one of this persona and contact.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Show the run live, until delivered.")] = False,
    org: Org = None,
    as_json: Json = False,
) -> None:
    """Write a message as a contact would."""
    from workers.cli import send as sending
    from workers.cli.terminal import Terminal

    terminal = Terminal()
    with gateway(org) as at:
        taken = sending.post(at, text, persona, contact, conversation)
        if as_json:
            terminal.json(taken)
        else:
            terminal.say(f"{taken['message']}: {taken['job'] or 'no job'}{_because(taken)}")
        if follow and taken["job"]:
            sending.follow(at, taken["job"], terminal)


def _because(taken: dict[str, object]) -> str:
    return f" ({taken['reason']})" if taken.get("reason") else ""


app.command()(explain.explain)
app.command()(erase.erase)
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(bench.bench)
app.command()(queues.queues)
app.command()(costs.costs)
app.command()(doctor.doctor)
app.command()(processes.gateway)
app.command()(processes.worker)
app.command()(processes.clock)
app.command()(processes.simulator)
app.command()(processes.migrate)
app.add_typer(jobs.app, name="jobs")
app.add_typer(bubbles.app, name="bubbles")
app.add_typer(conversations.app, name="conversations")
app.add_typer(cost.app, name="cost")
app.add_typer(dead.app, name="dead")
app.add_typer(keys.app, name="keys")
app.add_typer(rules.app, name="rules")
app.add_typer(users.app, name="users")
