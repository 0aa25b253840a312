"""With autonomy draft a silence that the agent chose waits for an approval, as a reply would: held, without bubbles.

Cancel drops it, regenerate thinks again, a message of the contact supersedes it; approve and release carry it out.
"""

import json
from dataclasses import replace
from datetime import datetime
from typing import Any

from pipelines.autoreply import followup
from pipelines.text import storable_deep
from schemas.claims import Claim, Held
from schemas.decisions import Silence, SilenceReason
from workers.adapters.postgres import silences
from workers.adapters.postgres.jobs import AT_REST, EVENT, Job
from workers.adapters.postgres.ledger import UNHEARD
from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.steps import TRACED, outcomes, traced
from workers.adapters.postgres.transaction import Transaction, sql

_HOLD = sql(f"""
WITH held AS (
  UPDATE jobs
  SET state = 'held', queue = 'send', reason = :reason, note = CAST(:detail AS text), ending = CAST(:ending AS json),
      code = NULL, crashes = 0, tries = 0, parked_until = NULL, on_hold = true, due_at = NULL, {AT_REST},
      rules = CAST(:rules AS json)
  WHERE id = :job AND fence = :fence AND state = 'running'
  RETURNING id
), closed AS (
  UPDATE runs SET outcome = 'decided', {TRACED} WHERE id = :run
), unheard AS ({UNHEARD.format(which="run_id = :run")}
), told AS ({EVENT.format(of="held", frm="'running'", to="'held'")})
SELECT id FROM held
""")

_LOOK = sql("""
SELECT j.ending, ct.timezone FROM jobs j JOIN contacts ct ON ct.id = :contact WHERE j.id = :job AND j.state = 'held'
""")


async def hold(tx: Transaction, conversation: Locked, job: Job, claim: Claim, silence: Silence) -> Held:
    await tx.the(
        _HOLD,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        fence=job.fence,
        run=claim.resume.run,
        reason=silence.reason.value,
        detail=silence.detail,
        ending=_kept(silence),
        rules=outcomes(silence.strategy),
        trace=traced(silence.trace),
        who="worker",
        why="decided",
        facts=None,
    )
    return Held(None)


async def carry_out(tx: Transaction, conversation: Locked, job: Job, who: str) -> None:
    """A person agrees: the conversation is left as the agent wanted. A follow-up whose hour has passed meanwhile is
    planned for the same hour of a later day."""
    look = await tx.the(_LOOK, job=job.id, contact=conversation.contact_id)
    silence = _read(look.ending)
    if silence.follow_up_at is not None:
        zones = (look.timezone, conversation.persona.spec.timezone, conversation.organization.spec.timezone)
        silence = replace(silence, follow_up_at=followup.renewed(silence.follow_up_at, conversation.now, *zones))
    await silences.end(tx, conversation, job, None, silence, who)


def _kept(silence: Silence) -> str:
    kept = {
        "reason": silence.reason.value,
        "detail": silence.detail,
        "read": silence.read,
        "plan": silence.plan,
        "paused_until": silence.paused_until and silence.paused_until.isoformat(),
        "follow_up_at": silence.follow_up_at and silence.follow_up_at.isoformat(),
    }
    return json.dumps(storable_deep(kept))


def _read(kept: dict[str, Any]) -> Silence:
    return Silence(
        SilenceReason(kept["reason"]),
        detail=kept["detail"],
        read=kept["read"],
        plan=kept["plan"],
        paused_until=_time(kept["paused_until"]),
        follow_up_at=_time(kept["follow_up_at"]),
    )


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
