"""One machine's installation: servers, schema, processes; up while the block lasts."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2

from pipelines.llm.models import UnknownModel, routes_of
from schemas.settings import Settings, SettingsRefused, read_settings
from workers.cli.connection import Connection
from workers.cli.failures import AskedWrongly, DidNotStart
from workers.cli.ports import free_port, require_free
from workers.cli.schema import bring_up_to_date
from workers.cli.up.folder import Folder
from workers.cli.up.leases import release
from workers.cli.up.programs import Address, Wiring, needs_simulator, programs
from workers.runtime.embedded import Servers, servers
from workers.runtime.supervise import Child, Supervisor

READY_SECONDS = 90.0
FALSE_STARTS = 3
"""A process that died this often before the gateway was ready will not come up."""


@dataclass(frozen=True)
class Installation:
    wiring: Wiring
    connection: Connection
    supervisor: Supervisor
    folder: Folder
    settings: Settings
    own_servers: tuple[str, ...]

    @property
    def simulated(self) -> bool:
        return self.wiring.simulator is not None


@contextmanager
def installation(
    folder: Folder, gateway: Address, environ: Mapping[str, str], say: Callable[[str], None]
) -> Iterator[Installation]:
    """Start everything, without waiting until it is ready; stop it in order at the end.

    `folder` is claimed by the caller; `environ` configures the processes. Raises PortTaken, DatabaseAway,
    EmbeddedServerError, SettingsRefused.
    """
    settings = read_settings(environ)
    refuse_unknown_models(settings)
    require_free(gateway.host, gateway.port)
    say("starting; the first time takes a few seconds longer")
    with servers(folder.path, **_given(settings)) as running:
        bring_up_to_date(running.database_url)
        wiring = _wiring(folder, gateway, settings, running)
        supervisor = Supervisor(
            programs(environ, wiring),
            folder.logs,
            release=lambda instance: _release(running.database_url, settings, instance, say),
            report=say,
            revive=running.revive,
            grace_seconds=settings.queue.drain_seconds + 5,
        )
        connection = Connection(gateway.url, wiring.key)
        folder.keep(connection)
        supervisor.listen()
        try:
            supervisor.start()
            own = tuple(server.program for server in running.own)
            yield Installation(wiring, connection, supervisor, folder, settings, own)
        finally:
            supervisor.stop()


def refuse_unknown_models(settings: Settings) -> None:
    """Before anything starts, instead of in the first worker that would ask one. Raises SettingsRefused."""
    try:
        routes_of(settings)
    except UnknownModel as error:
        raise SettingsRefused(str(error)) from None


def _given(settings: Settings) -> dict[str, str | None]:
    named = {"database_url": settings.database_url, "redis_url": settings.redis_url}
    return {name: secret.get_secret_value() if secret else None for name, secret in named.items()}


def _wiring(folder: Folder, gateway: Address, settings: Settings, running: Servers) -> Wiring:
    given = settings.bootstrap_key.get_secret_value() if settings.bootstrap_key else None
    simulator = Address(gateway.host, free_port(gateway.host)) if needs_simulator(settings) else None
    return Wiring(running.database_url, running.redis_url, gateway, folder.key(given), simulator, folder.files)


def _release(database_url: str, settings: Settings, instance: str, say: Callable[[str], None]) -> None:
    freed = release(database_url, settings, instance)
    if freed is None:
        say(f"the database does not answer: what {instance} had in hand waits until its leases are over")
    elif freed:
        say(f"{freed} in hand of {instance} given back at once")


def await_ready(found: Installation) -> bool:
    """Look after the processes until the gateway is ready; False when asked to stop meanwhile. Raises DidNotStart."""
    end = time.monotonic() + READY_SECONDS

    def ready() -> bool:
        for child in found.supervisor.children:
            if child.young_deaths >= FALSE_STARTS or _refused(child):
                raise _never_starts(child)
        if time.monotonic() > end:
            raise DidNotStart(_slow(found.supervisor.child("gateway")))
        return _ready(found.connection.url)

    found.supervisor.run(ready)
    return not found.supervisor.asked_to_stop


def watch(found: Installation) -> None:
    """Look after the processes until asked to stop. Raises DidNotStart: one refuses its settings, and always will."""
    children = found.supervisor.children
    found.supervisor.run(lambda: any(map(_refused, children)))
    for child in children:
        if _refused(child):
            raise _never_starts(child)


def _refused(child: Child) -> bool:
    return child.last_code == AskedWrongly.exit_code


def _never_starts(child: Child) -> DidNotStart:
    return DidNotStart(f"{child.program.name} does not start. The end of its log:\n{child.last_lines()}")


def _slow(gateway: Child) -> str:
    return f"the gateway is not ready after {READY_SECONDS:.0f} s. The end of its log:\n{gateway.last_lines()}"


def _ready(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/readyz", timeout=2.0).status_code == httpx2.codes.OK
    except httpx2.HTTPError:
        return False
