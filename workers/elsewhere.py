"""What a process has in place of what it does not do: its queues are other processes'."""

from pipelines.memory.asking import Reserve
from pipelines.ports import Keep
from schemas.agent import Resume
from schemas.claims import Preparing
from schemas.conversation import Case
from schemas.decisions import Decision
from schemas.lessons import Learnt, Lesson, NotLearnt
from schemas.payments import Link, Order
from schemas.speech import Recording
from schemas.summaries import Folding, Summed


class NoLinks:
    """A process that only thinks: it never sells."""

    async def make(self, order: Order) -> Link:
        raise RuntimeError("this process does not take the send queue")


class NoExpiry:
    """A process that does not work in the background."""

    async def expire(self, session: str) -> None:
        raise RuntimeError("this process does not take the background queue")


class NoLearning:
    """A process that does not work in the background."""

    async def run(self, lesson: Lesson, reserve: Reserve) -> Learnt | NotLearnt:
        raise RuntimeError("this process does not take the background queue")


class NoSumming:
    """A process that does not work in the background."""

    async def run(self, folding: Folding, reserve: Reserve) -> Summed | NotLearnt:
        raise RuntimeError("this process does not take the background queue")


class NoReplies:
    """A process that only sends: it never thinks, and does not load what thinking needs."""

    async def run(self, case: Case, resume: Resume, keep: Keep) -> Decision:
        raise RuntimeError("this process does not take the reply queue")


class NoRecordings:
    """A process that only thinks: it never speaks."""

    async def of(self, bubble: Preparing) -> Recording:
        raise RuntimeError("this process does not take the send queue")
