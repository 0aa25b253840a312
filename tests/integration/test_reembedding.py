"""Another model makes the vectors from now on: what the one before has made is embedded again in the background."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from schemas.ids import OrgId
from tests.fakes import FrozenClock
from tests.library import FRENCH, Library, a_document, a_library
from tests.stack import Stack, wait_until
from workers.adapters.embeddings import BuiltInEmbedder
from workers.adapters.postgres.memory import StoredMemory
from workers.adapters.postgres.stale import StalePassages
from workers.adapters.redis.turn import SEEN_SECONDS, RedisTurn
from workers.adapters.reembedding import LOOK_SECONDS, Anew

NOWHERE = "redis://127.0.0.1:1/0"


@dataclass
class Later:
    """The built-in model under another name, with every vector turned round: near is far for whoever mixes them."""

    name: str = "later"
    dims: int = 512
    asked: list[tuple[OrgId | None, list[str]]] = field(default_factory=list)
    inner: BuiltInEmbedder = field(default_factory=BuiltInEmbedder)

    async def embed(self, texts: Sequence[str], org: OrgId | None = None) -> list[tuple[float, ...]]:
        self.asked.append((org, list(texts)))
        return [tuple(-number for number in vector) for vector in await self.inner.embed(texts)]


class Always:
    async def mine(self, model: str) -> bool:
        return True


@asynccontextmanager
async def a_full_library(database_url: str) -> AsyncIterator[Library]:
    async with a_library(database_url) as library:
        await library.apply(*(a_document(f"d{n}", text) for n, text in enumerate(FRENCH)))
        rival = ({"kind": "Organization", "name": "rival"}, a_document("theirs", "Le port est gratuit."))
        await library.apply(*rival, org="rival")
        yield library


async def models(library: Library) -> dict[str, int]:
    rows = await library.storage.rows("SELECT model, count(*) AS n FROM chunks GROUP BY model")
    return {row["model"]: row["n"] for row in rows}


async def test_all_passages_get_the_vectors_of_the_new_model_batch_by_batch(database_url: str) -> None:
    async with a_full_library(database_url) as library:
        later = Later()
        passages = StalePassages(library.storage.database)
        memory = StoredMemory(library.storage.database, later)
        asker = await library.asker()
        question = "Comment se nomme ton animal ?"
        before = await memory.search(question, asker, 1)

        first = await Anew(passages, later, Always(), batch=5).step()
        half = await models(library)
        after_a_death = Anew(passages, later, Always(), batch=5)
        went_on = [await after_a_death.step() for _ in range(4)]

        assert (first, half) == (True, {"later": 5, BuiltInEmbedder.name: 8})
        assert (went_on, await models(library)) == ([True, True, True, False], {"later": 13})
        assert [len(texts) for org, texts in later.asked if len(texts) > 1 or org != asker.org] == [5, 5, 2, 1]
        assert len({org for org, _ in later.asked}) == 2, "each organisation's own ledger"
        assert (before, [found.text for found in await memory.search(question, asker, 1)]) == ([], [FRENCH[1]])
        assert await passages.left("later") == 0


async def test_what_was_erased_or_changed_meanwhile_is_left_alone(database_url: str) -> None:
    async with a_full_library(database_url) as library:
        passages = StalePassages(library.storage.database)
        found = await passages.some("later", 100)
        vectors = await Later().embed([passage.text for passage in found])
        await library.storage.rows("DELETE FROM chunks WHERE id = :id", id=found[0].id)
        await library.storage.rows("UPDATE chunks SET text = 'neu' WHERE id = :id", id=found[1].id)

        assert await passages.renew("later", found, vectors) == len(found) - 2
        assert await passages.renew("later", found, vectors) == 0


async def test_a_fact_that_is_told_meanwhile_waits_for_nobody_and_gets_its_turn(database_url: str) -> None:
    async with a_full_library(database_url) as library:
        later = Later()
        anew = Anew(StalePassages(library.storage.database), later, Always())
        while await anew.step():
            pass
        await library.apply(a_document("new", "Elle dort peu."))

        assert await models(library) == {"later": 13, BuiltInEmbedder.name: 1}
        assert [await anew.step(), await anew.step(), await models(library)] == [True, False, {"later": 14}]


async def test_one_process_does_it_and_another_goes_on_when_it_is_gone(redis_url: str) -> None:
    clock = FrozenClock()
    turns = [RedisTurn(redis_url, clock, name, seconds=0.4) for name in ("one", "two")]
    try:
        held = [await turn.mine("m") for turn in turns] + [await turns[0].mine("m")]
        await asyncio.sleep(0.5)
        handed_on = [await turns[1].mine("m"), await turns[0].mine("m")]
    finally:
        for turn in turns:
            await turn.close_connection()

    assert (held, handed_on) == ([True, False, True], [True, False])


async def test_while_processes_use_different_models_nobody_does_it(redis_url: str) -> None:
    clock = FrozenClock()
    old, new = RedisTurn(redis_url, clock, "old"), RedisTurn(redis_url, clock, "new")
    try:
        alone = await old.mine("a")
        both = [await new.mine("b"), await old.mine("a")]
        clock.move(SEEN_SECONDS + 1)
        await new.mine("b")
        with_the_old_one_gone = await RedisTurnFreed(new).mine("b")
    finally:
        await old.close_connection()
        await new.close_connection()

    assert (alone, both, with_the_old_one_gone) == (True, [False, False], True)


@dataclass
class RedisTurnFreed:
    """As if the old holder's time were over in Redis as it is on our clock."""

    turn: Any

    async def mine(self, model: str) -> bool:
        await self.turn._client.delete("replique:embeds:holder")
        return bool(await self.turn.mine(model))


