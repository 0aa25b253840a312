"""Every way a job, a candidate or a delivery may change: one method per row of the table in docs/TRANSITIONS.md.

Each is one transaction. It locks the conversation first (`FOR NO KEY UPDATE`), then makes one guarded
`UPDATE … WHERE state = … AND fence = …`, then writes one `job_events` row. Lock order everywhere: conversation, job,
candidate, delivery. Times are the database's `clock_timestamp()`. Leaving a state clears `due_at`, `lease_until` and
`dispatched_at` and bumps the fence. No transition to a terminal state leaves the contact's newest message without a
live job or a reason on the conversation.

A database that is away, full or refuses connections raises `schemas.errors.Unavailable`.
"""

from collections.abc import Mapping, Sequence

from pipelines.ports import Courier
from schemas.agent import Kept, Step
from schemas.claims import CandidateState, Claim, Posted, Posting, Recorded
from schemas.decisions import Decision
from schemas.http import Ingested, MessageIn, MessagePatch
from schemas.ids import CandidateId, DeliveryId, JobId, OrgId
from schemas.jobs import AutoReply, DelayedSend, Deliver
from schemas.llm import Reservation
from schemas.settings import Settings
from workers.adapters.postgres.database import Database


class Transitions:
    """`instance` names this process on the leases it takes. `courier` is told after commit of what is due now."""

    def __init__(self, database: Database, settings: Settings, courier: Courier, instance: str) -> None:
        self._db = database
        self._settings = settings
        self._courier = courier
        self._instance = instance

    # ---------------------------------------------------------------- what contacts and upstream apps do

    async def ingest(self, org: OrgId, message: MessageIn) -> Ingested:
        """Rows 1 to 6, and 21 when an operator wrote. Raises Invalid (unknown persona, no contact), Conflict."""
        raise NotImplementedError

    async def edit_message(self, org: OrgId, name: str, patch: MessagePatch) -> Ingested:
        raise NotImplementedError

    async def delete_message(self, org: OrgId, name: str) -> Ingested:
        raise NotImplementedError

    # ---------------------------------------------------------------- what operators do (org None: any organisation)

    async def approve(self, org: OrgId | None, job: JobId, who: str) -> None:
        """Row 17. Raises NotFound, TooLate."""
        raise NotImplementedError

    async def cancel(self, org: OrgId | None, job: JobId, who: str) -> Mapping[CandidateId, CandidateState]:
        """Row 20. Answers every candidate's state. Raises NotFound, TooLate."""
        raise NotImplementedError

    async def takeover(self, org: OrgId, conversation: str, who: str) -> None:
        """Row 21. Raises NotFound, TooLate (with who took it)."""
        raise NotImplementedError

    async def resume(self, org: OrgId, conversation: str, who: str) -> JobId | None:
        """Row 22. The job made at once, if something waits for an answer. Raises NotFound, TooLate."""
        raise NotImplementedError

    # ---------------------------------------------------------------- what a reply worker does

    async def claim_run(self, hint: AutoReply) -> Claim | None:
        """Rows 7, 8 and 16. None: nothing to claim, or not yet (the hint goes back to the clock)."""
        raise NotImplementedError

    async def save_step(self, claim: Claim, step: Step | None, reserve: Reservation | None) -> Kept:
        """Row 9, and 10 when the contact wrote since: FRESH also when the job is pinned now and goes on."""
        raise NotImplementedError

    async def record(self, claim: Claim, decision: Decision) -> Recorded:
        """Rows 10 to 15."""
        raise NotImplementedError

    async def give_back(self, claim: Claim) -> None:
        """Row 11, drain: the run is kept, another worker goes on with it at once."""
        raise NotImplementedError

    # ---------------------------------------------------------------- what a send worker does

    async def claim_send(self, hint: DelayedSend) -> Posting | None:
        """Rows 26 to 28. A text bubble leaves here: once this answers, it is delivered or given up."""
        raise NotImplementedError

    async def claim_delivery(self, hint: Deliver) -> Posting | None:
        """A webhook that waited for its next attempt, or whose worker died in the POST."""
        raise NotImplementedError

    async def settle(self, posting: Posting, posted: Posted) -> None:
        """Rows 30 to 32."""
        raise NotImplementedError

    # ---------------------------------------------------------------- leases and what the queue could not read

    async def renew(
        self, jobs: Sequence[tuple[JobId, int]], deliveries: Sequence[tuple[DeliveryId, int]]
    ) -> tuple[set[JobId], set[DeliveryId]]:
        """Renew what this process holds, as (id, fence). Answers what is still its own."""
        raise NotImplementedError

    async def release(self, instance: str) -> int:
        """A process is known to be dead: what it had leased is due at once. Answers how many rows."""
        raise NotImplementedError

    async def keep_unreadable(self, queue: str, payload: str, error: str) -> None:
        """A queue message that is no hint of ours becomes a dead letter, AR-570."""
        raise NotImplementedError
