"""`replique dead`: what was given up, and giving it a second chance or none."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workers.cli.options import Json, Org, gateway

if TYPE_CHECKING:
    from workers.cli.client import Gateway

app = typer.Typer(no_args_is_help=True, help="What was given up: list, show, retry, purge.")
Letter = Annotated[str, typer.Argument(metavar="LETTER", help="e.g. dead_3")]
Letters = Annotated[list[str] | None, typer.Argument(metavar="[LETTER]…", help="e.g. dead_3; or a filter.")]
Source = Annotated[str | None, typer.Option(help="job, delivery or queue")]
CodeOption = Annotated[str | None, typer.Option("--code", help="e.g. AR-560")]
Job = Annotated[str | None, typer.Option(help="Only those of one job.")]
Conversation = Annotated[str | None, typer.Option(help="Only those of one conversation.")]
Since = Annotated[str | None, typer.Option(help="Last seen then or later: 2026-11-30T10:00:00+01:00")]
Until = Annotated[str | None, typer.Option(help="Last seen before.")]
All = Annotated[bool, typer.Option("--all", help="Every open one.")]
COLUMNS = ("id", "source", "code", "job", "attempts", "last_seen", "error")
ABOUT = ("organization", "job", "code", "error", "attempts", "first_seen", "last_seen")


@app.command("list")
def list_letters(
    state: Annotated[str, typer.Option(help="open, retried or purged")] = "open",
    source: Source = None,
    code: CodeOption = None,
    job: Job = None,
    conversation: Conversation = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    org: Org = None,
    as_json: Json = False,
) -> None:
    """Newest first, one page: those that wait for a decision."""
    from workers.cli.terminal import Terminal

    wanted = _wanted(source, code, job, conversation, since, until)
    with gateway(org) as at:
        page = at.dead_letters(state=state, limit=limit, cursor=cursor, **wanted)
    terminal = Terminal()
    if as_json:
        return terminal.json(page)
    terminal.table(COLUMNS, [[letter.get(column) for column in COLUMNS] for letter in page["items"]])
    if page.get("next") and terminal.console:
        terminal.say(f"more with --cursor {page['next']}", "dim")
    return None


@app.command()
def show(letter: Letter, org: Org = None, as_json: Json = False) -> None:
    """One of them: its last error, what it holds, and what its job's runs did."""
    from workers.cli.terminal import Terminal

    with gateway(org) as at:
        found = at.dead_letter(letter)
    terminal = Terminal()
    if as_json:
        return terminal.json(found)
    terminal.say(f"{found['id']}  {found['source']}  {found['state']}", "bold")
    about = [(name, found.get(name)) for name in ABOUT]
    for name, value in [*about, *found["payload"].items()]:
        if value is not None:
            terminal.say(f"  {name.replace('_', ' ')}: {value}")
    for item in found["trace"]:
        terminal.say(_outline(item), "dim")
    return None


@app.command()
def retry(
    letters: Letters = None,
    source: Source = None,
    code: CodeOption = None,
    job: Job = None,
    conversation: Conversation = None,
    since: Since = None,
    until: Until = None,
    everything: All = False,
    org: Org = None,
    as_json: Json = False,
) -> None:
    """Try again: run or deliver the job again, send the webhook again, put the message back on its queue."""
    wanted = _wanted(source, code, job, conversation, since, until)
    with gateway(org) as at:
        if letters:
            _each(letters, wanted, everything, at.retry_dead, "tried again", as_json)
        else:
            _bulk(at, at.retry_all_dead, "retried", wanted, everything, as_json)


@app.command()
def purge(
    letters: Letters = None,
    source: Source = None,
    code: CodeOption = None,
    job: Job = None,
    conversation: Conversation = None,
    since: Since = None,
    until: Until = None,
    everything: All = False,
    org: Org = None,
    as_json: Json = False,
) -> None:
    """Throw away for good; that they were, and who threw them away, stays. Their jobs stay as they are."""
    wanted = _wanted(source, code, job, conversation, since, until)
    with gateway(org) as at:
        if letters:
            _each(letters, wanted, everything, at.purge_dead, "purged", as_json)
        else:
            _bulk(at, at.purge_all_dead, "purged", wanted, everything, as_json)


def _wanted(*values: str | None) -> dict[str, str | int | None]:
    """The filter, in the order of the options."""
    return dict(zip(("source", "code", "job", "conversation", "since", "until"), values, strict=True))


def _outline(item: dict[str, Any]) -> str:
    """`tool send_text, refused`: what was said stands in the job's own trace."""
    ended = item.get("stop") or item.get("failure") or ("refused" if item.get("refused") else None)
    named = item.get("model") or item.get("tool") or item.get("code")
    what = " ".join(str(part) for part in (item.get("kind"), named) if part)
    return f"  {what}, {ended}" if ended else f"  {what}"


def _each(
    letters: list[str],
    wanted: dict[str, Any],
    everything: bool,
    do: Callable[[str], dict[str, Any]],
    done: str,
    as_json: bool,
) -> None:
    from workers.cli.failures import AskedWrongly
    from workers.cli.terminal import Terminal

    if everything or any(wanted.values()):
        raise AskedWrongly("name letters or give a filter, not both")
    terminal = Terminal()
    answers = []
    for letter in letters:
        answers.append(do(letter))
        if not as_json:
            terminal.say(f"{letter}: {done}")
    if as_json:
        terminal.json(answers[0] if len(answers) == 1 else answers)


def _bulk(
    at: "Gateway",
    do: Callable[..., dict[str, Any]],
    verb: str,
    wanted: dict[str, Any],
    everything: bool,
    as_json: bool,
) -> None:
    """Page after page until there is none. Fails when something came too late, after all has been tried."""
    from workers.cli.failures import AskedWrongly, CommandFailed
    from workers.cli.terminal import Terminal

    if not everything and not any(wanted.values()):
        raise AskedWrongly("which ones? Name letters, give a filter, or --all")
    done: list[str] = []
    refused: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = do(cursor=cursor, **wanted, **({"all": "true"} if everything else {}))
        done += page[verb]
        refused += page.get("refused") or []
        if (cursor := page.get("next")) is None:
            break
    terminal = Terminal()
    if as_json:
        terminal.json({verb: done, "refused": refused})
    else:
        terminal.say(f"{len(done)} {verb}{f', {len(refused)} could not be' if refused else ''}")
        terminal.table(("letter", "why"), [(late["id"], f"{late['code']} {late['detail']}") for late in refused])
    if refused:
        raise CommandFailed(f"{len(refused)} of {len(done) + len(refused)} came too late or cannot be tried again")
