"""The facts behind "why no answer?": one conversation, its message or job, in one moment of the database."""

from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from schemas.claims import JobState
from schemas.errors import Code, Conflict, NotFound
from schemas.ids import OrgId, number_of, reference
from schemas.ops import DeliveryFacts, Facts, JobFacts, Line, MessageFacts, Subject
from schemas.resources import OrganizationLimits, PersonaSpec
from workers.adapters.postgres.jobs import LIVE
from workers.adapters.postgres.retriable import LOOK, facts_of
from workers.adapters.postgres.views.snapshot import Snapshots
from workers.adapters.postgres.views.trace import plan_read

_OF_JOB = text(
    "SELECT j.conversation_id AS conversation, j.id AS job FROM jobs j "
    "WHERE j.id = :id AND (CAST(:org AS bigint) IS NULL OR j.org_id = :org)"
)
# Through organizations, because the indexes on names start with the organisation.
_NAMED = (
    "SELECT {columns}, o.name AS organization FROM organizations o "
    "JOIN {table} t ON t.org_id = o.id AND t.name = :name "
    "WHERE CAST(:org AS bigint) IS NULL OR o.id = :org ORDER BY o.id LIMIT 20"
)
_CONVERSATION_NAMED = text(_NAMED.format(columns="t.id AS conversation", table="conversations"))
_MESSAGE_COLUMNS = "t.conversation_id AS conversation, t.id AS message"
_MESSAGE_NAMED = text(_NAMED.format(columns=_MESSAGE_COLUMNS, table="messages"))
_OUR_MESSAGE = text(
    f"SELECT {_MESSAGE_COLUMNS} FROM messages t WHERE t.id = :id AND (CAST(:org AS bigint) IS NULL OR t.org_id = :org)"
)

# What the contact did up to `covered` needs no answer any more: a reply, a silence or a person has dealt with it.
_CONVERSATION = text(
    "SELECT clock_timestamp() AS now, c.id, c.name, c.handled_by, c.handled_by_who, c.handled_at, c.paused_until, "
    "o.name AS organization, o.webhook_disabled_at, o.spec -> 'limits' ->> 'in_flight' AS cap, p.name AS persona, "
    "c.follow_up_at, (SELECT CASE WHEN m.reason LIKE 'no_follow_up:%' THEN m.text END FROM messages m "
    " WHERE m.conversation_id = c.id AND m.author = 'system' AND m.position = c.last_position) AS no_follow_up, "
    "p.spec ->> 'autonomy' AS autonomy, k.erased_at, k.locked_at, k.opted_out_at, "
    "EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = c.id AND m.author = 'contact' "
    " AND m.deleted_at IS NULL AND m.seq > GREATEST(c.operator_seq, COALESCE((SELECT j.inbound_seq FROM jobs j "
    " WHERE j.conversation_id = c.id AND j.kind <> 'delivery' AND j.state IN ('sent', 'silent') "
    " ORDER BY j.id DESC LIMIT 1), 0))) AS unanswered "
    "FROM conversations c JOIN organizations o ON o.id = c.org_id JOIN personas p ON p.id = c.persona_id "
    "JOIN contacts k ON k.id = c.contact_id WHERE c.id = :conversation"
)
_MESSAGE = text("SELECT author, seq, created_at, deleted_at, reason, job_id FROM messages WHERE id = :message")

