"""The parsed documents of organisations and personas, kept by id and version: every claim needs them."""

from collections import OrderedDict
from typing import Any, TypeVar

from psycopg import AsyncConnection
from psycopg.rows import TupleRow
from pydantic import BaseModel

from schemas.resources import OrganizationSpec, PersonaSpec
from schemas.strategy import NO_DOCUMENTS, IntentSpec, RuleSpec, StrategyDocuments

SpecT = TypeVar("SpecT", bound=BaseModel | StrategyDocuments)

Version = tuple[int, int]
"""(id, version) of a document."""

_KEPT = 4096
_LOAD_ORGANIZATION = "SELECT spec, version FROM organizations WHERE id = %s"
_LOAD_PAIR = """
SELECT o.spec, o.version, p.spec, p.version FROM organizations o CROSS JOIN personas p WHERE o.id = %s AND p.id = %s
"""
_LOAD_STRATEGY = """
SELECT o.strategy_version,
       (SELECT json_object_agg(r.name, r.spec) FROM rules r WHERE r.org_id = o.id),
       (SELECT json_object_agg(i.name, i.spec) FROM intents i WHERE i.org_id = o.id)
FROM organizations o WHERE o.id = %s
"""


def strategy_of(rules: dict[str, Any] | None, intents: dict[str, Any] | None) -> StrategyDocuments:
    """From the stored specs by name."""
    return StrategyDocuments(
        {name: RuleSpec.model_validate(spec, strict=False) for name, spec in (rules or {}).items()},
        {name: IntentSpec.model_validate(spec, strict=False) for name, spec in (intents or {}).items()},
    )


class Specs:
    """A version once parsed never changes, so nothing is ever stale; the least used are forgotten."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, int, int], BaseModel | StrategyDocuments] = OrderedDict()

    async def pair(
        self, connection: AsyncConnection[TupleRow], organization: Version, persona: Version
    ) -> tuple[OrganizationSpec, PersonaSpec]:
        """Both in one statement when one is not known; as stored by now, should a newer version be there already."""
        theirs = self._kept.get(("organization", *organization))
        own = self._kept.get(("persona", *persona))
        if isinstance(theirs, OrganizationSpec) and isinstance(own, PersonaSpec):
            return theirs, own
        row = await (await connection.execute(_LOAD_PAIR, (organization[0], persona[0]))).fetchone()
        if row is None:
            raise AssertionError(f"no organisation {organization[0]} or no persona {persona[0]}")
        return (
            self._keep(("organization", organization[0], row[1]), OrganizationSpec.model_validate(row[0])),
            self._keep(("persona", persona[0], row[3]), PersonaSpec.model_validate(row[2])),
        )

    async def organization(self, connection: AsyncConnection[TupleRow], number: int, version: int) -> OrganizationSpec:
        kept = self._kept.get(("organization", number, version))
        if isinstance(kept, OrganizationSpec):
            return kept
        row = await (await connection.execute(_LOAD_ORGANIZATION, (number,))).fetchone()
        if row is None:
            raise AssertionError(f"no organisation {number}")
        return self._keep(("organization", number, row[1]), OrganizationSpec.model_validate(row[0]))

    async def strategy(self, connection: AsyncConnection[TupleRow], number: int, version: int) -> StrategyDocuments:
        """The rules and intents of an organisation. Version 0: it never had any."""
        if version == 0:
            return NO_DOCUMENTS
        kept = self._kept.get(("strategy", number, version))
        if isinstance(kept, StrategyDocuments):
            return kept
        row = await (await connection.execute(_LOAD_STRATEGY, (number,))).fetchone()
        if row is None:
            raise AssertionError(f"no organisation {number}")
        return self._keep(("strategy", number, row[0]), strategy_of(row[1], row[2]))

    def _keep(self, key: tuple[str, int, int], spec: SpecT) -> SpecT:
        self._kept[key] = spec
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return spec
