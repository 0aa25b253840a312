"""The audit log: one row for everything a person or a key changed by hand, in the transaction that changes it."""

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from schemas.ids import JobId, OrgId, reference
from workers.adapters.postgres.transaction import Transaction, sql

_INSERT = """INSERT INTO audit_log (org_id, who, action, subject, facts)
VALUES (:org, :who, :action, :subject, CAST(:facts AS jsonb))"""
_WRITE = text(_INSERT)
_NOTE = sql(_INSERT)


async def write_audit(
    connection: AsyncConnection, org: int | None, who: str, action: str, subject: str, facts: Mapping[str, Any]
) -> None:
    """`action` is `thing.happened`; `facts` is JSON and never holds a secret or what people wrote to each other."""
    values = {"org": org, "who": who, "action": action, "subject": subject, "facts": json.dumps(facts)}
    await connection.execute(_WRITE, values)


async def note(tx: Transaction, org: OrgId, who: str, action: str, subject: str, **facts: Any) -> None:
    """The same within a guarded transition."""
    await tx.run(_NOTE, org=org, who=who, action=action, subject=subject, facts=json.dumps(facts))


async def note_job(tx: Transaction, org: OrgId, who: str, action: str, job: JobId, **facts: Any) -> None:
    await note(tx, org, who, action, reference("job", job), **facts)