async def test_without_redis_nothing_is_begun() -> None:
    turn = RedisTurn(NOWHERE, FrozenClock(), "one")

    assert await turn.mine("m") is False
    await turn.close_connection()


@pytest.mark.parametrize("model", ["a", "zz"])
async def test_models_on_both_sides_of_ours_are_found(database_url: str, model: str) -> None:
    async with a_full_library(database_url) as library:
        await library.storage.rows("UPDATE chunks SET model = :model", model=model)
        passages = StalePassages(library.storage.database)

        assert (await passages.left("m"), len(await passages.some("m", 100))) == (13, 12)
        assert (await passages.left(model), await passages.some(model, 100)) == (0, [])


async def test_a_background_worker_does_it(stack: Stack) -> None:
    talk = stack.organization()
    resources = [a_document("dog", "Le chien de la maison s'appelle Pixel.")]
    talk.call("POST", "/v1/apply", json={"resources": resources}, status=200)
    mine = "FROM documents d JOIN organizations o ON o.id = d.org_id WHERE c.document_id = d.id AND o.name = %s"
    with psycopg.connect(stack.database_url, autocommit=True) as connection:
        connection.execute(f"UPDATE chunks c SET model = 'another' {mine}".encode(), (talk.org,))

        def done() -> bool:
            row = connection.execute(f"SELECT model FROM chunks c WHERE EXISTS (SELECT 1 {mine})".encode(), (talk.org,))
            return row.fetchall() == [(BuiltInEmbedder.name,)]

        assert not done()
        wait_until(done, LOOK_SECONDS + 25, "the passage to be embedded again")


class Working(Anew):
    """One batch takes 20 ms, and there is always another."""

    batches = 0

    async def step(self) -> bool:
        self.batches += 1
        await asyncio.sleep(0.02)
        return True


async def test_it_leaves_four_fifths_of_the_time_to_the_replies(database_url: str) -> None:
    async with a_library(database_url) as library:
        working = Working(StalePassages(library.storage.database), Later(), Always())
        going_on = asyncio.create_task(working.keep_on())
        await asyncio.sleep(1.0)
        going_on.cancel()

    assert 1 < working.batches <= 10  # 50 without a rest
