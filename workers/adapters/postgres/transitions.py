"""Every way a job, a candidate or a delivery may change: one method per row of the table in docs/TRANSITIONS.md.

Each is one transaction. It locks the conversation first (`FOR NO KEY UPDATE`), then makes one guarded
`UPDATE … WHERE state = … AND fence = …`, then writes one `job_events` row. Lock order everywhere: conversation, job,
candidate, delivery. Times are the database's `clock_timestamp()`. Leaving a state clears `due_at`, `lease_until` and
`dispatched_at` and bumps the fence. No transition to a terminal state leaves the contact's newest message without a
live job or a reason on the conversation.

A database that is away, full or refuses connections raises `schemas.errors.Unavailable`.
"""

from collections.abc import Sequence
from dataclasses import replace

from pipelines.honesty import alarms
from pipelines.ingestion.normalise import normalised, normalised_patch
from schemas.agent import Kept, Step
from schemas.answers import PaymentOut
from schemas.claims import Claim, NoJob, Posted, Posting, Preparing, Recorded
from schemas.decisions import Decision
from schemas.honesty import Alarm
from schemas.http import Ingested, MessageIn, MessagePatch
from schemas.ids import DeliveryId, JobId, OrgId, PaymentId
from schemas.jobs import AutoReply, CloseLinks, DelayedSend, Deliver, Learn, Summarize
from schemas.lessons import Learnt, Lesson, NotLearnt
from schemas.llm import Reservation, SettledCall
from schemas.payments import Closing, Link, LinkFailed, Offering, PaymentProvider, PaymentState
from schemas.speech import Recording, SpeechFailed
from schemas.summaries import Folding, Summed
from workers.adapters.postgres import (
    chores,
    closed_links,
    deliveries,
    edits,
    followups,
    ingest,
    leases,
    lessons,
    letters,
    linked,
    payments,
    record,
    runs,
    seen,
    sends,
    settle,
    steps,
    summaries,
)
from workers.adapters.postgres import spoken as voiced
from workers.adapters.postgres.again import decided
from workers.adapters.postgres.operators import ByOperators


