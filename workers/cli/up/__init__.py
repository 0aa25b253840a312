"""`replique up`: everything on this machine, kept alive until it is told to stop."""

import asyncio
import os
from pathlib import Path

from workers.cli.client import Gateway
from workers.cli.connection import HOME
from workers.cli.invocation import command
from workers.cli.terminal import SIMULATED, Terminal
from workers.cli.up.first_use import EXAMPLE, EXAMPLE_SENTENCE, has_organization
from workers.cli.up.folder import Folder
from workers.cli.up.installation import Installation, await_ready, installation, watch
from workers.cli.up.programs import Address

SIMULATOR_SENTENCE = (
    f"{SIMULATED} There is no ANTHROPIC_API_KEY and no OPENAI_API_KEY: set one and start again for real replies."
)


def up(port: int, home: Path = HOME) -> None:
    """Returns after SIGTERM or SIGINT, when all is stopped. Raises CommandFailed, EmbeddedServerError."""
    terminal = Terminal()
    address = Address("127.0.0.1", port)
    with Folder(home) as folder, installation(folder, address, os.environ, terminal.say) as found:
        if await_ready(found):
            _welcome(found, terminal)
            watch(found)
        terminal.say("stopping: work in hand is finished or given back", "dim")
    terminal.say("stopped")


def _welcome(found: Installation, terminal: Terminal) -> None:
    if not asyncio.run(has_organization(found.wiring.database_url, found.settings)):
        with Gateway(found.connection, "demo") as gateway:
            gateway.apply(EXAMPLE)
        terminal.say(EXAMPLE_SENTENCE, "green")
    if found.simulated:
        terminal.say(SIMULATOR_SENTENCE, "bold yellow")
    own = ", ".join(found.own_servers) or "none of its own: DATABASE_URL and REDIS_URL are used"
    rows = [
        ("API", f"{found.connection.url}   (described at /openapi.json, metrics at /metrics)"),
        ("console", f"{found.connection.url}/console   (sign in with the key; `replique users add` lets people in)"),
        ("key", f"{found.connection.key}   (admin; kept in {found.folder.path}/connection.json)"),
        ("servers", own),
        ("logs", str(found.folder.logs)),
        ("try", f'{command()} send "coucou, tu fais quoi ?" --persona maya --contact leo --org demo --follow'),
        ("stop", "Ctrl-C"),
    ]
    terminal.table(("ready", ""), rows)
