"""What `doctor` asks the database: is it the right one, do clock and workers keep up, can replies be delivered?"""

from collections.abc import Sequence

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from schemas.conversation import Organization, Persona
from schemas.errors import FailureKind
from schemas.health import QueueHealth, ServerHealth
from schemas.ids import OrgId, PersonaId
from schemas.jobs import Queue
from schemas.llm import Task
from schemas.resources import OrganizationLimits, OrganizationSpec, PersonaSpec
from schemas.settings import NOT_READ
from workers.adapters.postgres.migrate import fit
from workers.adapters.postgres.views.snapshot import Snapshots

NAMED = 20
"""Organisations named in one finding."""
FAILING = 3
"""Attempts at one webhook that came to nothing: what passes by itself has passed by then."""
NEVER_ASKED = frozenset(task for task in Task if f"model_{task}" in NOT_READ) | {Task.EMBEDDINGS}
"""Tasks whose own route of an organisation changes nothing: nobody asks for them, and one model makes all vectors."""

_SERVER = text(
    "SELECT current_setting('server_version_num')::int AS version, "
    "(SELECT coalesce(installed_version, default_version) FROM pg_available_extensions WHERE name = 'vector') AS vector"
)
_ROWS = " UNION ALL ".join(
    f"SELECT queue, due_at, dispatched_at, lease_until, leased_by FROM {table} WHERE {which}"
    for table in ("jobs", "deliveries", "chores")
    for which in (
        "dispatched_at IS NULL AND lease_until IS NULL AND due_at <= now()",
        "dispatched_at IS NOT NULL OR lease_until IS NOT NULL",
    )
)
_AGE = "coalesce(extract(epoch FROM now() - min({column}) FILTER (WHERE lease_until IS NULL AND {which})), 0)"
_QUEUES = text(
    "SELECT queue, count(*) FILTER (WHERE lease_until > now()) AS working, "
    "count(DISTINCT leased_by) FILTER (WHERE lease_until > now()) AS workers, "
    "count(*) FILTER (WHERE lease_until <= now()) AS lost, "
    f"{_AGE.format(column='dispatched_at', which='dispatched_at IS NOT NULL')} AS untaken, "
    f"{_AGE.format(column='due_at', which='dispatched_at IS NULL AND due_at <= now()')} AS unseen "
    f"FROM ({_ROWS}) AS rows GROUP BY queue"
)
_WEBHOOKS = text(
    "SELECT name, webhook_disabled_at IS NOT NULL AS disabled FROM organizations "
    "WHERE webhook_disabled_at IS NOT NULL OR coalesce(spec -> 'webhook', 'null') = 'null' ORDER BY name LIMIT :named"
)
# By the entries of `deliveries_due`: only what waits for another attempt.
_REPEATED = text(
    "SELECT o.name FROM deliveries d JOIN organizations o ON o.id = d.org_id "
    "WHERE d.dispatched_at IS NULL AND d.lease_until IS NULL AND d.due_at IS NOT NULL "
    "AND d.state = 'waiting' AND d.attempts >= :attempts GROUP BY o.name ORDER BY o.name LIMIT :named"
)
_COUNTS = text(
    "SELECT (SELECT count(*) FROM organizations) AS organizations, "
    "(SELECT count(*) FROM jobs WHERE attention = 'open') AS failed_jobs, "
    "(SELECT count(*) FROM dead_letters WHERE state = 'open') AS dead_letters"
)
_RATE_LIMITED = text(
    "SELECT count(*) AS jobs, coalesce(extract(epoch FROM max(parked_until) - now()), 0)::float8 AS seconds FROM jobs "
    "WHERE state = 'queued' AND reason = :reason AND parked_until > now()"
)
_MODELS = text("SELECT model, count(*) AS passages FROM chunks GROUP BY model")
_OWN_ROUTES = text(
    "SELECT DISTINCT m.value AS route FROM organizations o "
    "CROSS JOIN LATERAL jsonb_each_text(CAST(o.spec -> 'models' AS jsonb)) AS m (task, value) ORDER BY 1"
)
_OWN_IN_VAIN = text(
    "SELECT name FROM organizations WHERE CAST(spec #>> '{limits,escalation_minutes}' AS int) <> :usual "
    "ORDER BY name LIMIT :named"
)
# Alone on the machine, an organisation can hold up nobody.
_CROWDING = text(
    "SELECT name FROM organizations WHERE CAST(spec #>> '{limits,in_flight}' AS int) > :share "
    "AND (SELECT count(*) FROM organizations) > 1 ORDER BY name LIMIT :named"
)
_OWN_ROUTES_IN_VAIN = text(
    "SELECT m.task, array_agg(o.name ORDER BY o.name) AS names FROM organizations o "
    "CROSS JOIN LATERAL jsonb_object_keys(CAST(coalesce(o.spec -> 'models', '{}') AS jsonb)) AS m (task) "
    "WHERE m.task = ANY(:unread) GROUP BY m.task ORDER BY m.task"
)
_PERSONAS = text(
    "SELECT p.id, p.name, p.spec, o.id AS org, o.name AS organization, o.spec AS organization_spec "
    "FROM personas p JOIN organizations o ON o.id = p.org_id "
    "ORDER BY length(coalesce(p.spec ->> 'instructions', '')) + length(coalesce(o.spec ->> 'ai_context', '')) LIMIT 1"
)


