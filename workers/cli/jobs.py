"""`replique jobs`: what the system works on, and steering it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from workers.cli.options import Json, Org, gateway

if TYPE_CHECKING:
    from schemas.http import JobOut
    from workers.cli.terminal import Terminal

app = typer.Typer(no_args_is_help=True, help="What the system works on: list, show, steer.")
JobId = Annotated[str, typer.Argument(metavar="JOB", help="e.g. job_42")]
COLUMNS = ("id", "conversation", "trigger", "state", "code", "reason", "attention", "due_at", "created_at")


@app.command("list")
def list_jobs(
    state: Annotated[str | None, typer.Option(help="queued, running, held, sending, sent, silent, failed, …")] = None,
    code: Annotated[str | None, typer.Option(help="e.g. AR-520")] = None,
    attention: Annotated[bool | None, typer.Option(help="Only those a person must look at, or the others.")] = None,
    conversation: Annotated[str | None, typer.Option(help="Only those of one conversation.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    org: Org = None,
    as_json: Json = False,
) -> None:
    """Newest first, one page."""
    from workers.cli.terminal import SIMULATED, Terminal

    wanted = None if attention is None else str(attention).lower()
    with gateway(org) as at:
        page = at.jobs(state=state, code=code, attention=wanted, conversation=conversation, limit=limit, cursor=cursor)
    terminal = Terminal()
    if as_json:
        return terminal.json(page)
    if any(job.get("simulated") for job in page["items"]):
        terminal.warn(SIMULATED)
    terminal.table(COLUMNS, [[_cell(_told(job, column)) for column in COLUMNS] for job in page["items"]])
    if page.get("next") and terminal.console:
        terminal.say(f"more with --cursor {page['next']}", "dim")
    return None


def _told(job: dict[str, Any], column: str) -> Any:
    return "held, on hold" if column == "state" and job.get("on_hold") and job["state"] == "held" else job.get(column)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return "" if value is None else str(value)


@app.command()
def show(job: JobId, org: Org = None, as_json: Json = False) -> None:
    """One job with its trace, bubbles, events and cost."""
    from schemas.http import JobOut
    from workers.cli.terminal import Terminal

    with gateway(org) as at:
        found = at.job(job)
    terminal = Terminal()
    if as_json:
        terminal.json(found)
    else:
        _page(terminal, JobOut.model_validate(found))


def _page(terminal: "Terminal", job: "JobOut") -> None:
    from pipelines.text.counting import counted
    from workers.cli.story import cost, told_by_runs, worded
    from workers.cli.terminal import SIMULATED

    if job.simulated:
        terminal.warn(SIMULATED)
    because = " ".join(filter(None, [job.code, job.reason]))
    state = _told({"state": job.state.value, "on_hold": job.on_hold}, "state")
    terminal.say(f"{job.id}  {state}{f'  {because}' if because else ''}{'  ATTENTION' * job.attention}", "bold")
    attempts = counted(job.attempts, "attempt")
    terminal.say(f"conversation {job.conversation}, {job.trigger}, engine {job.engine}, {attempts}")
    for line in told_by_runs(job.trace):
        terminal.say(line.text, line.style)
    rows = [(c.id, c.ordinal, c.kind, c.state, worded(c), c.due_at, c.reason) for c in job.candidates]
    if rows:
        terminal.table(("bubble", "#", "kind", "state", "text", "due", "reason"), rows)
    for event in job.events:
        terminal.say(_event(event), "dim")
    terminal.say(cost(job.usage))


def _event(event: dict[str, Any]) -> str:
    """`10:00:01 worker: queued to running, claimed`"""
    facts = "".join(f" {name}={value}" for name, value in (event.get("facts") or {}).items())
    came_from = f"{event['from']} to " if event.get("from") else ""
    return f"{str(event.get('at'))[11:19]} {event.get('who')}: {came_from}{event.get('to')}, {event.get('why')}{facts}"


@app.command()
def approve(job: JobId, org: Org = None, as_json: Json = False) -> None:
    """Send a held reply now."""
    _steer(job, "approve", "leaves now", org, as_json)


@app.command()
def hold(job: JobId, org: Org = None, as_json: Json = False) -> None:
    """Stop the countdown of a reply, or what is left of it."""
    _steer(job, "hold", "on hold", org, as_json)


@app.command()
def release(job: JobId, org: Org = None, as_json: Json = False) -> None:
    """Let a reply on hold go on."""
    _steer(job, "release", "runs again", org, as_json)


@app.command()
def retry(job: JobId, org: Org = None, as_json: Json = False) -> None:
    """Run a failed, cancelled or silent job again, or deliver again what was given up."""
    _steer(job, "retry", "runs again", org, as_json)


@app.command()
def regenerate(
    job: JobId,
    instruction: Annotated[str | None, typer.Option(help="What the next draft should mind.")] = None,
    org: Org = None,
    as_json: Json = False,
) -> None:
    """Have a reply drafted again."""
    _steer(job, "regenerate", "is drafted again", org, as_json, {"instruction": instruction} if instruction else {})


def _steer(job: str, verb: str, done: str, org: str | None, as_json: bool, body: Any = None) -> None:
    from workers.cli.terminal import Terminal

    with gateway(org) as at:
        answer = at.steer(job, verb, body)
    terminal = Terminal()
    if as_json:
        terminal.json(answer)
    else:
        terminal.say(f"{job}: {done}")


@app.command()
def cancel(job: JobId, org: Org = None, as_json: Json = False) -> None:
    """Drop a reply; what has left stays sent."""
    from workers.cli.terminal import Terminal

    with gateway(org) as at:
        answer = at.steer(job, "cancel")
    terminal = Terminal()
    if as_json:
        return terminal.json(answer)
    terminal.say(f"{job}: cancelled")
    terminal.table(("bubble", "state"), [(c.get("id"), c.get("state")) for c in answer.get("candidates") or []])
    return None


@app.command()
def dismiss(
    job: JobId,
    reason: Annotated[str, typer.Option(help="Why nothing more is to be done; kept in the job's events.")],
    org: Org = None,
    as_json: Json = False,
) -> None:
    """Take a job off the attention list."""
    from workers.cli.terminal import Terminal

    with gateway(org) as at:
        answer = at.dismiss(job, reason)
    if as_json:
        return Terminal().json(answer)
    return Terminal().say(f"{job}: off the attention list")
