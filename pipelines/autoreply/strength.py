"""Whether a run's reply is written by the usual or by the stronger route, decided as it begins."""

from collections.abc import Sequence
from itertools import dropwhile, takewhile

from pipelines.agent.trace import Trace
from pipelines.llm.routing import LOOKED_AT, Taken, Whom, take
from schemas.agent import Resume
from schemas.conversation import Author, BubbleKind, Case, Turn
from schemas.llm import WRITES, Task


def taken(task: Task, case: Case, whom: Whom, resume: Resume, share: float) -> Taken:
    """A run that was left off goes on as it began, whatever was set or said since. `task` is the usual one."""
    if resume.steps and resume.steps[0].task in WRITES and task in WRITES:
        return Taken(resume.steps[0].task)
    return take(task, whom, case.effort, proposed=proposed(case.turns), share=share)


def proposed(turns: Sequence[Turn]) -> bool:
    """What we said last has asked for money."""
    newest_first = dropwhile(lambda turn: turn.author is Author.CONTACT, reversed(turns))
    last = takewhile(lambda turn: turn.author is not Author.CONTACT, newest_first)
    return any(turn.kind is BubbleKind.PAYMENT for turn in last)


def note(chosen: Taken, case: Case, trace: Trace) -> None:
    """A reader of the trace expects the usual route."""
    if chosen.why is None or case.effort is None:
        return
    said = "the stronger route is kept back: its share is used up" if chosen.kept_back else "the stronger route writes"
    seen = f"{case.effort.strong} of the newest {LOOKED_AT} answers"
    trace.note(said, why=chosen.why.value, task=chosen.task.value, strong=seen)
