"""Documents embedded by a provider: found by meaning, paid for call by call, never compared with another model's."""

from typing import Any

import psycopg
import pytest

from schemas.errors import Unavailable
from schemas.ids import ContactId, OrgId, PersonaId
from schemas.manifest import Manifest
from schemas.memory import Asker
from schemas.settings import Settings, SettingsRefused, read_settings
from tests.integration.own import simulator
from tests.simulator import RunningSimulator
from workers.adapters.clock import SystemClock
from workers.adapters.embedding import is_built_in, name_of, open_embedder
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.memory import StoredMemory
from workers.adapters.postgres.provision import Provision
from workers.simulator.control import SimulatorControl

__all__ = ["simulator"]

TEXTS = {"shipping": "Les colis partent le vendredi matin.", "care": "Le linge se lave en douceur, à froid."}
NAME = "text-embedding-3-small@512"


def configured(simulator: RunningSimulator, **environ: str) -> Settings:
    return read_settings({"OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": f"{simulator.base_url}/v1", **environ})


def manifest(*names: str) -> Manifest:
    documents = [{"kind": "Document", "name": name, "scope": "organization", "text": TEXTS[name]} for name in names]
    organization = {"kind": "Organization", "name": "shop", "locale": "fr"}
    return Manifest.model_validate({"resources": [organization, *documents]}, strict=False)


def rows(url: str, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(sql.encode()).fetchall()


async def test_they_are_found_by_meaning_and_each_call_has_its_row(
    database_url: str, simulator: RunningSimulator, model: SimulatorControl
) -> None:
    await model.reset()
    database, settings = Database(database_url, 2, True), configured(simulator)
    async with open_embedder(settings, SystemClock(), database) as embedder:
        shop = Provision(database, embedder)
        await shop.apply("shop", manifest("shipping"), "test")
        await shop.apply("shop", manifest("shipping", "care"), "test")
        ((org,),) = rows(database_url, "SELECT id FROM organizations")
        asker = Asker(OrgId(org), PersonaId(0), ContactId(0))
        found = await StoredMemory(database, embedder).search("quand partent les colis ?", asker, 1)

        await model.fault("server_error", next=1, model="text-embedding")
        with pytest.raises(Unavailable):
            await StoredMemory(database, embedder).search("et le linge ?", asker, 1)
    await database.close()

    seen = {request.headers["x-replique-call"]: request for request in await model.requests()}
    ledger = {
        call: (owner, state, outcome, tokens, cost)
        for call, owner, state, outcome, tokens, cost in rows(
            database_url, "SELECT call, org_id, state, outcome, input, cost_usd FROM ledger WHERE task = 'embeddings'"
        )
    }
    assert [passage.text for passage in found] == [TEXTS["shipping"]]
    assert {name for (name,) in rows(database_url, "SELECT model FROM chunks")} == {NAME}
    assert set(ledger) == set(seen)
    assert {row[0] for row in ledger.values()} == {org}, "also the manifest that made the organisation"
    assert [row[1:3] for row in ledger.values()].count(("settled", "server_error")) == 0
    assert sorted(row[2] for row in ledger.values()) == ["ok", "ok", "ok", "transient"]
    for call, (_, state, outcome, tokens, cost) in ledger.items():
        usage = seen[call].usage
        assert state == "settled"
        assert (tokens, cost > 0) == ((usage["prompt_tokens"], True) if usage else (0, False)), outcome


async def test_a_library_of_the_other_model_is_embedded_anew_by_the_next_manifest(
    database_url: str, simulator: RunningSimulator
) -> None:
    database = Database(database_url, 2, True)
    for settings in (read_settings({}), configured(simulator)):
        async with open_embedder(settings, SystemClock(), database) as embedder:
            await Provision(database, embedder).apply("shop", manifest("shipping"), "test")
    await database.close()

    assert rows(database_url, "SELECT model FROM chunks") == [(NAME,)]


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({}, "use-multilingual-v3-denoised"),
        ({"OPENAI_API_KEY": "sk-x"}, NAME),
        ({"OPENAI_API_KEY": "sk-x", "AI_MODEL_EMBEDDINGS": "built-in"}, "use-multilingual-v3-denoised"),
        ({"OPENAI_BASE_URL": "http://x/v1"}, "use-multilingual-v3-denoised"),
        ({"AI_MODEL_EMBEDDINGS": "text-embedding-3-small"}, "use-multilingual-v3-denoised"),
        ({"OPENAI_API_KEY": "k", "AI_MODEL_EMBEDDINGS": "text-embedding-3-large"}, "text-embedding-3-large@512"),
    ],
    ids=str,
)
def test_which_model_makes_the_vectors(environ: dict[str, str], name: str) -> None:
    settings = read_settings(environ)

    assert (name_of(settings), is_built_in(settings)) == (name, "@" not in name)


async def test_a_model_that_makes_no_vectors_stops_the_start(database_url: str) -> None:
    settings = read_settings({"ANTHROPIC_API_KEY": "k", "AI_MODEL_EMBEDDINGS": "claude-haiku-5-5"})
    database = Database(database_url, 1, True)

    with pytest.raises(SettingsRefused, match="makes no vectors"):
        async with open_embedder(settings, SystemClock(), database):
            pass
    await database.close()
