"""`POST /v1/apply`: documents in, rows out, all or nothing."""

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from pipelines.delivery import notice
from pipelines.memory.documents import fingerprint, passages, prepared
from pipelines.ports import Embedder
from schemas.answers import Applied, ApplyOut, Change
from schemas.documents import KnowledgeDocument
from schemas.errors import Conflict, Invalid, NotFound
from schemas.ids import OrgId
from schemas.manifest import Manifest
from schemas.memory import Passage
from schemas.resources import (
    OrganizationDocument,
    PersonaDocument,
    stored,
)
from schemas.responsibility import NOTICE_RESPONSIBILITY, NOTICE_RESPONSIBILITY_VERSION
from schemas.showcase import AlbumDocument, MediaDocument
from schemas.users import UserDocument
from workers.adapters.postgres.acceptable import refuse_unacceptable
from workers.adapters.postgres.again import decided
from workers.adapters.postgres.audit import write_audit
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.documents import KNOWN, ChangedMeanwhile, Ready, Shelf
from workers.adapters.postgres.provision_strategy import apply_strategy
from workers.adapters.postgres.provision_users import apply_users
from workers.adapters.postgres.showcase import MeantOtherwise, Showcase, Vectors, meanings

_NEW_ORGANIZATION = text(
    "INSERT INTO organizations (id, name, spec) OVERRIDING SYSTEM VALUE "
    "VALUES (coalesce(CAST(:id AS bigint), nextval(pg_get_serial_sequence('organizations', 'id'))), :name, "
    "CAST(:spec AS jsonb)) "
    "ON CONFLICT (name) DO NOTHING RETURNING id"
)
_LOCK_ORGANIZATION = text(
    "SELECT id, spec, webhook_disabled_at FROM organizations WHERE name = :name FOR NO KEY UPDATE"
)
_CHANGE_ORGANIZATION = text(
    "UPDATE organizations SET spec = CAST(:spec AS jsonb), version = version + 1, updated_at = clock_timestamp(), "
    "webhook_disabled_at = NULL WHERE id = :id"
)
# One that is made by this very manifest has its id before its row: what its texts cost is its own from the first call.
_PAYER = text(
    "SELECT coalesce((SELECT id FROM organizations WHERE name = :organization), "
    "nextval(pg_get_serial_sequence('organizations', 'id')))"
)
_PERSONAS = text("SELECT name, id, spec FROM personas WHERE org_id = :org AND name = ANY(:names)")
_NEW_PERSONA = text("INSERT INTO personas (org_id, name, spec) VALUES (:org, :name, CAST(:spec AS jsonb))")
_CHANGE_PERSONA = text(
    "UPDATE personas SET spec = CAST(:spec AS jsonb), version = version + 1, updated_at = clock_timestamp() "
    "WHERE id = :id"
)

Spec = dict[str, Any]
Results = dict[tuple[str, str], Change]
"""By kind and name."""