# Not every event is a move: bubbles are changed, the list of attention is read. And of a reply on hold only what has
# put it there tells why it waits, though a bubble that was out is accepted meanwhile.
_STOPPED = "'decided', 'hold', 'speech_failed', 'link_failed', 'media_not_sendable'"
_JOB = (
    "SELECT j.*, e.at AS moved_at, e.who AS moved_by, e.why AS moved_why, e.facts AS moved_facts "
    "FROM jobs j LEFT JOIN LATERAL "
    "(SELECT * FROM job_events WHERE job_id = j.id "
    " AND (from_state IS DISTINCT FROM to_state OR why NOT IN ('edited', 'dropped', 'dismissed')) "
    f" AND (NOT j.on_hold OR why IN ({_STOPPED})) ORDER BY id DESC LIMIT 1) e ON true "
)
_ONE_JOB = text(_JOB + "WHERE j.id = :job")
_NEWEST_JOB = text(
    _JOB + "WHERE j.conversation_id = :conversation AND j.kind <> 'delivery' "
    f"ORDER BY j.state IN {LIVE} DESC, j.id DESC LIMIT 1"
)
# Of all that covered the message, what says most about it: a reply before a failure, both before what was moved aside.
_COVERING_JOB = text(
    _JOB + "WHERE j.conversation_id = :conversation AND j.kind <> 'delivery' AND j.inbound_seq >= :seq "
    "ORDER BY CASE j.state WHEN 'superseded' THEN 3 WHEN 'cancelled' THEN 2 WHEN 'failed' THEN 1 ELSE 0 END, "
    "j.id LIMIT 1"
)
# A running or pinned reply counts what came behind it only when it ends; until then that one answers for it.
# One that ended otherwise than without an answer says nothing of what it does not cover.
_JOB_AHEAD = text(
    _JOB + "WHERE j.conversation_id = :conversation AND j.kind <> 'delivery' "
    f"AND (j.state IN {LIVE} OR (j.id = :own AND j.state IN ('cancelled', 'failed'))) "
    f"ORDER BY j.state IN {LIVE} DESC LIMIT 1"
)
_BUBBLE_OUT = text(
    "SELECT d.* FROM deliveries d WHERE d.conversation_id = :conversation AND d.candidate_id IS NOT NULL "
    "AND d.state IN ('posting', 'waiting') LIMIT 1"
)
_LAST_BUBBLE = text(
    "SELECT d.* FROM candidates k JOIN deliveries d ON d.candidate_id = k.id WHERE k.job_id = :job "
    "ORDER BY d.id DESC LIMIT 1"
)
_AGAIN = text(LOOK)
_IN_LINE = text(
    "SELECT count(*) FILTER (WHERE org_id = :org) AS in_flight, "
    "count(*) FILTER (WHERE lease_until > clock_timestamp()) AS working FROM ("
    + " UNION ALL ".join(
        f"SELECT org_id, lease_until FROM {table} WHERE queue = :queue "
        "AND (dispatched_at IS NOT NULL OR lease_until IS NOT NULL)"
        for table in ("jobs", "deliveries")
    )
    + ") AS rows"
)
_DEFAULT_CAP = OrganizationLimits().in_flight
_DEFAULT_AUTONOMY = PersonaSpec().autonomy


class Explain:
    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def facts(self, org: OrgId | None, subject: str) -> tuple[Facts, str, str]:
        """What is known, the organisation's name, the conversation's. `subject`: `job_…`, else a conversation's name,
        else a message's. Raises NotFound; Conflict when no organisation is given and several have such a name."""
        async with self._snapshots.open() as connection:
            kind, found = await _find(connection, org, subject)
            row = (await connection.execute(_CONVERSATION, {"conversation": found.conversation})).one()
            message = await _message(connection, found) if kind is Subject.MESSAGE else None
            job = await _job(connection, kind, found, message)
            facts = await _facts(connection, kind, row, message, job)
        return facts, row.organization, row.name


async def _find(connection: AsyncConnection, org: OrgId | None, subject: str) -> tuple[Subject, Any]:
    if (number := number_of("job", subject)) is not None:
        rows = (await connection.execute(_OF_JOB, {"id": number, "org": org})).all()
        if rows:
            return Subject.JOB, rows[0]
    for kind, statement in ((Subject.CONVERSATION, _CONVERSATION_NAMED), (Subject.MESSAGE, _MESSAGE_NAMED)):
        rows = (await connection.execute(statement, {"name": subject, "org": org})).all()
        if len(rows) > 1:
            several = [row.organization for row in rows]
            raise Conflict(f"several organisations have a {kind} of that name", organizations=several)
        if rows:
            return kind, rows[0]
    if (number := number_of("msg", subject)) is not None:
        rows = (await connection.execute(_OUR_MESSAGE, {"id": number, "org": org})).all()
        if rows:
            return Subject.MESSAGE, rows[0]
    raise NotFound("no conversation, message or job is called that")


