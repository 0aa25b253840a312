"""The parsed documents of organisations and personas, kept by id and version: every claim needs two of them."""

from collections import OrderedDict
from typing import LiteralString, TypeVar

from psycopg import AsyncConnection
from psycopg.rows import TupleRow
from pydantic import BaseModel

from schemas.resources import OrganizationSpec, PersonaSpec

SpecT = TypeVar("SpecT", bound=BaseModel)

_KEPT = 4096
_LOAD_ORGANIZATION = "SELECT spec, version FROM organizations WHERE id = %s"
_LOAD_PERSONA = "SELECT spec, version FROM personas WHERE id = %s"


class Specs:
    """A version once parsed never changes, so nothing is ever stale; the least used are forgotten."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, int, int], BaseModel] = OrderedDict()

    async def organization(self, connection: AsyncConnection[TupleRow], number: int, version: int) -> OrganizationSpec:
        kept = self._kept.get(("organization", number, version))
        if isinstance(kept, OrganizationSpec):
            return kept
        spec, found = await _load(connection, _LOAD_ORGANIZATION, number)
        return self._keep(("organization", number, found), OrganizationSpec.model_validate(spec))

    async def persona(self, connection: AsyncConnection[TupleRow], number: int, version: int) -> PersonaSpec:
        kept = self._kept.get(("persona", number, version))
        if isinstance(kept, PersonaSpec):
            return kept
        spec, found = await _load(connection, _LOAD_PERSONA, number)
        return self._keep(("persona", number, found), PersonaSpec.model_validate(spec))

    def _keep(self, key: tuple[str, int, int], spec: SpecT) -> SpecT:
        self._kept[key] = spec
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return spec


async def _load(connection: AsyncConnection[TupleRow], statement: LiteralString, number: int) -> tuple[object, int]:
    """The document as stored, and the version it is by now."""
    row = await (await connection.execute(statement, (number,))).fetchone()
    if row is None:
        raise AssertionError(f"no row {number}: {statement}")
    return row[0], row[1]
