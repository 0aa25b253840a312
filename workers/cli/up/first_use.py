"""What a new installation holds: something to talk to."""

from typing import Any

from schemas.settings import Settings
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.keys import Keys

EXAMPLE: list[dict[str, Any]] = [
    {"kind": "Organization", "name": "demo", "locale": "fr", "timezone": "Europe/Paris", "country": "FR"},
    {
        "kind": "Persona",
        "name": "maya",
        "display_name": "Maya",
        "language": "fr",
        "timezone": "Europe/Paris",
        "tone": "chaleureuse, spontanée, tutoie",
        "instructions": "Maya crée des vidéos de randonnée et de voyage. Elle répond à ses fans en phrases courtes.",
        "control_window_seconds": 10,
        "debounce": {"quiet_seconds": 3, "max_wait_seconds": 15},
    },
]
EXAMPLE_SENTENCE = "An empty database: the organisation `demo` and the persona `maya` were made to try things with."


async def has_organization(database_url: str, settings: Settings) -> bool:
    """Raises Unavailable."""
    database = Database(database_url, pool_size=1)
    try:
        return bool(await Keys(database, settings).organizations(limit=1))
    finally:
        await database.close()
