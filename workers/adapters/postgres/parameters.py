"""Parameters changed by hand: some fields of what is provisioned, by somebody who has seen the rest."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from sqlalchemy import text

from schemas.errors import Conflict, Invalid, NotFound
from schemas.ids import OrgId
from schemas.manifest import Manifest
from schemas.resources import OrganizationDocument, PersonaDocument, stored
from workers.adapters.postgres.acceptable import refuse_unacceptable
from workers.adapters.postgres.audit import write_audit
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.provision import changes_of

_ORGANIZATION = text("SELECT id, name, spec, version FROM organizations WHERE id = :org FOR NO KEY UPDATE")
_PERSONA = text("SELECT id, name, spec, version FROM personas WHERE org_id = :org AND name = :name FOR NO KEY UPDATE")
# Unlike a whole document this says nothing of the webhook: one that its receiver has disabled stays so.
_KEEP = {
    table: text(
        f"UPDATE {table} SET spec = CAST(:spec AS jsonb), version = version + 1, updated_at = clock_timestamp() "
        "WHERE id = :id"
    )
    for table in ("organizations", "personas")
}
_LAST = text(
    "SELECT who, at FROM audit_log WHERE org_id = :org AND subject = :subject AND action = :action "
    "ORDER BY id DESC LIMIT 1"
)


class Parameters:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def change(
        self, org: OrgId, persona: str | None, version: int, fields: Mapping[str, Any], who: str
    ) -> list[str]:
        """`fields` by path, as `agent.MaxIterations` or `autonomy`, of the persona or else of the organisation, as it
        was at `version`. Answers which changed. The next run that begins obeys. Raises Invalid, NotFound, and Conflict
        (`by`, `at`) when somebody else has changed it since."""
        table, kind = ("organizations", "organization") if persona is None else ("personas", "persona")
        async with self._db.transaction() as connection:
            statement = _ORGANIZATION if persona is None else _PERSONA
            row = (await connection.execute(statement, {"org": org, "name": persona})).one_or_none()
            if row is None:
                raise NotFound("no such persona")
            if row.version != version:
                bound = {"org": org, "subject": row.name, "action": f"{kind}.updated"}
                last = (await connection.execute(_LAST, bound)).one_or_none()
                by, at = (last.who, last.at) if last else (None, None)
                raise Conflict("somebody else has changed it since", state="changed", by=by, at=at)
            spec = _checked(kind, row.name, _with(row.spec, fields))
            if spec == row.spec:
                return []
            await connection.execute(_KEEP[table], {"id": row.id, "spec": json.dumps(spec)})
            facts = changes_of(row.spec, spec)
            await write_audit(connection, org, who, f"{kind}.updated", row.name, facts)
        return [path for path in fields if _at(spec, path) != _at(row.spec, path)]


def _with(spec: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    changed: dict[str, Any] = json.loads(json.dumps(spec))
    for path, value in fields.items():
        *groups, leaf = path.split(".")
        place = changed
        for group in groups:
            place = place.setdefault(group, {})
        place[leaf] = value
    return changed


def _at(spec: Mapping[str, Any], path: str) -> Any:
    found: Any = spec
    for part in path.split("."):
        found = (found or {}).get(part)
    return found


def _checked(kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec as `apply` would keep it. Raises Invalid."""
    form = OrganizationDocument if kind == "organization" else PersonaDocument
    try:
        document = form.model_validate_json(json.dumps({**spec, "kind": kind.capitalize(), "name": name}))
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        found = [{"field": ".".join(map(str, problem["loc"])), "message": problem["msg"]} for problem in problems]
        raise Invalid("not accepted", found) from None
    refuse_unacceptable(Manifest.model_construct(resources=[document]))
    return stored(document)
