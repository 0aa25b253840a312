"""The transitions with one rule broken: a copy of the adapter, edited, under a name of its own.

A suite that stays green on a mutant does not test the rule.
"""

import importlib
import sys
from pathlib import Path
from uuid import uuid4

import workers.adapters.postgres as original
from workers.adapters.postgres.transitions import Transitions

PACKAGE = original.__name__

Edit = tuple[str, str, str]
"""(module, what stands there exactly once, what stands there instead)."""

NO_SUCCESSOR: list[Edit] = [
    (
        "jobs",
        "    if conversation.inbound_seq <= covered or",
        "    if conversation.id > 0 or conversation.inbound_seq <= covered or",
    )
]
NO_ORDER: list[Edit] = [
    ("sends", "    if look.bubble_out:", "    if look.bubble_out is None:"),
    ("runs", "    if not look.due or look.bubble_out:", "    if not look.due:"),
]
NO_SPLIT: list[Edit] = [
    ("spoken", "    if why is None:\n        return False", "    if tx is not None:\n        return False"),
    (
        "spoken",
        "    return look if look is not None and look.job_fence == spoken.fence else None",
        "    return look",
    ),
]
"""A voice bubble counts as left once it was taken to be spoken: what happened meanwhile is not asked."""
PAID_AGAIN: list[Edit] = [
    ("payments", "    if moves(state, to):", "    if moves(state, to) or to is PaymentState.PAID:")
]
ERASED_ANYWAY: list[Edit] = [("sends", "    if look.erased:", "    if look.erased is None:")]
NO_LOCK: list[Edit] = [("locks", "FOR NO KEY UPDATE OF c", "")]


def mutant(folder: Path, edits: list[Edit]) -> type[Transitions]:
    """The class `Transitions` of an edited copy in `folder`."""
    name = f"mutant_{uuid4().hex}"
    home = folder / name
    home.mkdir()
    for source in Path(original.__path__[0]).glob("*.py"):
        (home / source.name).write_text(source.read_text().replace(PACKAGE, name))
    for module, old, new in edits:
        path = home / f"{module}.py"
        text = path.read_text()
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {module}.py"
        path.write_text(text.replace(old, new))
    sys.path.insert(0, str(folder))
    try:
        made: type[Transitions] = importlib.import_module(f"{name}.transitions").Transitions
    finally:
        sys.path.remove(str(folder))
    return made