class Health:
    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def server(self, share: int) -> ServerHealth:
        """`share`: how many threads of a worker one organisation should hold at most. Raises `Unavailable`. A schema
        that is not there yet is told by its migration alone."""
        async with self._snapshots.open() as connection:
            schema = await connection.run_sync(fit)
            row = (await connection.execute(_SERVER)).one()
            if not schema.fits:
                return ServerHealth(row.version, schema.migration, schema.newest, row.vector)
            webhooks = (await connection.execute(_WEBHOOKS, {"named": NAMED})).all()
            counts = (await connection.execute(_COUNTS)).one()
            limited = (await connection.execute(_RATE_LIMITED, {"reason": FailureKind.RATE_LIMITED.value})).one()
            models = await connection.execute(_MODELS)
            return ServerHealth(
                row.version,
                schema.migration,
                schema.newest,
                row.vector,
                later=schema.migration != schema.newest,
                queues=await _queues(connection),
                no_webhook=[row.name for row in webhooks if not row.disabled],
                disabled_webhook=[row.name for row in webhooks if row.disabled],
                failing_webhook=list(await connection.scalars(_REPEATED, {"attempts": FAILING, "named": NAMED})),
                organizations=counts.organizations,
                failed_jobs=counts.failed_jobs,
                dead_letters=counts.dead_letters,
                rate_limited=limited.jobs,
                rate_limited_seconds=limited.seconds,
                own_routes=list(await connection.scalars(_OWN_ROUTES)),
                own_in_vain=await _in_vain(connection),
                crowding=list(await connection.scalars(_CROWDING, {"share": share, "named": NAMED})),
                vectors_of={row.model: row.passages for row in models},
            )

    async def shortest_persona(self) -> tuple[Organization, Persona] | None:
        """The one that says least, with its organisation: whose prompt is cached last."""
        async with self._snapshots.open() as connection:
            row = (await connection.execute(_PERSONAS)).one_or_none()
        if row is None:
            return None
        organization = OrganizationSpec.model_validate(row.organization_spec)
        persona = PersonaSpec.model_validate(row.spec)
        return (
            Organization(OrgId(row.org), row.organization, organization),
            Persona(PersonaId(row.id), row.name, persona),
        )


async def _in_vain(connection: AsyncConnection) -> Sequence[str]:
    """A document is kept whole, with its defaults: set is what differs from them."""
    bound = {"usual": OrganizationLimits().escalation_minutes, "named": NAMED}
    whose = list(await connection.scalars(_OWN_IN_VAIN, bound))
    found = [f"limits.escalation_minutes of {', '.join(whose)}"] if whose else []
    for row in await connection.execute(_OWN_ROUTES_IN_VAIN, {"unread": sorted(NEVER_ASKED)}):
        found.append(f"models.{row.task} of {', '.join(row.names[:NAMED])}")
    return found


async def _queues(connection: AsyncConnection) -> Sequence[QueueHealth]:
    found = {row.queue: row for row in await connection.execute(_QUEUES)}
    return [
        QueueHealth(row.queue, row.working, row.workers, row.lost, float(row.untaken), float(row.unseen))
        if (row := found.get(name)) is not None
        else QueueHealth(name.value, 0, 0, 0, 0.0, 0.0)
        for name in Queue
    ]
