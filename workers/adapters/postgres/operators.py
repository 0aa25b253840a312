"""What operators do: the rows of docs/TRANSITIONS.md that a person causes. `org` None: any organisation's."""

from collections.abc import Mapping

from pipelines.ingestion.normalise import normalised_candidate
from schemas.claims import CandidateState
from schemas.http import CandidatePatch
from schemas.ids import CandidateId, DeadLetterId, JobId, OrgId
from workers.adapters.postgres import (
    attention,
    candidates,
    holding,
    letters,
    reopenings,
    retries,
    steering,
)
from workers.adapters.postgres.in_transactions import InTransactions
from workers.adapters.postgres.letters import QueueMessage
from workers.adapters.postgres.reopenings import Reopening


class ByOperators(InTransactions):
    """Each is one transaction; `who` is kept in the job's events and in the audit log."""

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

    async def retry_letter(self, org: OrgId | None, letter: DeadLetterId, who: str) -> QueueMessage | None:
        """What a dead letter stands for is tried again: rows 24 and 25, or its webhook once more. Guard: the letter is
        open. A queue message is answered, and settled by `letter_requeued`. Raises NotFound, TooLate."""
        async with self._transaction() as tx:
            return await letters.retry(tx, org, letter, who)

    async def letter_requeued(self, org: OrgId | None, letter: DeadLetterId, who: str) -> None:
        """Its message is on its queue again. Guard: the letter is open. Raises NotFound, TooLate."""
        async with self._transaction() as tx:
            await letters.requeued(tx, org, letter, who)

    async def purge_letter(self, org: OrgId | None, letter: DeadLetterId, who: str) -> None:
        """Guard: the letter is open. Raises NotFound, TooLate."""
        async with self._transaction() as tx:
            await letters.purge(tx, org, letter, who)

    async def purge_letters(
        self, org: OrgId | None, found: list[DeadLetterId], who: str, wanted: Mapping[str, str]
    ) -> list[DeadLetterId]:
        """Those of them that are open; `wanted` is the filter that found them. Answers which they were."""
        async with self._transaction() as tx:
            return await letters.purge_all(tx, org, found, who, wanted)

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

    async def consent(
        self, org: OrgId, conversation: str, who: str, how: str | None = None, proof: str | None = None
    ) -> None:
        """Row 36, undone. The conversation's contact may be written to again. Raises NotFound."""
        async with self._transaction() as tx:
            await reopenings.consent(tx, org, conversation, who, how, proof)

    async def reopen(self, org: OrgId, conversation: str, who: str, reason: str | None) -> Reopening:
        """Row 36, undone. Guard: locked; the second of two different people. Raises NotFound, Invalid, TooLate."""
        async with self._transaction() as tx:
            return await reopenings.reopen(tx, org, conversation, who, reason)
