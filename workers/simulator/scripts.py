"""What a test makes the model say: scripts of turns, picked by the text of the request."""

import itertools
import json
from dataclasses import dataclass, field
from typing import Any

from workers.simulator.faults import Fault
from workers.simulator.fields import optional, refuse_unknown, text_or_none

TURN_FIELDS = frozenset({"text", "calls", "stop", "json", "fault", "delay", "raw"})
SCRIPT_FIELDS = frozenset({"match", "task", "turns", "repeat"})


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the model. `calls` are `{"name", "input"}`; `raw` replaces all; `delay` in seconds."""

    text: str | None = None
    calls: tuple[dict[str, Any], ...] = ()
    stop: str | None = None
    raw: tuple[dict[str, Any], ...] | None = None
    fault: Fault | None = None
    delay: float = 0.0

    @classmethod
    def of(cls, fields: dict[str, Any]) -> "Turn":
        """ValueError if a field does not fit."""
        refuse_unknown(fields, TURN_FIELDS)
        raw = optional(fields, "raw", list, None)
        text = text_or_none(fields, "text")
        if fields.get("json") is not None:
            given = fields["json"]
            text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        return cls(
            text=text,
            calls=tuple(_call(call) for call in optional(fields, "calls", list, [])),
            stop=text_or_none(fields, "stop"),
            raw=None if raw is None else tuple(raw),
            fault=None if fields.get("fault") is None else Fault.of(fields["fault"]),
            delay=optional(fields, "delay", float, 0.0),
        )


def _call(fields: Any) -> dict[str, Any]:
    if not isinstance(fields, dict) or not isinstance(fields.get("name"), str):
        raise ValueError('calls: each is {"name": …, "input": {…}}')
    refuse_unknown(fields, frozenset({"name", "input"}))
    return {"name": fields["name"], "input": fields.get("input", {})}


_numbers = itertools.count(1)


@dataclass(slots=True)
class Script:
    """Turns in order, for requests whose text holds `match`; with `repeat` they start over."""

    turns: tuple[Turn, ...]
    match: str | None = None
    task: str | None = None
    repeat: bool = False
    used: int = 0
    id: int = field(default_factory=lambda: next(_numbers))

    @classmethod
    def of(cls, fields: dict[str, Any]) -> "Script":
        """ValueError if a field does not fit."""
        refuse_unknown(fields, SCRIPT_FIELDS)
        turns = optional(fields, "turns", list, [])
        if not turns:
            raise ValueError("turns: a script needs at least one")
        repeat = optional(fields, "repeat", bool, False)
        return cls(
            tuple(Turn.of(turn) for turn in turns),
            text_or_none(fields, "match"),
            text_or_none(fields, "task"),
            repeat,
        )

    @property
    def next_turn(self) -> Turn | None:
        if self.repeat:
            return self.turns[self.used % len(self.turns)]
        return self.turns[self.used] if self.used < len(self.turns) else None

    def fits(self, task: str, text: str) -> bool:
        if self.task is not None and self.task != task:
            return False
        # Quotes and line breaks are escaped in the request's text; a test writes them plainly.
        return self.match is None or self.match in text or json.dumps(self.match, ensure_ascii=False)[1:-1] in text


class Scripts:
    """The newest script that fits and has turns left answers."""

    def __init__(self) -> None:
        self._scripts: list[Script] = []

    def clear(self) -> None:
        self._scripts.clear()

    def add(self, script: Script) -> None:
        self._scripts.append(script)

    def find(self, task: str, text: str) -> Script | None:
        return next((s for s in reversed(self._scripts) if s.next_turn is not None and s.fits(task, text)), None)

    def left(self) -> int:
        """Turns not yet given by scripts that do not repeat."""
        return sum(len(script.turns) - script.used for script in self._scripts if not script.repeat)
