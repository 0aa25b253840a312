"""Documents and questions for the tests of the memory: a small French and English library, and what people ask."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from schemas.manifest import Manifest
from schemas.memory import Asker, Found
from tests.builders_storage import Storage, a_storage
from workers.adapters.embeddings import BuiltInEmbedder
from workers.adapters.postgres.memory import StoredMemory
from workers.adapters.postgres.provision import Provision

FRENCH = (
    "Maya habite Annecy depuis 2019, dans un petit appartement au bord du lac.",
    "Son chien s'appelle Pixel, un berger australien de quatre ans.",
    "Elle tourne ses vidéos de randonnée le week-end et les monte le mardi soir.",
    "L'abonnement mensuel coûte 12 euros, sans engagement.",
    "Elle est végétarienne et adore les champignons.",
    "Elle a étudié la biologie marine à Brest avant de devenir vidéaste.",
    "Sa caméra est une Sony ZV-E10, avec un micro Rode.",
    "Elle a peur des araignées, et le dit souvent en riant.",
    "Les colis partent le vendredi, par La Poste, avec un numéro de suivi.",
    "Son groupe préféré est Phoenix ; elle les a vus trois fois en concert.",
    "Elle prépare un tour du Mont-Blanc en dix jours pour l'été prochain.",
    "Les remboursements sont possibles pendant quatorze jours après l'achat.",
)
ASKED_IN_FRENCH = (
    "Dans quelle ville vis-tu ?",
    "Comment se nomme ton animal ?",
    "Quand est-ce que tu filmes tes sorties en montagne ?",
    "Combien faut-il payer chaque mois ?",
    "Est-ce que tu manges de la viande ?",
    "Quelles études as-tu faites ?",
    "Avec quel appareil tu filmes ?",
    "De quoi as-tu une phobie ?",
    "Quel jour envoyez-vous les commandes ?",
    "Quelle musique écoutes-tu ?",
    "Quel est ton prochain grand voyage à pied ?",
    "Puis-je être remboursé si je change d'avis ?",
)
ASKED_IN_ENGLISH = (
    "Which town do you live in?",
    "What is your dog called?",
    "When do you film your hikes?",
    "How much is the subscription per month?",
    "Do you eat meat?",
    "What did you study at university?",
    "Which camera do you use?",
    "What are you afraid of?",
    "When do you ship parcels?",
    "What is your favourite band?",
    "What is your next long hike?",
    "Can I get a refund?",
)


@dataclass
class Library:
    storage: Storage
    provision: Provision
    memory: StoredMemory

    async def apply(self, *documents: dict[str, Any], org: str = "acme") -> list[str]:
        manifest = Manifest.model_validate({"resources": list(documents)})
        return [item.result.value for item in (await self.provision.apply(org, manifest, "tests")).resources]

    async def asker(self, contact: str = "fan-7", persona: str = "maya", org: str = "acme") -> Asker:
        row = await self.storage.row(
            "SELECT o.id AS org, coalesce(p.id, -1) AS persona, coalesce(c.id, -1) AS contact FROM organizations o "
            "LEFT JOIN personas p ON p.org_id = o.id AND p.name = :persona "
            "LEFT JOIN contacts c ON c.org_id = o.id AND c.name = :contact WHERE o.name = :org",
            org=org,
            persona=persona,
            contact=contact,
        )
        return Asker(row["org"], row["persona"], row["contact"])

    async def found(self, question: str, limit: int = 5, **asker: str) -> list[Found]:
        return await self.memory.search(question, await self.asker(**asker), limit)

    async def texts(self, question: str, limit: int = 5, **asker: str) -> list[str]:
        return [found.text for found in await self.found(question, limit, **asker)]


def a_document(name: str, text: str, scope: str = "organization", **fields: Any) -> dict[str, Any]:
    return {"kind": "Document", "name": name, "scope": scope, "text": text, **fields}


def about(contact: str, text: str, **fields: Any) -> dict[str, Any]:
    return a_document(f"note-{contact}", text, "contact", contact=contact, **fields)


@asynccontextmanager
async def a_library(database_url: str, memory: type[StoredMemory] = StoredMemory) -> AsyncIterator[Library]:
    embedder = BuiltInEmbedder()
    try:
        async with a_storage(database_url) as storage:
            yield Library(storage, Provision(storage.database, embedder), memory(storage.database, embedder))
    finally:
        embedder.close()