DocumentT = TypeVar("DocumentT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Batch:
    """One manifest inside its transaction. The organisation's row is locked: two batches come one after the other."""

    connection: AsyncConnection
    org: int
    who: str

    async def audit(self, action: str, subject: str, facts: Spec) -> None:
        await write_audit(self.connection, self.org, self.who, action, subject, facts)


class Provision:
    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._db = database
        self._embedder = embedder

    async def apply(self, named: str | None, manifest: Manifest, who: str) -> ApplyOut:
        """`named` is the organisation of the header. Raises Invalid, NotFound, and Conflict with `version` and `text`
        when a persona would go without the notice and nobody answered for that."""
        organization = organization_of(named, manifest)
        _refuse_twins(manifest)
        refuse_unacceptable(manifest)
        media, documents = of_kind(manifest, MediaDocument).values(), of_kind(manifest, KnowledgeDocument).values()

        async def write() -> Results:
            payer = await self._payer(organization) if media or documents else None
            ready = await self._prepared(organization, documents, payer)
            vectors = await meanings(self._db, self._embedder, organization, media, payer)
            return await self._write(organization, manifest, who, payer, ready, vectors)

        results = await decided(write, ChangedMeanwhile, MeantOtherwise)
        applied = [
            Applied(kind=item.kind, name=item.name, result=results[item.kind, item.name]) for item in manifest.resources
        ]
        return ApplyOut(organization=organization, resources=applied)

    async def _payer(self, organization: str) -> OrgId:
        async with self._db.transaction() as connection:
            return OrgId(await connection.scalar(_PAYER, {"organization": organization}))

    async def _prepared(
        self, organization: str, documents: Collection[KnowledgeDocument], payer: OrgId | None
    ) -> Mapping[str, Ready]:
        """By name. Embedding takes as long as a text is, so no transaction is open, and only what changed is done."""
        if not documents:
            return {}
        names = {"organization": organization, "names": [document.name for document in documents]}
        async with self._db.transaction() as connection:
            known = {row.name: row.hash for row in await connection.execute(KNOWN, names)}
        ready = {}
        for document in documents:
            hashed = fingerprint(document, self._embedder.name)
            same = known.get(document.name) == hashed
            ready[document.name] = Ready(hashed, None if same else await self._passages(document, payer))
        return ready

    async def _passages(self, document: KnowledgeDocument, payer: OrgId | None) -> Sequence[Passage]:
        pieces = await asyncio.to_thread(passages, document.text)
        return await prepared(self._embedder, pieces, document.title, payer)

    async def _write(
        self,
        organization: str,
        manifest: Manifest,
        who: str,
        payer: OrgId | None,
        ready: Mapping[str, Ready],
        vectors: Vectors,
    ) -> Results:
        """One transaction. Whom something belongs to comes before it, wherever it stands in the manifest. `payer`: the
        id of an organisation that is made here, where its texts were embedded under it."""
        own = next((document for document in manifest.resources if isinstance(document, OrganizationDocument)), None)
        personas = list(of_kind(manifest, PersonaDocument).values())
        albums, media = of_kind(manifest, AlbumDocument), of_kind(manifest, MediaDocument)
        async with self._db.transaction(longer=True) as connection:
            org, result = await _organization(connection, organization, own, who, payer)
            results: Results = {("Organization", organization): result}
            results |= await _personas(Batch(connection, org, who), personas)
            showcase = Showcase(connection, org, who, self._embedder.name)
            results |= {("Album", name): change for name, change in (await showcase.put_albums(albums)).items()}
            shown = await showcase.put_media(media, vectors)
            await showcase.albums_hold_together(albums)
            results |= {("MediaItem", name): change for name, change in shown.items()}
            shelf = Shelf(connection, org, who, self._embedder.name)
            for place, item in of_kind(manifest, KnowledgeDocument).items():
                results[item.kind, item.name] = await shelf.put(item, ready[item.name], place)
            results |= await apply_users(connection, org, who, of_kind(manifest, UserDocument))
            return results | await apply_strategy(connection, org, who, manifest)


def of_kind(manifest: Manifest, kind: type[DocumentT]) -> dict[str, DocumentT]:
    """Documents by their place in the request."""
    return {f"resources.{n}.": item for n, item in enumerate(manifest.resources) if isinstance(item, kind)}


def organization_of(named: str | None, manifest: Manifest) -> str:
    """The header's, else the one Organization document of the batch. Raises Invalid when they differ or none is."""
    for n, item in enumerate(manifest.resources):
        if not isinstance(item, OrganizationDocument):
            continue
        if named is not None and item.name != named:
            message = f"the batch belongs to {named!r}; apply other organisations in batches of their own"
            raise Invalid("two organisations in one batch", [{"field": f"resources.{n}.name", "message": message}])
        named = item.name
    if named is None:
        message = "name the organisation here, or send its Organization document along"
        raise Invalid("no organisation is named", [{"field": "X-Organization", "message": message}])
    return named


def _refuse_twins(manifest: Manifest) -> None:
    seen: set[tuple[str, str]] = set()
    for n, item in enumerate(manifest.resources):
        if (item.kind, item.name) in seen:
            message = f"{item.kind} {item.name!r} stands twice in this batch"
            raise Invalid("a resource stands twice", [{"field": f"resources.{n}.name", "message": message}])
        seen.add((item.kind, item.name))


async def _organization(
    connection: AsyncConnection, name: str, document: OrganizationDocument | None, who: str, payer: OrgId | None
) -> tuple[int, Change]:
    spec = None if document is None else stored(document)
    if spec is not None:
        made = await connection.scalar(_NEW_ORGANIZATION, {"id": payer, "name": name, "spec": json.dumps(spec)})
        if made is not None:
            await Batch(connection, made, who).audit("organization.created", name, changes_of({}, spec))
            return made, Change.CREATED
    row = (await connection.execute(_LOCK_ORGANIZATION, {"name": name})).one_or_none()
    if row is None:
        raise NotFound(f"there is no organisation {name!r}; apply its Organization document first")
    # Applying a webhook again says that it is to be used, also after its receiver had answered 410.
    reopened = row.webhook_disabled_at is not None and spec is not None and spec["webhook"] is not None
    if spec is None or (spec == row.spec and not reopened):
        return row.id, Change.UNCHANGED
    await connection.execute(_CHANGE_ORGANIZATION, {"id": row.id, "spec": json.dumps(spec)})
    await Batch(connection, row.id, who).audit("organization.updated", name, changes_of(row.spec, spec))
    return row.id, Change.UPDATED


async def _personas(batch: Batch, documents: list[PersonaDocument]) -> dict[tuple[str, str], Change]:
    names = [document.name for document in documents]
    rows = await batch.connection.execute(_PERSONAS, {"org": batch.org, "names": names})
    known = {row.name: (row.id, row.spec) for row in rows}
    return {
        (document.kind, document.name): await _persona(batch, document, *known.get(document.name, (None, {})))
        for document in documents
    }


async def _persona(batch: Batch, document: PersonaDocument, persona: int | None, before: Spec) -> Change:
    spec = stored(document)
    await _settle_notice(batch, document.name, spec, before)
    if spec == before:
        return Change.UNCHANGED
    await _tell_of_the_words(batch, document.name, spec, before)
    change = Change.CREATED if persona is None else Change.UPDATED
    if persona is None:
        values = {"org": batch.org, "name": document.name, "spec": json.dumps(spec)}
        await batch.connection.execute(_NEW_PERSONA, values)
    else:
        await batch.connection.execute(_CHANGE_PERSONA, {"id": persona, "spec": json.dumps(spec)})
    await batch.audit(f"persona.{change}", document.name, changes_of(before, spec))
    return change


async def _settle_notice(batch: Batch, name: str, spec: Spec, before: Spec) -> None:
    """Going without the notice needs somebody who answers for it, once: what was accepted stays so while it is off."""
    disclosure = spec["disclosure"]
    if disclosure["notice"]:
        disclosure["accept"] = None
        return
    earlier = before.get("disclosure", {"notice": True})
    if not earlier["notice"] and disclosure["accept"] in (None, earlier["accept"]):
        disclosure["accept"] = earlier["accept"]
        return
    if disclosure["accept"] != NOTICE_RESPONSIBILITY_VERSION:
        raise Conflict(
            f"persona {name!r} would go without the notice: apply it with disclosure.accept to answer for that",
            version=NOTICE_RESPONSIBILITY_VERSION,
            text=NOTICE_RESPONSIBILITY,
            persona=name,
        )
    await batch.audit("notice.turned_off", name, {"version": NOTICE_RESPONSIBILITY_VERSION})


async def _tell_of_the_words(batch: Batch, name: str, spec: Spec, before: Spec) -> None:
    """Own words of the notice stay in the log, whole: they are what contacts were told, also when others follow."""
    texts = spec["disclosure"]["texts"]
    if texts != before.get("disclosure", {}).get("texts", {}):
        versions = {language: notice.version_of(words) for language, words in texts.items()}
        await batch.audit("notice.reworded", name, {"texts": texts, "versions": versions})


def changes_of(before: Spec, after: Spec) -> Spec:
    """Which fields changed; of the agent's parameters also from what to what. Texts and secrets stay out of the log."""
    changed = sorted(key for key in after if after[key] != before.get(key))
    old, new = before.get("agent", {}), after["agent"]
    agent = {key: [old.get(key), new[key]] for key in new if new[key] != old.get(key)}
    return {"changed": changed, "agent": agent}
