import asyncio
import math

import pytest

from workers.adapters.embeddings import BuiltInEmbedder


@pytest.fixture
def embedder():
    made = BuiltInEmbedder()
    yield made
    made.close()


def dot(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


async def test_every_text_has_its_own_unit_vector_in_the_order_of_the_texts(embedder):
    texts = [f"message number {word}" for word in ("one", "two", "dog", "sea", "train")] * 8
    together = await embedder.embed(texts)
    alone = [(await embedder.embed([text]))[0] for text in texts]
    assert [len(vector) for vector in together] == [embedder.dims] * len(texts)
    assert all(math.isclose(dot(vector, vector), 1, abs_tol=1e-5) for vector in together)
    assert all(dot(a, b) > 0.9999 for a, b in zip(together, alone, strict=True))


async def test_equal_meaning_in_two_languages_is_closer_than_another_subject(embedder):
    french, english, other = await embedder.embed(
        ["Mon chien s'appelle Pixel", "My dog is called Pixel", "Le train de Lyon est en retard"]
    )
    assert dot(french, english) > dot(french, other) + 0.3


async def test_nothing_and_blank_are_no_fault(embedder):
    assert await embedder.embed([]) == []
    assert len(await embedder.embed(["", "  \n"])) == 2


async def test_the_event_loop_goes_on_while_a_document_is_embedded(embedder):
    await embedder.embed(["ready"])
    work = asyncio.create_task(embedder.embed(["Une phrase de taille moyenne, pour occuper la machine."] * 500))
    turns = 0
    while not work.done():
        await asyncio.sleep(0)
        turns += 1
    assert len(await work) == 500
    assert turns > 100


async def test_a_question_does_not_wait_for_a_whole_document(embedder):
    await embedder.embed(["ready"])
    document = asyncio.create_task(embedder.embed(["Une phrase de taille moyenne, pour occuper la machine."] * 2000))
    await asyncio.sleep(0)
    await embedder.embed(["une question"])
    assert not document.done()
    await document
