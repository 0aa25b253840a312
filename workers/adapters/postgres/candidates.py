"""An operator changes a reply that waits: the words, the price or the place of one bubble, or drops it."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from pipelines.autoreply.honesty import claims_to_be_human, first_break
from pipelines.delivery.edited import edited
from pipelines.delivery.ordering import Place, Waiting, closed_up, moved, place_of, room
from pipelines.selling import exact, listed, unasked, unsellable
from schemas.channels import Channel
from schemas.claims import CandidateState, JobState
from schemas.conversation import BubbleKind
from schemas.errors import Code, Invalid, NotFound
from schemas.http import CandidatePatch, PriceIn
from schemas.ids import CandidateId, JobId, OrgId, reference
from schemas.jobs import DelayedSend
from schemas.money import Price
from workers.adapters.postgres import bubble_moves, endings
from workers.adapters.postgres.audit import note
from workers.adapters.postgres.dispatch_now import DISPATCHED_SEND
from workers.adapters.postgres.jobs import Job, read_or_refuse, send_away, successor, tell
from workers.adapters.postgres.late import too_late
from workers.adapters.postgres.locks import Locked, lock_of_job
from workers.adapters.postgres.shop import wares_for
from workers.adapters.postgres.transaction import Row, Transaction, sql

_NO_LIE = "a bubble of the AI may not say that a human writes it; take the conversation over"
_OWED_NEXT = {
    True: "let it leave, or cancel what has not left",
    False: "leave it: it says to the contact what has happened",
}
_WAITING = (CandidateState.HELD, CandidateState.PREPARING)
_LEFT = (CandidateState.LEAVING, CandidateState.SENT)

_ABOUT = sql("""
SELECT k.job_id, k.org_id, k.kind, k.text, j.code, COALESCE(o.spec #>> '{webhook,channel}', 'webhook') AS channel
FROM candidates k JOIN jobs j ON j.id = k.job_id JOIN organizations o ON o.id = k.org_id WHERE k.id = :candidate
""")
_BUBBLES = sql("""
SELECT id, kind, state, text, ordinal, version, media, price, left_at
FROM candidates WHERE job_id = :job ORDER BY ordinal, id
""")

# Speech was made of the words: other words, and it is made again.
_EDIT = sql("""
UPDATE candidates
SET text = COALESCE(CAST(:text AS text), text), price = COALESCE(CAST(:price AS jsonb), price), state = 'held',
    audio = CASE WHEN CAST(:text AS text) IS NULL THEN audio END, version = version + 1
WHERE id = :candidate AND version = :version AND state IN ('held', 'preparing')
""")

_ADD = sql("""
INSERT INTO candidates (org_id, job_id, conversation_id, ordinal, kind, state, text)
SELECT k.org_id, k.job_id, k.conversation_id, :ordinal + part.n, k.kind, 'held', part.text
FROM candidates k CROSS JOIN unnest(CAST(:texts AS text[])) WITH ORDINALITY AS part (text, n)
WHERE k.id = :candidate
""")

_MOVE = sql("""
UPDATE candidates k SET ordinal = p.ordinal, state = 'held'
FROM unnest(CAST(:ids AS bigint[]), CAST(:ordinals AS integer[])) AS p (id, ordinal)
WHERE k.id = p.id AND k.state IN ('held', 'preparing')
""")

_DROP = sql("""
UPDATE candidates SET state = 'dropped', reason = 'operator', version = version + 1
WHERE id = ANY(:bubbles) AND state IN ('held', 'preparing')
""")

# Deaths and failed attempts were those of the words that are not the next to be spoken any more.
_ANEW = sql("""
UPDATE jobs SET tries = 0, crashes = 0 WHERE id = :job AND fence = :fence AND state IN ('held', 'sending')
""")

# The worker is called off, and has not died.
_AGAIN = sql(f"""
UPDATE jobs
SET due_at = clock_timestamp(), lease_until = NULL, leased_by = NULL, fence = fence + 1, crashes = 0,
    dispatched_at = {DISPATCHED_SEND}
WHERE id = :job AND fence = :fence AND state = 'sending'
RETURNING dispatched_at IS NOT NULL AS dispatched
""")


@dataclass(frozen=True, slots=True)
class _Reply:
    """A job with its bubbles in order, and the one this is about."""

    conversation: Locked
    job: Job
    bubbles: Sequence[Row]
    own: Row

    @property
    def waiting(self) -> list[Waiting]:
        """The notice leads, whatever its number."""
        rows = [row for row in self.bubbles if row.state in _WAITING]
        rows.sort(key=lambda row: row.kind != BubbleKind.NOTICE)
        return [Waiting(CandidateId(row.id), BubbleKind(row.kind), row.ordinal) for row in rows]

    @property
    def first(self) -> int:
        """The first ordinal that nothing has left with."""
        return max((row.ordinal + 1 for row in self.bubbles if row.state in _LEFT), default=0)

    @property
    def prepared(self) -> CandidateId | None:
        """The bubble that a worker is making speech or a link for."""
        return next((CandidateId(row.id) for row in self.bubbles if row.state == CandidateState.PREPARING), None)


async def edit(tx: Transaction, org: OrgId | None, candidate: CandidateId, patch: CandidatePatch, who: str) -> None:
    """Neither text, price nor place move the countdown. Raises NotFound, TooLate, Invalid."""
    if patch.text is not None and claims_to_be_human(patch.text):
        # It leaves as `ai_generated`: what a person wants to say of themself, they write as a message of their own.
        raise _invalid("text", _NO_LIE)
    about = await _about(tx, org, candidate)
    texts = _texts(about, patch)  # before the lock: a long text takes its time
    reply = await _changeable(tx, about, candidate)
    await _must_be_current(tx, reply, patch.version)
    place = await _place(tx, reply, patch.ordinal)
    stays = patch.ordinal is None and len(texts) < 2
    places = [] if stays else moved(reply.waiting, reply.first, candidate, place, len(texts) or 1)
    _refuse_a_lie(reply, candidate, patch.text, dict(places))
    price = await _price(tx, reply, patch.price)
    words = texts[0] if texts else None
    await tx.run(_EDIT, candidate=candidate, version=reply.own.version, text=words, price=price)
    await _move(tx, places)
    if texts[1:]:
        await tx.run(_ADD, candidate=candidate, ordinal=place, texts=texts[1:])
    await _begin_again(tx, reply, {bubble for bubble, _ in places} | ({candidate} if words is not None else set()))
    if reply.prepared in {candidate, *(moved for moved, _ in places)}:
        await _send_again(tx, reply)
    changed = sorted(patch.model_fields_set & {"text", "price", "ordinal"})
    more = {"parts": len(texts)} if texts[1:] else {}
    await _kept(tx, reply, "edited", who, changed=changed, **more)


async def drop(tx: Transaction, org: OrgId | None, candidate: CandidateId, who: str) -> None:
    """Row 33 when it was the last. Raises NotFound, TooLate."""
    reply = await _changeable(tx, await _about(tx, org, candidate), candidate)
    rest = [bubble for bubble in reply.waiting if bubble.id != candidate]
    _refuse_a_lie(reply, candidate, "", {})
    over = all(bubble.kind is BubbleKind.NOTICE for bubble in rest)
    gone = [candidate, *(bubble.id for bubble in rest if over)]
    await tx.run(_DROP, bubbles=gone)
    more = {"with_it": gone[1:]} if gone[1:] else {}
    await _kept(tx, reply, "dropped", who, **more)
    if over and reply.job.state.live:
        await _end(tx, reply, who)
        return
    places = closed_up(rest, reply.first)
    await _move(tx, places)
    changed = {candidate, *(bubble for bubble, _ in places)}
    await _begin_again(tx, reply, changed)
    if reply.prepared in changed:
        await _send_again(tx, reply)


async def _about(tx: Transaction, org: OrgId | None, candidate: CandidateId) -> Row:
    row = await tx.one(_ABOUT, candidate=candidate)
    if row is None or (org is not None and row.org_id != org):
        raise NotFound("no such bubble")
    return row


def _texts(about: Row, patch: CandidatePatch) -> list[str]:
    """What the bubble says from now on, and what those say that it becomes besides; empty: its words stay."""
    if patch.text is None:
        return []
    return edited(patch.text, about.text, BubbleKind(about.kind), Channel(about.channel))


async def _changeable(tx: Transaction, about: Row, candidate: CandidateId) -> _Reply:
    conversation = await lock_of_job(tx, OrgId(about.org_id), JobId(about.job_id))
    job = await read_or_refuse(tx, conversation, about.job_id)
    bubbles = await tx.all(_BUBBLES, job=job.id)
    own = next(row for row in bubbles if row.id == candidate)
    # True replies lie ready beside a question of identity: a person may put them in their own words.
    ready = job.state is JobState.FAILED and about.code == Code.IDENTITY_QUESTION
    if own.state not in _WAITING:
        raise await bubble_moves.too_late(tx, candidate, own.state)
    if not (ready or job.state in (JobState.HELD, JobState.SENDING)):
        raise await too_late(tx, job)
    if not job.replies:
        owed = "what was paid for is delivered as it is" if job.bought else "a closing notice is delivered as it is"
        raise await bubble_moves.too_late(tx, candidate, own.state, _OWED_NEXT[job.bought], never=True, reason=owed)
    if own.kind == BubbleKind.NOTICE:
        raise await bubble_moves.too_late(
            tx, candidate, own.state, never=True, reason="a notice can be neither edited nor dropped"
        )
    return _Reply(conversation, job, bubbles, own)


async def _must_be_current(tx: Transaction, reply: _Reply, version: int | None) -> None:
    own = reply.own
    if own.left_at is not None:
        raise await bubble_moves.too_late(tx, own.id, own.state, reason="an attempt to deliver it was made")
    if version is not None and version != own.version:
        raise await bubble_moves.too_late(tx, own.id, own.state, reason=bubble_moves.EDITED, version=own.version)


def _refuse_a_lie(reply: _Reply, candidate: CandidateId, text: str | None, places: Mapping[CandidateId, int]) -> None:
    """Bubbles are read one after the other: « je suis », « une vraie personne » is one sentence. In the order in which
    they leave, with the new words of one (None: its own; empty: it goes)."""
    now = [row for row in reply.bubbles if row.state in (*_WAITING, *_LEFT) and row.kind != BubbleKind.NOTICE]
    then = sorted(now, key=lambda row: places.get(CandidateId(row.id), row.ordinal))
    said = [text if text is not None and row.id == candidate else row.text for row in then]
    # What was said before this change is no reason to refuse it.
    if first_break(said, "disclose") and not first_break([row.text for row in now], "disclose"):
        raise _invalid("text", _NO_LIE)


async def _place(tx: Transaction, reply: _Reply, to: int | None) -> int:
    """Where the bubble stands from now on."""
    if to is None:
        return place_of(reply.waiting, reply.first, CandidateId(reply.own.id))
    lowest, highest = room(reply.waiting, reply.first)
    if to < reply.first:
        raise await too_late(tx, reply.job, reason=f"the bubble {to} has left")
    if not lowest <= to <= highest:
        raise _invalid("ordinal", f"between {lowest} and {highest}; a notice stays in front")
    return to


async def _price(tx: Transaction, reply: _Reply, wanted: PriceIn | None) -> str | None:
    """Within floor and ceiling of what the media cost now, as for the agent."""
    own = reply.own
    if wanted is None:
        return None
    if own.price is None or not own.media:
        raise _invalid("price", "this bubble is not for sale")
    if own.price["currency"] != wanted.currency:
        raise _invalid("price.currency", f"it is sold in {own.price['currency']}")
    names = [item["id"] for item in own.media]
    wares = await wares_for(tx, reply.conversation, names)
    if why := unsellable(names, wares):
        raise _invalid("price", why)
    price = Price(Decimal(wanted.amount), wanted.currency)
    if why := unasked(price, listed([wares[name] for name in names]), reply.conversation.persona.spec.prices):
        raise _invalid("price.amount", why)
    return json.dumps({"amount": str(exact(price).amount), "currency": price.currency})


def _invalid(field: str, sentence: str) -> Invalid:
    return Invalid(f"not accepted: {field}", [{"field": field, "message": sentence}])


async def _move(tx: Transaction, places: Sequence[Place]) -> None:
    if places:
        await tx.run(_MOVE, ids=[bubble for bubble, _ in places], ordinals=[ordinal for _, ordinal in places])


async def _begin_again(tx: Transaction, reply: _Reply, changed: Collection[CandidateId]) -> None:
    """The next bubble is not what was tried before: it has all its attempts."""
    job = reply.job
    if reply.waiting[0].id in changed and (job.tries or job.crashes):
        await tx.run(_ANEW, job=job.id, fence=job.fence)


async def _send_again(tx: Transaction, reply: _Reply) -> None:
    """What a worker prepares is not what will leave: its fence becomes an old one, the job is due at once."""
    conversation, job = reply.conversation, reply.job
    cap = conversation.organization.spec.limits.in_flight
    row = await tx.one(_AGAIN, job=job.id, fence=job.fence, org=conversation.org, cap=cap, fast=True)
    if row is not None and row.dispatched:
        tx.hints.append(DelayedSend(conversation=conversation.id, job=job.id))


async def _kept(tx: Transaction, reply: _Reply, what: str, who: str, **more: object) -> None:
    bubble = reference("bub", reply.own.id)
    await tell(tx, reply.conversation, reply.job, what, who, candidate=reply.own.id, **more)
    await note(tx, reply.conversation.org, who, f"candidate.{what}", bubble, job=reference("job", reply.job.id), **more)


async def _end(tx: Transaction, reply: _Reply, who: str) -> None:
    """Nothing is left to send. What is out ends the job when it is settled."""
    conversation, job = reply.conversation, reply.job
    states = {row.state for row in reply.bubbles}
    if CandidateState.LEAVING in states:
        return
    if job.state is JobState.SENDING and CandidateState.SENT in states:
        await endings.sent(tx, conversation, job, "dropped", who)
        return
    await send_away(tx, conversation, job, JobState.CANCELLED, "dropped", who)
    await successor(tx, conversation, job.seq)
