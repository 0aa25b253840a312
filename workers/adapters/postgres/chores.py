"""What all chores have in common: work in the background for one conversation, one call of a model under a lease that
covers it. docs/TRANSITIONS.md has the table."""

from typing import Protocol

from pipelines.memory.asking import call_of
from schemas.agent import Kept
from schemas.ids import ConversationId, OrgId
from schemas.lessons import NotLearnt
from schemas.llm import Reservation, SettledCall
from schemas.resources import OrganizationSpec
from workers.adapters.postgres import ledger
from workers.adapters.postgres.locks import CONTACT_FLAGS, lock
from workers.adapters.postgres.transaction import Row, Transaction, sql

MAX_TRIES = 5
MAX_CRASHES = 3
LONGEST_PAUSE = 21_600.0
SLACK_SECONDS = 60.0
"""What a chore may take beside the model's answer. Its lease covers both, so nobody renews it."""

CLOSED = "the contact is erased, locked or has opted out"
AT_REST = "dispatched_at = NULL, lease_until = NULL, leased_by = NULL, fence = fence + 1"

CALL = "'chore.' || chores.id || '.' || chores.fence"
"""What `call_of` names a call of a chore in hand, where a statement has its row."""

_NOT_YET = sql("UPDATE chores SET dispatched_at = NULL WHERE id = :chore AND lease_until IS NULL")
_REST = sql(f"UPDATE chores SET {AT_REST}, due_at = NULL, error = :error WHERE id = :chore AND fence = :fence")
_LATER = sql(f"""
UPDATE chores SET {AT_REST}, tries = :tries, crashes = 0, error = :error,
  due_at = clock_timestamp() + make_interval(secs => :pause)
WHERE id = :chore AND fence = :fence
""")
_CLAIM = sql("""
UPDATE chores SET fence = fence + 1, crashes = crashes + 1, due_at = NULL, leased_by = :instance,
  lease_until = clock_timestamp() + make_interval(secs => :lease)
WHERE id = :chore AND fence = :fence RETURNING fence
""")
_TRIES = sql("SELECT tries FROM chores WHERE id = :chore AND fence = :fence AND lease_until IS NOT NULL")
_UNHEARD = sql(ledger.UNHEARD.format(which="call = :call"))
_STILL_OURS = sql(f"""
SELECT w.id, {CONTACT_FLAGS}
FROM chores w JOIN conversations c ON c.id = w.conversation_id JOIN contacts ct ON ct.id = c.contact_id
WHERE w.id = :chore AND w.fence = :fence AND w.lease_until IS NOT NULL FOR NO KEY UPDATE OF w
""")


class Held(Protocol):
    """A chore that was claimed. Everything done with it names the fence."""

    @property
    def chore(self) -> int: ...
    @property
    def fence(self) -> int: ...
    @property
    def conversation(self) -> ConversationId: ...
    @property
    def org(self) -> OrgId: ...
    @property
    def organization(self) -> OrganizationSpec: ...
    @property
    def pipeline(self) -> str: ...


def closed(look: Row) -> bool:
    """`look` holds `CONTACT_FLAGS`: nothing is made of what this contact said."""
    return bool(look.erased or look.locked or look.opted_out)


async def not_yet(tx: Transaction, chore: int) -> None:
    await tx.run(_NOT_YET, chore=chore)


async def rest(tx: Transaction, chore: int, fence: int, error: str | None = None) -> None:
    await tx.run(_REST, chore=chore, fence=fence, error=error)


async def unheard(tx: Transaction, chore: int, fence: int) -> None:
    """Whoever held it under this fence does so no more: what became of its call will not be heard. Told before the
    fence moves on, whatever becomes of the chore: a call is named by it."""
    await tx.run(_UNHEARD, call=call_of(chore, fence))


async def take(tx: Transaction, chore: int, fence: int, lease: float | None = None) -> int:
    """The fence of the claim. `lease` in seconds: a model's call and some, unless it is given."""
    lease = tx.settings.llm.timeout_seconds + SLACK_SECONDS if lease is None else lease
    row = await tx.the(_CLAIM, chore=chore, fence=fence, instance=tx.instance, lease=lease)
    return int(row.fence)


async def still_ours(tx: Transaction, held: Held) -> Row | None:
    """With `CONTACT_FLAGS`; its row is locked. None: it is another worker's by now."""
    return await tx.one(_STILL_OURS, chore=held.chore, fence=held.fence)


async def postpone(tx: Transaction, held: Held, failed: NotLearnt) -> None:
    """Tried again after minutes, then hours; given up after the fifth time, until there is something to do again."""
    await lock(tx, held.conversation)
    if failed.call is not None:
        await pay(tx, held, failed.call)
    row = await tx.one(_TRIES, chore=held.chore, fence=held.fence)
    if row is None:
        return
    tries = row.tries + 1
    if failed.final or tries >= MAX_TRIES:
        await rest(tx, held.chore, held.fence, failed.sentence)
        return
    pause = min(max(failed.pause or 0, 60.0 * 4**row.tries), LONGEST_PAUSE) * (1 + tx.chance() / 4)
    await tx.run(_LATER, chore=held.chore, fence=held.fence, tries=tries, error=failed.sentence, pause=pause)


async def give_back(tx: Transaction, held: Held) -> None:
    """The worker stops: another one begins anew. It may have asked already."""
    await lock(tx, held.conversation)
    await unheard(tx, held.chore, held.fence)
    row = await tx.one(_TRIES, chore=held.chore, fence=held.fence)
    if row is not None:
        await tx.run(_LATER, chore=held.chore, fence=held.fence, tries=row.tries, error=None, pause=0)


async def reserve(tx: Transaction, held: Held, reservation: Reservation) -> Kept:
    return await ledger.pay_for(tx, _owner(held), None, reservation)


async def pay(tx: Transaction, held: Held, call: SettledCall) -> None:
    """Whoever has the row by now."""
    await ledger.pay_for(tx, _owner(held), call)


def _owner(held: Held) -> ledger.Owner:
    return ledger.Owner(
        held.org, held.organization, held.pipeline, held.conversation, job=None, run=None, fence=held.fence
    )