async def _message(connection: AsyncConnection, found: Any) -> Any:
    return (await connection.execute(_MESSAGE, {"message": found.message})).one()


async def _job(connection: AsyncConnection, kind: Subject, found: Any, message: Any) -> Any:
    """The job asked about; of a message the one that covers it, or that it
    waits behind; of a conversation the live one, else the newest."""
    if kind is Subject.JOB:
        return (await connection.execute(_ONE_JOB, {"job": found.job})).one()
    bound = {"conversation": found.conversation}
    if message is None:
        return (await connection.execute(_NEWEST_JOB, bound)).one_or_none()
    if message.seq is None:
        return None
    covering = (await connection.execute(_COVERING_JOB, {**bound, "seq": message.seq})).one_or_none()
    if covering is not None:
        return covering
    return (await connection.execute(_JOB_AHEAD, {**bound, "own": message.job_id})).one_or_none()


async def _facts(connection: AsyncConnection, kind: Subject, row: Any, message: Any, job: Any) -> Facts:
    return Facts(
        now=row.now,
        subject=kind,
        handled_by=row.handled_by,
        handled_by_who=row.handled_by_who,
        handled_at=row.handled_at,
        persona=row.persona,
        autonomy=row.autonomy or _DEFAULT_AUTONOMY,
        unanswered=row.unanswered,
        paused_until=row.paused_until,
        erased_at=row.erased_at,
        locked_at=row.locked_at,
        opted_out_at=row.opted_out_at,
        webhook_disabled_at=row.webhook_disabled_at,
        follow_up_at=row.follow_up_at,
        no_follow_up=row.no_follow_up,
        conversation=row.name,
        message=None if message is None else _message_facts(message),
        job=None if job is None else await _job_facts(connection, row, job),
        delivery=None if job is None else await _delivery_facts(connection, row, job),
    )


def _message_facts(message: Any) -> MessageFacts:
    return MessageFacts(message.author, message.created_at, message.deleted_at, message.reason)


async def _job_facts(connection: AsyncConnection, conversation: Any, job: Any) -> JobFacts:
    return JobFacts(
        id=reference("job", job.id),
        state=JobState(job.state),
        line=await _line(connection, conversation, job),
        moved_at=job.moved_at or job.created_at,
        moved_by=job.moved_by or "system",
        moved_why=job.moved_why or "",
        code=None if job.code is None else Code(job.code),
        reason=job.reason,
        note=job.note,
        detail=(job.moved_facts or {}).get("detail"),
        on_hold=job.on_hold,
        tries=job.tries,
        parked_until=job.parked_until,
        ended_at=job.ended_at,
        rules=job.rules or (),
        plan=await plan_read(connection, job.id),
        again=facts_of((await connection.execute(_AGAIN, {"job": job.id})).one()),
    )


async def _delivery_facts(connection: AsyncConnection, conversation: Any, job: Any) -> DeliveryFacts | None:
    """The bubble that is out holds the conversation up, whichever job it belongs to."""
    found = (await connection.execute(_BUBBLE_OUT, {"conversation": conversation.id})).one_or_none()
    if found is None:
        found = (await connection.execute(_LAST_BUBBLE, {"job": job.id})).one_or_none()
    if found is None:
        return None
    return DeliveryFacts(
        state=found.state,
        line=await _line(connection, conversation, found),
        attempts=found.attempts,
        ambiguous=found.ambiguous,
        error=found.error,
        first_attempt_at=found.first_attempt_at,
    )


async def _line(connection: AsyncConnection, conversation: Any, row: Any) -> Line:
    line = (await connection.execute(_IN_LINE, {"org": row.org_id, "queue": row.queue})).one()
    return Line(
        queue=row.queue,
        due_at=row.due_at,
        dispatched_at=row.dispatched_at,
        lease_until=row.lease_until,
        working=line.working,
        in_flight=line.in_flight,
        cap=_DEFAULT_CAP if conversation.cap is None else int(conversation.cap),
    )
