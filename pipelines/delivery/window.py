"""How a finished reply waits: for a person, through a window, or not at all."""

from dataclasses import dataclass

from schemas.resources import PersonaSpec
from schemas.strategy import Resolved


@dataclass(frozen=True, slots=True)
class Wait:
    """`draft`: until a person sends it; else `seconds`. `by_rule`: the strategy said so, not the persona."""

    draft: bool
    seconds: float
    by_rule: bool = False


def wait(persona: PersonaSpec, strategy: Resolved) -> Wait:
    """A rule's word comes before the persona's. A window that a rule names is kept also where there would be none."""
    autonomy = strategy.autonomy or persona.autonomy
    by_rule = strategy.autonomy is not None or strategy.window is not None
    own = 0.0 if autonomy == "auto" else persona.control_window_seconds
    return Wait(autonomy == "draft", own if strategy.window is None else strategy.window, by_rule)
