"""Rules and intents of a batch: stored, held against what they name, and counted as a new version of the strategy."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from schemas.answers import Change
from schemas.errors import Invalid
from schemas.manifest import Manifest
from schemas.resources import stored
from schemas.strategy import MAX_RULES, IntentDocument, RuleDocument, RuleSpec
from workers.adapters.postgres.audit import write_audit

Spec = dict[str, Any]

_STORED = {
    table: text(f"SELECT name, spec FROM {table} WHERE org_id = :org AND name = ANY(:names)")
    for table in ("rules", "intents")
}
_KEEP = {
    table: text(
        f"INSERT INTO {table} (org_id, name, spec) VALUES (:org, :name, CAST(:spec AS jsonb)) "
        "ON CONFLICT (org_id, name) DO UPDATE SET spec = EXCLUDED.spec, updated_at = clock_timestamp()"
    )
    for table in ("rules", "intents")
}
NAMES = text(
    "SELECT ARRAY(SELECT name FROM rules WHERE org_id = :org) AS rules, "
    "ARRAY(SELECT name FROM intents WHERE org_id = :org) AS intents, "
    "ARRAY(SELECT name FROM personas WHERE org_id = :org) AS personas"
)
_NEXT_VERSION = text("UPDATE organizations SET strategy_version = strategy_version + 1 WHERE id = :org")

Named = Iterator[tuple[str, str, str]]
"""(field, what kind of thing it names, its name)."""


async def apply_strategy(
    connection: AsyncConnection, org: int, who: str, manifest: Manifest
) -> dict[tuple[str, str], Change]:
    """What became of the rules and intents, by kind and name. The organisation's row is locked, its personas are
    stored. Raises Invalid for names that nothing has."""
    documents = [item for item in manifest.resources if isinstance(item, RuleDocument | IntentDocument)]
    if not documents:
        return {}
    changes: dict[tuple[str, str], Change] = {}
    for table, kind in (("intents", IntentDocument), ("rules", RuleDocument)):
        own = [document for document in documents if isinstance(document, kind)]
        rows = await connection.execute(_STORED[table], {"org": org, "names": [document.name for document in own]})
        before: Mapping[str, Spec] = {row.name: row.spec for row in rows}
        for document in own:
            change = await _keep(connection, org, who, table, document, before.get(document.name))
            changes[document.kind, document.name] = change
    if set(changes.values()) != {Change.UNCHANGED}:
        await connection.execute(_NEXT_VERSION, {"org": org})
        await _refuse_strangers(connection, org, manifest)
    return changes


async def _keep(
    connection: AsyncConnection,
    org: int,
    who: str,
    table: str,
    document: RuleDocument | IntentDocument,
    before: Spec | None,
) -> Change:
    spec = stored(document)
    if spec == before:
        return Change.UNCHANGED
    await connection.execute(_KEEP[table], {"org": org, "name": document.name, "spec": json.dumps(spec)})
    change = Change.CREATED if before is None else Change.UPDATED
    changed = sorted(key for key in spec if spec[key] != (before or {}).get(key))
    await write_audit(connection, org, who, f"{document.kind.lower()}.{change}", document.name, {"changed": changed})
    return change


async def _refuse_strangers(connection: AsyncConnection, org: int, manifest: Manifest) -> None:
    """After all of the batch is stored, so that its documents may name each other in any order."""
    there = (await connection.execute(NAMES, {"org": org})).one()
    errors = [
        {"field": f"resources.{n}.{field}", "message": message}
        for n, item in enumerate(manifest.resources)
        if isinstance(item, RuleDocument)
        for field, message in strangers(item, there)
    ]
    if errors:
        raise Invalid(f"not accepted: {', '.join(error['field'] for error in errors)}", errors)
    _refuse_too_many(there.rules, manifest)


def _refuse_too_many(rules: Sequence[str], manifest: Manifest) -> None:
    if len(rules) > MAX_RULES:
        last = max(n for n, item in enumerate(manifest.resources) if isinstance(item, RuleDocument))
        message = f"an organisation has at most {MAX_RULES} rules, and with this batch it would have {len(rules)}"
        raise Invalid("too many rules", [{"field": f"resources.{last}.kind", "message": message}])


def strangers(rule: RuleSpec, there: Any, drafts: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """(field, sentence) of each name that nothing has. `there` is a row of `NAMES`, `drafts` are rules beside it."""
    known = {"rule": {*there.rules, *drafts}, "intent": set(there.intents), "persona": set(there.personas)}
    for field, kind, name in _named(rule):
        if name not in known[kind]:
            yield field, f"there is no {kind} {name!r} in this organisation or batch"


def _named(rule: RuleSpec) -> Named:
    if rule.persona is not None:
        yield "persona", "persona", rule.persona
    yield from (("excludes", "rule", name) for name in rule.excludes)
    yield from (("requires", "rule", name) for name in rule.requires)
    if rule.then.force_intent is not None:
        yield "then.force_intent", "intent", rule.then.force_intent
    if rule.then.reroute_intent is not None:
        yield "then.reroute_intent.from", "intent", rule.then.reroute_intent.from_
        yield "then.reroute_intent.to", "intent", rule.then.reroute_intent.to
