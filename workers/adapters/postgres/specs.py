"""The parsed documents of organisations and personas, kept by id and version: every claim needs two of them."""

from collections import OrderedDict
from typing import TypeVar

from pydantic import BaseModel
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from schemas.resources import OrganizationSpec, PersonaSpec

SpecT = TypeVar("SpecT", bound=BaseModel)

_KEPT = 4096
_LOAD_ORGANIZATION = text("SELECT spec, version FROM organizations WHERE id = :id")
_LOAD_PERSONA = text("SELECT spec, version FROM personas WHERE id = :id")


class Specs:
    """A version once parsed never changes, so nothing is ever stale; the least used are forgotten."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, int, int], BaseModel] = OrderedDict()

    async def organization(self, connection: AsyncConnection, number: int, version: int) -> OrganizationSpec:
        kept = self._kept.get(("organization", number, version))
        if isinstance(kept, OrganizationSpec):
            return kept
        row = (await connection.execute(_LOAD_ORGANIZATION, {"id": number})).one()
        return self._keep(("organization", number, row.version), OrganizationSpec.model_validate(row.spec))

    async def persona(self, connection: AsyncConnection, number: int, version: int) -> PersonaSpec:
        kept = self._kept.get(("persona", number, version))
        if isinstance(kept, PersonaSpec):
            return kept
        row = (await connection.execute(_LOAD_PERSONA, {"id": number})).one()
        return self._keep(("persona", number, row.version), PersonaSpec.model_validate(row.spec))

    def _keep(self, key: tuple[str, int, int], spec: SpecT) -> SpecT:
        self._kept[key] = spec
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return spec
