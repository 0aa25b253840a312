"""Replies of the past as their runs saw them, and the rules to try on them."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from pipelines.agent import parameters
from pipelines.autoreply.engine import Engine, engine_of
from pipelines.memory.window import first_kept, most_kept
from schemas.conversation import Attachment, Author, BubbleKind, Case, Contact, Organization, Persona, Trigger, Turn
from schemas.dry_run import DryRunIn, PastRun
from schemas.errors import Invalid, NotFound
from schemas.ids import ContactId, ConversationId, JobId, OrgId, PersonaId, reference
from schemas.resources import OrganizationSpec, PersonaSpec
from schemas.settings import Settings
from schemas.strategy import RuleSpec, StrategyDocuments
from workers.adapters.postgres.acceptable import rule_faults
from workers.adapters.postgres.provision_strategy import NAMES, strangers
from workers.adapters.postgres.specs import strategy_of
from workers.adapters.postgres.views.snapshot import Snapshots

_LOOKED_AT = 5000

_DOCUMENTS = text(
    "SELECT (SELECT json_object_agg(name, spec) FROM rules WHERE org_id = :org) AS rules, "
    "(SELECT json_object_agg(name, spec) FROM intents WHERE org_id = :org) AS intents"
)
_CONVERSATION = text("SELECT id FROM conversations WHERE org_id = :org AND name = :name")
_PERSONA = text("SELECT id FROM personas WHERE org_id = :org AND name = :name")

_NEWEST = f"SELECT * FROM jobs WHERE org_id = :org ORDER BY id DESC LIMIT {_LOOKED_AT}"
_OF_CONVERSATION = f"SELECT * FROM jobs WHERE conversation_id = :conversation ORDER BY id DESC LIMIT {_LOOKED_AT}"
# Of a job that never ran, what it would have answered when it was made.
_RUNS = """
SELECT j.id, j.trigger, j.inbound_seq, j.instruction, c.id AS conversation_id, c.name AS conversation, c.plan,
       o.name AS organization, o.spec AS organization_spec,
       p.id AS persona_id, p.name AS persona, p.spec AS persona_spec,
       ct.id AS contact_id, ct.name AS contact, ct.display_name, ct.locale, ct.timezone, ct.profile,
       COALESCE((SELECT r.started_at FROM runs r WHERE r.job_id = j.id ORDER BY r.id DESC LIMIT 1), j.created_at) AS at,
       COALESCE((SELECT a.inbound_seq FROM jobs a WHERE a.conversation_id = j.conversation_id AND a.id < j.id
                   AND a.kind <> 'delivery' AND a.state IN ('sent', 'silent')
                   ORDER BY a.id DESC LIMIT 1), 0) AS covered,
       j.state IN ('sent', 'silent')
         OR EXISTS (SELECT 1 FROM candidates k WHERE k.job_id = j.id AND k.state = 'sent') AS answered
FROM (
  SELECT n.* FROM ({newest}) n JOIN conversations nc ON nc.id = n.conversation_id
  WHERE n.kind <> 'delivery' AND (CAST(:persona AS bigint) IS NULL OR nc.persona_id = CAST(:persona AS bigint))
  ORDER BY n.id DESC LIMIT :limit
) j
JOIN conversations c ON c.id = j.conversation_id
JOIN organizations o ON o.id = j.org_id
JOIN personas p ON p.id = c.persona_id
JOIN contacts ct ON ct.id = c.contact_id
WHERE ct.erased_at IS NULL
ORDER BY j.id DESC
"""
_RUNS_OF_ALL = text(_RUNS.format(newest=_NEWEST))
_RUNS_OF_ONE = text(_RUNS.format(newest=_OF_CONVERSATION))

_TURNS = text(f"""
SELECT w.job, m.position, m.author, m.text, m.created_at, m.kind, m.attachments, m.seq
FROM unnest(CAST(:jobs AS bigint[]), CAST(:conversations AS bigint[]), CAST(:seqs AS int[]),
            CAST(:moments AS timestamptz[])) AS w (job, conversation, seq, moment)
