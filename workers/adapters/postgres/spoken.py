"""A voice bubble has been spoken, or not: everything is checked again before it leaves.

Speaking took seconds without any lock. Whoever moved the job meanwhile has bumped its fence; whoever edited the
bubble has bumped its version. The audio of a text that is no longer wanted stays in the file store and goes nowhere.
"""

from schemas.claims import CandidateState, Posting, Preparing
from schemas.payments import LinkFailed, Offering
from schemas.speech import Recording, SpeechFailed
from workers.adapters.postgres import preparing, quiet_hours
from workers.adapters.postgres.jobs import Job
from workers.adapters.postgres.locks import Locked, lock
from workers.adapters.postgres.sends import Next, look_at, stopped
from workers.adapters.postgres.sends import leave as leave_now
from workers.adapters.postgres.transaction import Row, Transaction

ASIDE_SECONDS = 0.02
EDITED = "edited_while_it_was_prepared"


async def leave(tx: Transaction, spoken: Preparing, recording: Recording) -> Posting | None:
    """`preparing` to `leaving`. None: the bubble waits again (held, edited, another one is out), or its job ended."""
    conversation = await lock(tx, spoken.conversation)
    look = await mine(tx, conversation, spoken)
    if conversation is None or look is None:
        return None
    job = Job.of(look)
    if await stopped(tx, conversation, look, job):
        return None
    if await waits_again(tx, conversation, look, job, spoken):
        return None
    return await leave_now(tx, conversation, job, Next.of(look, recording), spoken.due_at)


async def waits_again(tx: Transaction, conversation: Locked, look: Row, job: Job, bubble: Preparing | Offering) -> bool:
    """True: it may not leave now, and is held again."""
    why = _not_now(look, job, bubble)
    if why is None and await quiet_hours.quiet(tx, conversation):
        why = "quiet_hours"  # waiting again, it is held back like a text
    if why is None:
        return False
    pause = ASIDE_SECONDS if look.bubble_out else 0
    await preparing.put_back(tx, conversation, job, bubble.candidate, why, pause=pause, tries=job.tries)
    return True


def _not_now(look: Row, job: Job, spoken: Preparing | Offering) -> str | None:
    if job.on_hold:
        return "on_hold"
    same = look.candidate == spoken.candidate and look.bubble_state == CandidateState.PREPARING
    if not same or look.version != spoken.version:
        return EDITED
    return "another_bubble_is_out" if look.bubble_out else None


async def failed(tx: Transaction, spoken: Preparing | Offering, failure: SpeechFailed | LinkFailed) -> None:
    """Tried again after a pause, or shown to a person; unless nobody wants the bubble any more."""
    conversation = await lock(tx, spoken.conversation)
    look = await mine(tx, conversation, spoken)
    if conversation is None or look is None:
        return
    job = Job.of(look)
    if await stopped(tx, conversation, look, job):
        return
    if look.version != spoken.version:
        # What could not be said is no longer what is to be said.
        await preparing.put_back(tx, conversation, job, spoken.candidate, EDITED, tries=0)
        return
    again = (failure.retry_after or 0.0) if failure.retryable else None
    await preparing.failed(tx, conversation, job, spoken.candidate, failure.code, failure.sentence, again)


async def give_back(tx: Transaction, spoken: Preparing | Offering) -> None:
    """The worker stops in the middle: another one goes on, at once, and nothing is counted."""
    conversation = await lock(tx, spoken.conversation)
    look = await mine(tx, conversation, spoken)
    if conversation is not None and look is not None:
        job = Job.of(look)
        await preparing.put_back(tx, conversation, job, spoken.candidate, "drained", tries=job.tries)


async def mine(tx: Transaction, conversation: Locked | None, spoken: Preparing | Offering) -> Row | None:
    if conversation is None:
        return None
    look = await look_at(tx, conversation, spoken.job)
    return look if look is not None and look.job_fence == spoken.fence else None
