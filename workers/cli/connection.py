"""Which gateway the command line talks to, and as whom."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from schemas.settings import Settings
from workers.cli.failures import NotConnected

HOME = Path(".replique")
"""Where `replique up` keeps everything, in the folder it is started in."""

NO_GATEWAY = (
    "no gateway is known: set REPLIQUE_URL and REPLIQUE_KEY, or run this where `replique up` runs "
    "(it keeps both in ./.replique/connection.json)"
)


@dataclass(frozen=True)
class Connection:
    """`key` never appears in a repr."""

    url: str
    key: str

    def __repr__(self) -> str:
        return f"Connection({self.url!r})"


def find(settings: Settings, home: Path = HOME) -> Connection:
    """The environment's first, then what `up` left in this folder. Raises NotConnected."""
    kept = read(home)
    key = settings.key.get_secret_value() if settings.key else None
    if settings.url and key:
        return Connection(settings.url.rstrip("/"), key)
    if settings.url or key:
        missing = "REPLIQUE_KEY" if settings.url else "REPLIQUE_URL"
        raise NotConnected(f"{missing} is not set: the address and the key of a gateway belong together")
    if kept is None:
        raise NotConnected(NO_GATEWAY)
    return kept


def read(home: Path) -> Connection | None:
    """What `up` wrote; None when there is nothing, or nothing that can be read."""
    try:
        kept = json.loads((home / "connection.json").read_text())
        return Connection(str(kept["url"]), str(kept["key"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write(home: Path, connection: Connection) -> None:
    """Readable by its owner from the first byte on, and never half written."""
    draft = home / "connection.json.new"
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump({"url": connection.url, "key": connection.key}, file)
        file.write("\n")
    draft.replace(home / "connection.json")
