"""What `GET /v1/queues` answers."""

from datetime import datetime

from schemas.answers import Page
from schemas.http import Body


class QueueOut(Body):
    """`depth`: rows that wait, due or not yet. `due`: those whose time has come. `in_flight`: handed to workers."""

    queue: str
    depth: int
    due: int
    in_flight: int
    oldest_due_at: datetime | None
    oldest_due_seconds: float


class QueuesOut(Page[QueueOut]):
    """`simulated`: a simulator plays the models that these rows wait for."""

    simulated: bool = False
