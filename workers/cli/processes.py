"""The long-running processes, one command each: what a deployment runs."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from schemas.jobs import Queue

Host = Annotated[str, typer.Option(help="Address to listen on.")]


def gateway(
    host: Host = "127.0.0.1", port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8080
) -> None:
    """Serve the HTTP API (needs DATABASE_URL; REDIS_URL speeds things up)."""
    from schemas.settings import read_settings
    from workers.cli.ports import require_free
    from workers.gateway.app import serve

    settings = read_settings()
    require_free(host, port)
    serve(settings, host, port)


def worker(
    queues: Annotated[str, typer.Option(help="Which queues, comma-separated.")] = "reply,send,background",
    processes: Annotated[int, typer.Option(min=1, max=64, help="Processes, restarted one by one when they die.")] = 1,
    threads: Annotated[int | None, typer.Option(min=1, max=1000, help="Jobs in hand at once, per process.")] = None,
) -> None:
    """Think and send: take work from the queues until SIGTERM, then finish what is in hand."""
    from schemas.settings import read_settings

    chosen = _queues(queues)
    settings = read_settings()
    from workers.main import run_worker

    raise typer.Exit(run_worker(settings, chosen, processes, threads or settings.worker.threads))


def _queues(text: str) -> "tuple[Queue, ...]":
    from schemas.jobs import Queue

    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in set(Queue)]
    if unknown or not names:
        known = ", ".join(Queue)
        raise typer.BadParameter(f"no such queue: {', '.join(unknown) or '(none given)'}; there are {known}")
    return tuple(dict.fromkeys(Queue(name) for name in names))


def clock() -> None:
    """Send out what is due. Any number may run; rows are claimed, never doubled."""
    from schemas.settings import read_settings
    from workers.clock import run_clock

    run_clock(read_settings())


def simulator(
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8090,
    latency: Annotated[float, typer.Option(min=0, max=60, help="Seconds before each answer.")] = 0.35,
) -> None:
    """Play the model provider on this machine: no key, no network, no model."""
    from workers.cli.ports import require_free
    from workers.simulator import serve

    require_free(host, port)
    serve(host, port, latency)


def migrate() -> None:
    """Bring the database of DATABASE_URL to the newest schema. Safe to run from several places at once."""
    from schemas.settings import read_settings
    from workers.cli.failures import AskedWrongly
    from workers.cli.schema import bring_up_to_date
    from workers.cli.terminal import Terminal

    url = read_settings().database_url
    if url is None:
        raise AskedWrongly("DATABASE_URL is not set: which database is to be migrated?")
    Terminal().say(f"the schema is at {bring_up_to_date(url.get_secret_value())}")
