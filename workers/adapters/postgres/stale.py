"""Passages whose vectors another model made: found a few at a time, and given new ones."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text

from schemas.ids import OrgId
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.vectors import as_vector

# Both sides of ours in the index of models: where no other model is, nothing is read.
_OTHERS = " UNION ALL ".join(f"(SELECT id FROM chunks WHERE model {side} :model LIMIT :most)" for side in "<>")
_LEFT = text("SELECT count(*) FROM chunks WHERE model < :model OR model > :model")
# Of one organisation, whose ledger pays for them.
_SOME = text(
    f"WITH others AS ({_OTHERS}), found AS ("
    "SELECT c.id, c.org_id, c.text FROM chunks c JOIN others ON others.id = c.id) "
    "SELECT id, org_id, text FROM found WHERE org_id = (SELECT min(org_id) FROM found) ORDER BY id LIMIT :most"
)
# What was erased or written anew meanwhile is left alone.
_RENEW = text(
    "UPDATE chunks c SET model = :model, embedding = CAST(r.vector AS vector) "
    "FROM json_to_recordset(CAST(:rows AS json)) AS r (id bigint, text text, vector text) "
    "WHERE c.id = r.id AND c.text = r.text AND c.model <> :model"
)


@dataclass(frozen=True, slots=True)
class StalePassage:
    id: int
    org: OrgId
    text: str


class StalePassages:
    """Each call is one short transaction; none is open while a model is asked. All raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def left(self, model: str) -> int:
        """How many are not this model's."""
        async with self._db.transaction(longer=True) as connection:
            return int(await connection.scalar(_LEFT, {"model": model}) or 0)

    async def some(self, model: str, most: int) -> Sequence[StalePassage]:
        """At most so many that are not this model's, of one organisation."""
        async with self._db.transaction() as connection:
            rows = (await connection.execute(_SOME, {"model": model, "most": most})).all()
        return [StalePassage(row.id, OrgId(row.org_id), row.text) for row in rows]

    async def renew(self, model: str, passages: Sequence[StalePassage], vectors: Sequence[tuple[float, ...]]) -> int:
        """How many were still there to be given their vectors."""
        rows = [
            {"id": passage.id, "text": passage.text, "vector": as_vector(vector)}
            for passage, vector in zip(passages, vectors, strict=True)
        ]
        async with self._db.transaction() as connection:
            return (await connection.execute(_RENEW, {"model": model, "rows": json.dumps(rows)})).rowcount
