"""Which processes an installation on one machine is made of, and what each is told."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipelines.llm.models import callable_providers
from schemas.settings import Settings
from workers.runtime.supervise import Program

SIMULATED = "REPLIQUE_SIMULATOR"


@dataclass(frozen=True)
class Address:
    host: str
    port: int

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"


@dataclass(frozen=True)
class Wiring:
    """What the processes of one installation share. `simulator` None: a real provider answers."""

    database_url: str
    redis_url: str
    gateway: Address
    key: str
    simulator: Address | None
    files: Path
    """The folder of the file store, unless STORAGE_URL names another."""


def needs_simulator(settings: Settings) -> bool:
    """No provider's key, and no other address to send requests to."""
    return not callable_providers(settings)


def shared_environment(environ: Mapping[str, str], wiring: Wiring) -> dict[str, str]:
    """What the shell has, and over it what this installation decides."""
    decided = {
        "DATABASE_URL": wiring.database_url,
        "REDIS_URL": wiring.redis_url,
        "REPLIQUE_BOOTSTRAP_KEY": wiring.key,
        "REPLIQUE_ALLOW_PRIVATE_URLS": "true",
    }
    if wiring.simulator:
        decided |= {
            "ANTHROPIC_BASE_URL": wiring.simulator.url,
            "ANTHROPIC_API_KEY": "the-simulator-takes-any-key",
            # No key: the embeddings stay the built-in model's.
            "OPENAI_BASE_URL": f"{wiring.simulator.url}/v1",
            SIMULATED: "true",
        }
    return {"PUBLIC_URL": wiring.gateway.url, "STORAGE_URL": str(wiring.files), **environ, **decided}


def programs(environ: Mapping[str, str], wiring: Wiring) -> list[Program]:
    """In the order they start. Thinking and sending never wait for each other."""
    shared = shared_environment(environ, wiring)
    at = wiring.gateway
    found = [
        Program("gateway", _replique("gateway", "--host", at.host, "--port", str(at.port)), shared),
        Program("clock", _replique("clock"), shared),
        # two, so that one thinks on while the other is put back by a fork, in no time
        Program("worker-reply", _replique("worker", "--queues", "reply,background", "--processes", "2"), shared),
        Program("worker-send", _replique("worker", "--queues", "send"), shared),
    ]
    if (model := wiring.simulator) is None:
        return found
    command = _replique("simulator", "--host", model.host, "--port", str(model.port))
    return [Program("simulator", command, dict(environ), leaves_last=True), *found]


def _replique(*arguments: str) -> tuple[str, ...]:
    """`-P`: a folder called `workers` where the user stands is not ours."""
    return (sys.executable, "-P", "-m", "workers.cli", *arguments)