class Transitions(ByOperators):
    """What contacts and workers cause; what operators do stands in `operators.py`."""

    # ---------------------------------------------------------------- what contacts and upstream apps do

    async def ingest(self, org: OrgId, message: MessageIn) -> Ingested:
        """Rows 1 to 6, and 21 when an operator wrote. Guard: the message id is new in the organisation; its row, the
        count and the job are written together. Raises Invalid (nothing in it, unknown persona, no contact),
        TooLarge, Conflict (the conversation has another persona or contact)."""
        message = normalised(message)
        if message.author == "self":
            return Ingested(message=message.id, conversation=message.conversation, job=None, reason=NoJob.ECHO)
        alarm = _alarm(message.author, message.text, message.id)

        async def arrive() -> Ingested:
            async with self._transaction() as tx:
                return await ingest.arrive(tx, org, message, alarm)

        try:
            # Whoever was erased meanwhile has no name any more: next time it is somebody new's.
            return await decided(arrive, ingest.ErasedMeanwhile)
        except ingest.SeenElsewhere:
            async with self._transaction() as tx:
                return await seen.answer_known(tx, org, message)

    async def edit_message(self, org: OrgId, name: str, patch: MessagePatch) -> Ingested:
        """Rows 1 to 6 again, when the message is unanswered or a job is live. Raises NotFound, Invalid, TooLarge."""
        patch = normalised_patch(patch)
        async with self._transaction() as tx:
            return await edits.edit(tx, org, name, patch, _alarm("contact", patch.text, name))

    async def delete_message(self, org: OrgId, name: str) -> Ingested:
        """As an edit; a queued job that is left with nothing to answer ends `silent`, AR-510. Raises NotFound."""
        async with self._transaction() as tx:
            return await edits.delete(tx, org, name)

    # ---------------------------------------------------------------- what whoever takes the money tells

    async def payment(
        self, org: OrgId | None, payment: PaymentId, to: PaymentState, word: str | None, who: str
    ) -> PaymentOut:
        """Row 35, and what else may become of a payment. Guard: its row is in a state that this may follow; told again,
        nothing changes. Raises NotFound, TooLate."""
        async with self._transaction() as tx:
            return await payments.told(tx, org, payment, to, word, who)

    async def payment_named(self, provider: PaymentProvider, name: str) -> PaymentId | None:
        """By what its provider calls it; None: it is nothing of ours."""
        async with self._transaction() as tx:
            return await payments.named(tx, provider, name)

    # ---------------------------------------------------------------- what the clock does

    async def follow_up(self) -> int:
        """Row 34, for some of the conversations whose follow-up is due. Guard: its time has come, nobody else has the
        conversation. Answers how many jobs were made; of the rest the conversation says why not."""
        async with self._transaction() as tx:
            return await followups.due(tx)

    # ---------------------------------------------------------------- what a reply worker does

    async def claim_run(self, hint: AutoReply, alone: bool = True) -> Claim | None:
        """Rows 7, 8 and 16. Guard: `queued` or `running`, due, no lease, no bubble being posted. None: nothing to
        claim, or not yet (the row waits for the clock again). Raises MustBeAlone, unless this worker is `alone` with
        it, when two have died with the job in hand."""
        async with self._transaction() as tx:
            return await runs.claim(tx, hint, alone)

    async def put_off(self, hint: AutoReply) -> None:
        """A job that must be alone cannot be now: due again in 2 s. Guard: no lease."""
        async with self._transaction() as tx:
            await runs.put_off(tx, hint)

    async def expect(self, hint: AutoReply) -> None:
        """A job that must be alone: its process is starting, so the clock keeps it to itself. Guard: no lease."""
        async with self._transaction() as tx:
            await runs.expect(tx, hint)

    async def save_step(
        self, claim: Claim, step: Step | None, reserve: Reservation | None, failed: SettledCall | None = None
    ) -> Kept:
        """Row 9, one statement. Guard: `running` under this fence. Row 10 follows when the contact wrote since:
        OVERTAKEN says the job is queued again; FRESH also when it is pinned now and goes on."""
        async with self._db.statement() as connection:
            kept = await steps.save(self._on(connection), claim, step, reserve, failed)
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

    async def claim_send(self, hint: DelayedSend) -> Posting | Preparing | Offering | None:
        """Rows 26 to 28. Guard: `held` or `sending`, not on hold, due, no lease, gate open, no bubble of the
        conversation out. A text bubble leaves here: once this answers, it is delivered or given up. A voice bubble is
        leased to be spoken, and leaves by `leave`; a payment bubble to get its link, and leaves by `leave_linked`."""
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

    async def leave_linked(self, bubble: Offering, link: Link) -> Posting | None:
        """As `leave`, and what is sold may still be sold. The link is kept in any case."""
        async with self._transaction() as tx:
            return await linked.leave(tx, bubble, link)

    async def link_failed(self, bubble: Offering, failure: LinkFailed) -> None:
        """Due again after a pause; row 29 the third time, or when it is hopeless. Guard: as `leave`."""
        async with self._transaction() as tx:
            await voiced.failed(tx, bubble, failure)

    async def put_back(self, spoken: Preparing | Offering) -> None:
        """This process stops: another one goes on. Guard: `sending` under this fence."""
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

    # ---------------------------------------------------------------- what a background worker does

    async def claim_lesson(self, hint: Learn) -> Lesson | None:
        """Guard: due, no lease, the contact silent for long enough, neither erased, locked nor opted out."""
        async with self._transaction() as tx:
            return await lessons.claim(tx, hint)

    async def reserve_lesson(self, lesson: Lesson, reservation: Reservation) -> Kept:
        """FRESH, or which of the organisation's budgets has no room for it."""
        async with self._transaction() as tx:
            return await chores.reserve(tx, lesson, reservation)

    async def end_lesson(self, lesson: Lesson, learnt: Learnt | NotLearnt | None) -> int:
        """Guard: the fence; the call is paid in any case. None: the worker stops. Answers how many facts are new."""
        async with self._transaction() as tx:
            return await lessons.end(tx, lesson, learnt)

    async def claim_summary(self, hint: Summarize) -> Folding | None:
        """Guard: due, no lease, the contact neither erased, locked nor opted out."""
        async with self._transaction() as tx:
            return await summaries.claim(tx, hint)

    async def reserve_summary(self, folding: Folding, reservation: Reservation) -> Kept:
        """FRESH, or which of the organisation's budgets has no room for it."""
        async with self._transaction() as tx:
            return await chores.reserve(tx, folding, reservation)

    async def end_summary(self, folding: Folding, summed: Summed | NotLearnt | None) -> None:
        """Guard: the fence, and what was summed up is as it was read; the call is paid in any case. None: the worker
        stops."""
        async with self._transaction() as tx:
            await summaries.end(tx, folding, summed)

    async def claim_closing(self, hint: CloseLinks) -> Closing | None:
        """Guard: due, no lease, a link that is closed here may still be paid."""
        async with self._transaction() as tx:
            return await closed_links.claim(tx, hint)

    async def end_closing(self, closing: Closing, failed: LinkFailed | None) -> None:
        """Guard: the fence. What has failed is tried again."""
        async with self._transaction() as tx:
            await closed_links.end(tx, closing, failed)

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

    async def holds(self, instance: str, hint: AutoReply) -> bool:
        """Whether its job is in the hands of that process. Changes nothing."""
        async with self._transaction() as tx:
            return await leases.holds(tx, instance, hint.job)

    async def keep_unreadable(self, queue: str, message: str, error: str, whole: bool = False) -> None:
        """A queue message that is no hint of ours becomes a dead letter, AR-570; the same one again is counted there.
        `whole`: as it is given it can be put back on its queue."""
        async with self._transaction() as tx:
            await letters.keep_unreadable(tx, queue, message, error, whole)


def _alarm(author: str, text: str | None, message: str) -> Alarm | None:
    """What a contact's message stops, heard before any lock is taken: it says which are."""
    found = alarms.heard(text) if author == "contact" and text else None
    return None if found is None else replace(found, message=message)
