"""A run that answers nobody: what it needs to know is read, and what it costs is kept. Nothing else is written."""

import secrets
from collections.abc import Sequence

from schemas.agent import Kept, Resume, Step
from schemas.conversation import Author, Case, Contact, Organization, Persona, Trigger, Turn
from schemas.errors import NotFound
from schemas.ids import ContactId, ConversationId, JobId, OrgId, PersonaId, RunId
from schemas.llm import Reservation, SettledCall
from schemas.resources import OrganizationSpec, PersonaSpec
from workers.adapters.postgres import ledger
from workers.adapters.postgres.audit import note
from workers.adapters.postgres.in_transactions import InTransactions
from workers.adapters.postgres.transaction import sql

NOBODY = 0
"""The id of the contact, conversation and job of such a run: no row has it."""

_LOOK = sql("""
SELECT clock_timestamp() AS now, o.name AS organization, o.spec AS organization_spec, o.strategy_version,
       p.id AS persona_id, p.spec AS persona_spec
FROM organizations o JOIN personas p ON p.org_id = o.id AND p.name = :persona WHERE o.id = :org
""")

Said = tuple[Author, str]


class Playing(InTransactions):
    async def case(self, org: OrgId, persona: str, said: Sequence[Said]) -> Case:
        """A conversation that exists nowhere, ending with what was said last. Raises NotFound."""
        async with self._transaction() as tx:
            row = await tx.one(_LOOK, org=org, persona=persona)
            if row is None:
                raise NotFound("no such persona")
            strategy = await tx.specs.strategy(tx.connection, org, row.strategy_version)
        answered = max((n for n, (author, _) in enumerate(said) if author is not Author.CONTACT), default=-1)
        turns = [Turn(n + 1, who, text, row.now, answered=n < answered) for n, (who, text) in enumerate(said)]
        organization = OrganizationSpec.model_validate(row.organization_spec, strict=False)
        own = PersonaSpec.model_validate(row.persona_spec, strict=False)
        return Case(
            now=row.now,
            organization=Organization(org, row.organization, organization),
            persona=Persona(PersonaId(row.persona_id), persona, own),
            contact=Contact(ContactId(NOBODY), "playground", locale=own.language or organization.locale),
            conversation=ConversationId(NOBODY),
            conversation_name="playground",
            job=JobId(NOBODY),
            trigger=Trigger.MESSAGE,
            turns=tuple(turns),
            sent_texts=tuple(text for who, text in said if who is Author.AI),
            strategy=strategy,
        )

    def run(self, case: Case, who: str) -> "PlayedRun":
        return PlayedRun(self, case, who)

    async def pay(self, run: "PlayedRun", settled: SettledCall | None, reserved: Reservation | None) -> Kept:
        """FRESH, or which of the organisation's budgets has no room for what would be reserved."""
        async with self._transaction() as tx:
            return await ledger.pay_for(tx, _owner(run), settled, reserved)

    async def finish(self, run: "PlayedRun", call: SettledCall | None) -> None:
        """`call` ended the run; without one, what was set aside last was not asked."""
        async with self._transaction() as tx:
            if call is not None:
                await ledger.pay_for(tx, _owner(run), call)
            await ledger.forget(tx, run.resume)

    async def cut_off(self, run: "PlayedRun") -> None:
        """What was in flight was not heard, and may have been paid for."""
        async with self._transaction() as tx:
            await ledger.give_up_hope(tx, run.resume.run)

    async def begin(self, run: "PlayedRun") -> None:
        async with self._transaction() as tx:
            await note(tx, run.case.organization.id, run.who, "playground.asked", run.case.persona.name)


class PlayedRun:
    """Its calls are in the ledger without a job. What was reserved and not asked is given back at the end; what a cut
    left in flight counts as paid for. Of a gateway that died the clock says so."""

    def __init__(self, playing: Playing, case: Case, who: str) -> None:
        self._playing = playing
        self.case = case
        self.who = who
        # Below zero, where no run of a job is: the ids of its calls are told apart.
        self.resume = Resume(RunId(-1 - secrets.randbits(62)), 1)
        self.steps: list[Step] = []

    async def keep(self, step: Step | None, reserve: Reservation | None, failed: SettledCall | None = None) -> Kept:
        if step is not None:
            self.steps.append(step)
        return await self._playing.pay(self, failed if step is None else step.call, reserve)

    async def end(self, call: SettledCall | None) -> None:
        await self._playing.finish(self, call)

    async def cut_off(self) -> None:
        await self._playing.cut_off(self)


def _owner(run: PlayedRun) -> ledger.Owner:
    organization = run.case.organization
    pipeline = run.case.persona.spec.pipeline or organization.spec.pipeline
    return ledger.Owner(organization.id, organization.spec, pipeline, None, job=None, run=run.resume.run, fence=1)
