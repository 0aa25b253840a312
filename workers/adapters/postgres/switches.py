"""What somebody at the console turns off at once, and on again: a rule, a photo or video. The rest of the document, and
what its file says, stay as they are: applying the file again is the newer word."""

from sqlalchemy import text

from schemas.errors import NotFound
from schemas.ids import OrgId
from workers.adapters.postgres.audit import write_audit
from workers.adapters.postgres.database import Database

# As for a manifest: changes of one organisation's strategy come one after the other.
_LOCK = text("SELECT id FROM organizations WHERE id = :org FOR NO KEY UPDATE")
_RULE = text(
    "SELECT coalesce(CAST(spec ->> 'enabled' AS boolean), true) AS it FROM rules WHERE org_id = :org AND name = :name"
)
_SWITCH_RULE = text(
    "WITH switched AS (UPDATE rules SET spec = jsonb_set(spec, '{enabled}', to_jsonb(CAST(:on AS boolean))), "
    "updated_at = clock_timestamp() WHERE org_id = :org AND name = :name) "
    "UPDATE organizations SET strategy_version = strategy_version + 1 WHERE id = :org"
)
_MEDIA = text("SELECT deleted_at IS NULL AS it FROM media_items WHERE org_id = :org AND name = :name FOR NO KEY UPDATE")
_SWITCH_MEDIA = text(
    "UPDATE media_items SET deleted_at = CASE WHEN :on THEN NULL ELSE clock_timestamp() END, "
    "updated_at = clock_timestamp() WHERE org_id = :org AND name = :name"
)


class Switches:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def rule(self, org: OrgId, name: str, on: bool, who: str) -> bool:
        """The next run obeys. False: it was so already. Raises NotFound."""
        async with self._db.transaction() as connection:
            await connection.execute(_LOCK, {"org": org})
            bound = {"org": org, "name": name}
            row = (await connection.execute(_RULE, bound)).one_or_none()
            if row is None:
                raise NotFound("no such rule")
            if row.it == on:
                return False
            await connection.execute(_SWITCH_RULE, bound | {"on": on})
            await write_audit(connection, org, who, "rule.updated", name, {"changed": ["enabled"], "enabled": on})
        return True

    async def media(self, org: OrgId, name: str, on: bool, who: str) -> bool:
        """What is withdrawn is offered no more, and what waits with it is stopped before it leaves. False: it was so
        already. Raises NotFound."""
        async with self._db.transaction() as connection:
            bound = {"org": org, "name": name}
            row = (await connection.execute(_MEDIA, bound)).one_or_none()
            if row is None:
                raise NotFound("no such media")
            if row.it == on:
                return False
            await connection.execute(_SWITCH_MEDIA, bound | {"on": on})
            action = "media.brought_back" if on else "media.withdrawn"
            await write_audit(connection, org, who, action, name, {})
        return True