CROSS JOIN LATERAL (
  SELECT t.* FROM messages t
  WHERE t.conversation_id = w.conversation AND t.deleted_at IS NULL AND t.author <> 'system' AND t.kind <> 'notice'
    AND CASE WHEN t.author = 'contact' THEN t.seq <= w.seq ELSE t.created_at <= w.moment END
  ORDER BY t.position DESC LIMIT {most_kept()}
) m
ORDER BY w.job, m.position
""")


class DryRuns:
    def __init__(self, snapshots: Snapshots, settings: Settings) -> None:
        self._snapshots = snapshots
        self._settings = settings

    async def load(self, org: OrgId, wanted: DryRunIn) -> tuple[StrategyDocuments, set[str], list[PastRun]]:
        """The rules and intents with the draft among them, the names of those to try, and the replies. Two statements
        for any number of replies. Raises Invalid, NotFound."""
        _refuse_faults(wanted)
        async with self._snapshots.open(longer=True) as connection:
            documents = await _documents(connection, org, wanted)
            past = await _past(connection, org, wanted, self._settings)
        named = {*wanted.rules, *([wanted.rule.name] if wanted.rule else [])}
        return documents, named or set(documents.rules), past


def _refuse_faults(wanted: DryRunIn) -> None:
    faults = list(rule_faults(wanted.rule)) if wanted.rule else []
    if faults:
        errors = [{"field": f"rule.{field}", "message": message} for field, message in faults]
        raise Invalid(f"not accepted: {', '.join(error['field'] for error in errors)}", errors)


async def _documents(connection: AsyncConnection, org: OrgId, wanted: DryRunIn) -> StrategyDocuments:
    row = (await connection.execute(_DOCUMENTS, {"org": org})).one()
    stored = strategy_of(row.rules, row.intents)
    rules: dict[str, RuleSpec] = dict(stored.rules)
    if wanted.rule is not None:
        rules[wanted.rule.name] = wanted.rule
    errors = [
        {"field": f"rules.{n}", "message": f"there is no rule {name!r} in this organisation"}
        for n, name in enumerate(wanted.rules)
        if name not in rules
    ]
    if wanted.rule is not None:
        there = (await connection.execute(NAMES, {"org": org})).one()
        errors += [
            {"field": f"rule.{field}", "message": message} for field, message in strangers(wanted.rule, there, rules)
        ]
    if errors:
        raise Invalid(f"not accepted: {', '.join(error['field'] for error in errors)}", errors)
    return StrategyDocuments(rules, stored.intents)


async def _past(connection: AsyncConnection, org: OrgId, wanted: DryRunIn, settings: Settings) -> list[PastRun]:
    bound: dict[str, Any] = {"org": org, "limit": wanted.limit, "persona": None}
    if wanted.persona is not None:
        bound["persona"] = await _known(connection, _PERSONA, org, "persona", wanted.persona)
    statement = _RUNS_OF_ALL
    if wanted.conversation is not None:
        statement = _RUNS_OF_ONE
        bound["conversation"] = await _known(connection, _CONVERSATION, org, "conversation", wanted.conversation)
        del bound["org"]
    rows = (await connection.execute(statement, bound)).all()
    turns = await _turns(connection, rows)
    return [_run(org, row, turns[row.id], settings) for row in rows]


async def _known(connection: AsyncConnection, statement: Any, org: OrgId, kind: str, name: str) -> int:
    number: int | None = await connection.scalar(statement, {"org": org, "name": name})
    if number is None:
        raise NotFound(f"there is no {kind} {name!r}")
    return number


async def _turns(connection: AsyncConnection, runs: Sequence[Any]) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = defaultdict(list)
    bound = {
        "jobs": [run.id for run in runs],
        "conversations": [run.conversation_id for run in runs],
        "seqs": [run.inbound_seq for run in runs],
        "moments": [run.at for run in runs],
    }
    for turn in await connection.execute(_TURNS, bound):
        found[turn.job].append(turn)
    return found


def _run(org: OrgId, row: Any, turns: Sequence[Any], settings: Settings) -> PastRun:
    first = first_kept([turn.position for turn in turns])
    shown = tuple(_turn(turn, row.covered) for turn in turns if turn.position >= first)
    # A message can lie a moment after its job, which is made in the same transaction.
    now = max([row.at, *(turn.at for turn in shown)])
    case = Case(
        now=now,
        organization=Organization(org, row.organization, OrganizationSpec.model_validate(row.organization_spec)),
        persona=Persona(PersonaId(row.persona_id), row.persona, PersonaSpec.model_validate(row.persona_spec)),
        contact=Contact(
            ContactId(row.contact_id), row.contact, row.display_name, row.locale, row.timezone, row.profile
        ),
        conversation=ConversationId(row.conversation_id),
        conversation_name=row.conversation,
        job=JobId(row.id),
        trigger=Trigger(row.trigger),
        turns=shown,
        plan=row.plan,
        instruction=row.instruction,
        sent_texts=tuple(turn.text for turn in shown if turn.author is Author.AI),
    )
    limits = parameters.resolve(settings, case.organization.spec.agent, case.persona.spec.agent)
    classified = engine_of(limits, case.persona.spec) is Engine.V1
    return PastRun(reference("job", row.id), now, case, row.answered, classified)


def _turn(row: Any, covered: int) -> Turn:
    return Turn(
        position=row.position,
        author=Author(row.author),
        text=row.text,
        at=row.created_at,
        kind=BubbleKind(row.kind),
        attachments=tuple(Attachment(item["type"], item["url"]) for item in row.attachments or ()),
        answered=row.author != Author.CONTACT or row.seq <= covered,
    )
