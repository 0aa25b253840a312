"""Every way a job, a candidate or a delivery may change: one method per row of the table in docs/TRANSITIONS.md.

Each is one transaction. It locks the conversation first (`FOR NO KEY UPDATE`), then makes one guarded
`UPDATE … WHERE state = … AND fence = …`, then writes one `job_events` row. Lock order everywhere: conversation, job,
candidate, delivery. Times are the database's `clock_timestamp()`. Leaving a state clears `due_at`, `lease_until` and
`dispatched_at` and bumps the fence. No transition to a terminal state leaves the contact's newest message without a
live job or a reason on the conversation.

A database that is away, full or refuses connections raises `schemas.errors.Unavailable`.
"""

import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncConnection

from pipelines.ingestion.normalise import normalised, normalised_candidate, normalised_patch
from pipelines.ports import Courier
from schemas.agent import Kept, Step
from schemas.claims import CandidateState, Claim, NoJob, Posted, Posting, Preparing, Recorded
from schemas.decisions import Decision
from schemas.http import CandidatePatch, Ingested, MessageIn, MessagePatch
from schemas.ids import CandidateId, DeliveryId, JobId, OrgId
from schemas.jobs import AutoReply, DelayedSend, Deliver
from schemas.llm import Reservation
from schemas.settings import Settings
from schemas.speech import Recording, SpeechFailed
from workers.adapters.postgres import (
    attention,
    candidates,
    deliveries,
    edits,
    followups,
    holding,
    ingest,
    leases,
    record,
    retries,
    runs,
    seen,
    sends,
    settle,
    steering,
    steps,
)
from workers.adapters.postgres import spoken as voiced
from workers.adapters.postgres.database import Database, driver_of
from workers.adapters.postgres.specs import Specs
from workers.adapters.postgres.transaction import Transaction


