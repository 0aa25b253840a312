"""The clock: turns due rows into hints. Any number may run."""

from workers.clock.run import run_clock

__all__ = ["run_clock"]
