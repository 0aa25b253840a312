"""SIGTERM and SIGINT as a flag that a main thread looks at."""

import os
import signal
import time
from types import FrameType


class Stop:
    """A plain flag, no Event: its lock could be held by the very thread that the signal interrupts.

    `parent`: the process whose death is a stop too, for one that must not outlive it.
    """

    def __init__(self, parent: int | None = None) -> None:
        self._asked = False
        self._parent = parent

    @property
    def asked(self) -> bool:
        return self._asked or (self._parent is not None and os.getppid() != self._parent)

    def listen(self) -> "Stop":
        """Main thread only."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._hear)
        return self

    def wait(self, seconds: float) -> bool:
        """True once a stop was asked for; a signal does not cut the wait short."""
        if not self.asked:
            time.sleep(seconds)
        return self.asked

    def ask(self) -> None:
        self._asked = True

    def _hear(self, _number: int, _frame: FrameType | None) -> None:
        self.ask()
