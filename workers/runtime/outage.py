"""Say once that something went away, and once that it came back."""

import time
from typing import Any


class Outage:
    """The state of one server as its user sees it. `facts` go on every line."""

    def __init__(self, log: Any, server: str, **facts: object) -> None:
        self._log = log
        self._server = server
        self._facts = facts
        self._since: float | None = None

    @property
    def lasting(self) -> bool:
        return self._since is not None

    def began(self, error: Exception) -> None:
        if self._since is None:
            self._since = time.monotonic()
            self._log.warning(f"{self._server}_away", error=type(error).__name__, **self._facts)

    def ended(self) -> None:
        if self._since is not None:
            seconds = round(time.monotonic() - self._since, 1)
            self._since = None
            self._log.info(f"{self._server}_back", seconds=seconds, **self._facts)