class Transitions:
    """`instance` names this process on the leases it takes. `courier` is told after commit of what is due now.

    `chance` gives numbers in [0, 1) for the jitter of pauses.
    """

    def __init__(
        self,
        database: Database,
        settings: Settings,
        courier: Courier,
        instance: str,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._db = database
        self._settings = settings
        self._courier = courier
        self._instance = instance
        self._chance = chance
        self._specs = Specs()

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Transaction]:
        async with self._db.transaction() as connection:
            tx = self._on(connection)
            yield tx
        if tx.hints:
            await self._courier.push(tx.hints)

    def _on(self, connection: AsyncConnection) -> Transaction:
        return Transaction(driver_of(connection), self._specs, self._settings, self._instance, self._chance)

    # ---------------------------------------------------------------- what contacts and upstream apps do

    async def ingest(self, org: OrgId, message: MessageIn) -> Ingested:
        """Rows 1 to 6, and 21 when an operator wrote. Guard: the message id is new in the organisation; its row, the
        count and the job are written together. Raises Invalid (nothing in it, unknown persona, no contact),
        TooLarge, Conflict (the conversation has another persona or contact)."""
        message = normalised(message)
        if message.author == "self":
            return Ingested(message=message.id, conversation=message.conversation, job=None, reason=NoJob.ECHO)
        try:
            async with self._transaction() as tx:
                return await ingest.arrive(tx, org, message)
        except ingest.SeenElsewhere:
            async with self._transaction() as tx:
                return await seen.answer_known(tx, org, message)

    async def edit_message(self, org: OrgId, name: str, patch: MessagePatch) -> Ingested:
        """Rows 1 to 6 again, when the message is unanswered or a job is live. Raises NotFound, Invalid, TooLarge."""
        patch = normalised_patch(patch)
        async with self._transaction() as tx:
            return await edits.edit(tx, org, name, patch)

    async def delete_message(self, org: OrgId, name: str) -> Ingested:
        """As an edit; a queued job that is left with nothing to answer ends `silent`, AR-510. Raises NotFound."""
        async with self._transaction() as tx:
            return await edits.delete(tx, org, name)

    # ---------------------------------------------------------------- what operators do (org None: any organisation)

    async def approve(self, org: OrgId | None, job: JobId, who: str) -> None:
        """Row 17. Guard: `held`. Raises NotFound, TooLate."""
        async with self._transaction() as tx:
            await steering.approve(tx, org, job, who)

    async def cancel(self, org: OrgId | None, job: JobId, who: str) -> Mapping[CandidateId, CandidateState]:
        """Row 20. Guard: live; in `sending` at least one bubble was stopped. Answers every candidate's state.
        Raises NotFound, TooLate."""
        async with self._transaction() as tx:
            return await steering.cancel(tx, org, job, who)

    async def hold(self, org: OrgId | None, job: JobId, who: str) -> None:
        """Row 18. Guard: `held` or `sending`, not on hold, something has not left. Raises NotFound, TooLate."""
        async with self._transaction() as tx:
            await holding.hold(tx, org, job, who)

    async def release_hold(self, org: OrgId | None, job: JobId, who: str) -> None:
        """Row 19. Guard: on hold. Raises NotFound, TooLate."""
        async with self._transaction() as tx:
            await holding.release(tx, org, job, who)

    async def regenerate(self, org: OrgId | None, job: JobId, who: str, instruction: str | None = None) -> None:
        """Row 23. Guard: `held`; or ended without a reply, the newest, the AI may answer; no bubble has left.
        Raises NotFound, TooLate."""
        async with self._transaction() as tx:
            await retries.regenerate(tx, org, job, who, instruction)

    async def retry(self, org: OrgId | None, job: JobId, who: str) -> None:
        """Rows 24 and 25. Guard: ended without a reply, the newest, the AI may answer; a delivery that was given up
        (AR-560) only while the contact has not written since. Raises NotFound, TooLate."""
        async with self._transaction() as tx:
            await retries.retry(tx, org, job, who)

    async def edit_candidate(self, org: OrgId | None, candidate: CandidateId, patch: CandidatePatch, who: str) -> None:
        """Guard: `held` or `preparing`, no attempt made, the `version` the caller has seen. Raises NotFound, Invalid,
        TooLarge, TooLate, Conflict (a notice)."""
        patch = normalised_candidate(patch)
        async with self._transaction() as tx:
            await candidates.edit(tx, org, candidate, patch, who)

    async def drop_candidate(self, org: OrgId | None, candidate: CandidateId, who: str) -> None:
        """Guard: `held` or `preparing`. The last one takes the notice along and ends the job (row 33).
        Raises NotFound, TooLate, Conflict (a notice)."""
        async with self._transaction() as tx:
            await candidates.drop(tx, org, candidate, who)

    async def dismiss(self, org: OrgId | None, job: JobId, reason: str, who: str) -> None:
        """Guard: the job is on the attention list. Raises NotFound, TooLate."""
        async with self._transaction() as tx:
            await attention.dismiss(tx, org, job, reason, who)

    async def takeover(self, org: OrgId, conversation: str, who: str) -> None:
        """Row 21. Guard: no person handles it yet. Raises NotFound, TooLate (with who took it)."""
        async with self._transaction() as tx:
            await steering.takeover(tx, org, conversation, who)

    async def resume(self, org: OrgId, conversation: str, who: str) -> JobId | None:
        """Row 22. Guard: the AI does not handle it. The job made at once, if something waits for an answer.
        Raises NotFound, TooLate."""
        async with self._transaction() as tx:
            return await steering.resume(tx, org, conversation, who)

    # ---------------------------------------------------------------- what the clock does

    async def follow_up(self) -> int:
        """Row 34, for some of the conversations whose follow-up is due. Guard: its time has come, nobody else has the
        conversation. Answers how many jobs were made; of the rest the conversation says why not."""
        async with self._transaction() as tx:
            return await followups.due(tx)

    # ---------------------------------------------------------------- what a reply worker does

    async def claim_run(self, hint: AutoReply) -> Claim | None:
        """Rows 7, 8 and 16. Guard: `queued` or `running`, due, no lease, no bubble being posted. None: nothing to
        claim, or not yet (the row waits for the clock again)."""
        async with self._transaction() as tx:
            return await runs.claim(tx, hint)

    async def save_step(self, claim: Claim, step: Step | None, reserve: Reservation | None) -> Kept:
        """Row 9, one statement. Guard: `running` under this fence. Row 10 follows when the contact wrote since:
        OVERTAKEN says the job is queued again; FRESH also when it is pinned now and goes on."""
        async with self._db.statement() as connection:
            kept = await steps.save(self._on(connection), claim, step, reserve)
        if kept is not Kept.OVERTAKEN:
            return kept
        async with self._transaction() as tx:
            return await steps.overtaken(tx, claim, reserve)

    async def record(self, claim: Claim, decision: Decision) -> Recorded:
        """Rows 10 to 15. Guard: `running` under this fence, and the contact's count is the one that was answered
        (or the job is pinned, or the failure is critical)."""
        async with self._transaction() as tx:
            return await record.record(tx, claim, decision)

    async def give_back(self, claim: Claim) -> None:
        """Row 11, drain. Guard: `running` under this fence. The run is kept, another worker goes on at once."""
        async with self._transaction() as tx:
            await runs.give_back(tx, claim)

    # ---------------------------------------------------------------- what a send worker does

    async def claim_send(self, hint: DelayedSend) -> Posting | Preparing | None:
        """Rows 26 to 28. Guard: `held` or `sending`, not on hold, due, no lease, gate open, no bubble of the
        conversation out. A text bubble leaves here: once this answers, it is delivered or given up. A voice bubble is
        leased to be spoken, and leaves by `leave`."""
        async with self._transaction() as tx:
            return await sends.claim(tx, hint)

    async def leave(self, spoken: Preparing, recording: Recording) -> Posting | None:
        """Rows 26 to 28 again. Guard: `sending` under this fence, not on hold, gate open, the bubble not edited."""
        async with self._transaction() as tx:
            return await voiced.leave(tx, spoken, recording)

    async def speech_failed(self, spoken: Preparing, failure: SpeechFailed) -> None:
        """Due again after a pause; row 29 the third time, or when it is hopeless. Guard: as `leave`."""
        async with self._transaction() as tx:
            await voiced.failed(tx, spoken, failure)

    async def put_back(self, spoken: Preparing) -> None:
        """This process stops: another one speaks. Guard: `sending` under this fence."""
        async with self._transaction() as tx:
            await voiced.give_back(tx, spoken)

    async def claim_delivery(self, hint: Deliver) -> Posting | None:
        """A webhook that waited for its next attempt, or whose worker died in the POST. Guard: due, no lease."""
        async with self._transaction() as tx:
            return await deliveries.claim(tx, hint)

    async def settle(self, posting: Posting, posted: Posted) -> None:
        """Rows 30 to 32. Guard: the delivery is `posting` under this fence."""
        async with self._transaction() as tx:
            await settle.settle(tx, posting, posted)

    # ---------------------------------------------------------------- leases and what the queue could not read

    async def renew(
        self, jobs: Sequence[tuple[JobId, int]], deliveries: Sequence[tuple[DeliveryId, int]]
    ) -> tuple[set[JobId], set[DeliveryId]]:
        """Renew what this process holds, as (id, fence). Answers what is still its own."""
        async with self._transaction() as tx:
            mine = await leases.renew_jobs(tx, jobs) if jobs else set()
            return mine, await leases.renew_deliveries(tx, deliveries) if deliveries else set()

    async def release(self, instance: str) -> int:
        """A process is known to be dead: what it had leased is due at once. Answers how many rows."""
        async with self._transaction() as tx:
            return await leases.release(tx, instance)

    async def keep_unreadable(self, queue: str, payload: str, error: str) -> None:
        """A queue message that is no hint of ours becomes a dead letter, AR-570."""
        async with self._transaction() as tx:
            await leases.keep_unreadable(tx, queue, payload, error)
