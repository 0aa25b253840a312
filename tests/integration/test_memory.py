"""What is found, and above all what is not: nobody is shown what belongs to another."""

import importlib
import sys
from pathlib import Path
from uuid import uuid4

import pytest

import workers.adapters.postgres as original
from schemas.errors import Invalid
from schemas.memory import Recalled
from tests.library import ASKED_IN_ENGLISH, ASKED_IN_FRENCH, FRENCH, Library, a_document, a_library, about
from workers.adapters.postgres.memory import StoredMemory

DOG = "Le chien de {} s'appelle {}, et il adore la plage."
OTHERS = {"kind": "Persona", "name": "lea"}
RIVAL = ({"kind": "Organization", "name": "rival"}, {"kind": "Persona", "name": "maya"})


async def near_equal_documents(library: Library) -> None:
    """Two contacts, two personas, two organisations: each knows one dog, told in nearly the same words."""
    await library.apply(OTHERS, about("fan-7", DOG.format("Léo", "Pixel")), about("fan-8", DOG.format("Zoé", "Rex")))
    await library.apply(a_document("own", DOG.format("Maya", "Filou"), "persona", persona="maya"))
    await library.apply(a_document("hers", DOG.format("Léa", "Médor"), "persona", persona="lea"))
    await library.apply(
        about("fan-9", DOG.format("Tom", "Idéfix"), persona="lea"), a_document("all", DOG.format("Ali", "Milou"))
    )
    await library.apply(*RIVAL, a_document("all", DOG.format("Max", "Rantanplan")), org="rival")


def dogs(texts: list[str]) -> set[str]:
    return {text.split("s'appelle ")[1].split(",")[0] for text in texts}


async def shown(library: Library) -> list[set[str]]:
    question = "Comment s'appelle le chien ?"
    askers = [
        {"contact": "fan-7"},
        {"contact": "fan-8"},
        {"contact": "fan-9"},
        {"contact": "fan-9", "persona": "lea"},
        {"contact": "nobody"},
        {"contact": "fan-7", "org": "rival"},
    ]
    return [dogs(await library.texts(question, 20, **asker)) for asker in askers]


ONLY_THEIR_OWN = [
    {"Pixel", "Filou", "Milou"},
    {"Rex", "Filou", "Milou"},
    {"Filou", "Milou"},
    {"Idéfix", "Médor", "Milou"},
    {"Filou", "Milou"},
    {"Rantanplan"},
]


async def test_nobody_is_shown_what_belongs_to_another_contact_persona_or_organisation(database_url: str) -> None:
    async with a_library(database_url) as library:
        await near_equal_documents(library)
        assert await shown(library) == ONLY_THEIR_OWN


def mutant(folder: Path, old: str, new: str) -> type[StoredMemory]:
    name = f"mutant_{uuid4().hex}"
    text = Path(original.__path__[0], "memory.py").read_text()
    assert text.count(old) == 1
    (folder / f"{name}.py").write_text(text.replace(old, new))
    sys.path.insert(0, str(folder))
    try:
        made: type[StoredMemory] = importlib.import_module(name).StoredMemory
    finally:
        sys.path.remove(str(folder))
    return made


@pytest.mark.parametrize(
    "condition", ["c.org_id = :org AND ", " AND c.persona_id IN (0, :persona)", " AND c.contact_id IN (0, :contact)"]
)
async def test_without_one_of_the_conditions_somebody_is(database_url: str, tmp_path: Path, condition: str) -> None:
    async with a_library(database_url, mutant(tmp_path, condition, "")) as library:
        await near_equal_documents(library)
        assert await shown(library) != ONLY_THEIR_OWN


async def hits(library: Library, questions: tuple[str, ...], first: int) -> int:
    found = [await library.texts(question, first) for question in questions]
    return sum(text in texts for text, texts in zip(FRENCH, found, strict=True))


async def test_paraphrases_in_french_and_english_are_found_in_a_french_document(database_url: str) -> None:
    async with a_library(database_url) as library:
        await library.apply(a_document("maya", "\n\n".join(FRENCH), "persona", persona="maya", language="fr"))
        first = [await hits(library, asked, 1) for asked in (ASKED_IN_FRENCH, ASKED_IN_ENGLISH)]
        third = [await hits(library, asked, 3) for asked in (ASKED_IN_FRENCH, ASKED_IN_ENGLISH)]
    print(f"of 12: first place French {first[0]}, English {first[1]}; first three {third}")
    assert (min(first), min(third)) >= (11, 12)


async def test_a_number_is_found_by_its_words_although_meaning_does_not_see_it(database_url: str) -> None:
    async with a_library(database_url) as library:
        sizes = [f"Le poster n° {number} mesure trente centimètres." for number in range(40, 70)]
        await library.apply(a_document("posters", "\n\n".join(sizes), language="fr"))
        assert (await library.texts("le poster 53", 1)) == ["Le poster n° 53 mesure trente centimètres."]


async def test_a_document_is_there_when_apply_answers_also_for_a_contact_not_seen_yet(database_url: str) -> None:
    async with a_library(database_url) as library:
        results = await library.apply(about("fan-7", "Léo est allergique aux noix.", title="Santé"))
        found = await library.found("Is he allergic to nuts?")
        await library.storage.say(contact={"id": "fan-7", "name": "Léo"})
        known = await library.storage.row("SELECT count(*) AS contacts, max(display_name) AS name FROM contacts")
    assert results == ["created"]
    assert [(one.kind, one.title, one.text) for one in found] == [
        (Recalled.MEMORY, "Santé", "Léo est allergique aux noix.")
    ]
    assert known == {"contacts": 1, "name": "Léo"}


async def test_the_same_again_changes_nothing_and_another_text_replaces_every_passage(database_url: str) -> None:
    async with a_library(database_url) as library:
        old, new = a_document("faq", "\n\n".join(FRENCH)), a_document("faq", "Le studio ferme en août, tout le mois.")
        first = await library.apply(old)
        numbers = await library.storage.rows("SELECT id FROM chunks ORDER BY id")
        again = await library.apply(old)
        untouched = await library.storage.rows("SELECT id FROM chunks ORDER BY id")
        changed = await library.apply(new)
        left = await library.storage.rows("SELECT text, config, model FROM chunks")
    assert (first, again, changed) == (["created"], ["unchanged"], ["updated"])
    assert len(numbers) == len(FRENCH)
    assert untouched == numbers
    assert left == [
        {"text": "Le studio ferme en août, tout le mois.", "config": "english", "model": "use-multilingual-v3-denoised"}
    ]


async def test_a_batch_that_fails_leaves_no_document(database_url: str) -> None:
    async with a_library(database_url) as library:
        with pytest.raises(Invalid) as refused:
            await library.apply(a_document("a", "Un texte."), a_document("b", "Un autre.", "persona", persona="nobody"))
        documents = await library.storage.rows("SELECT name FROM documents")
    assert refused.value.facts["errors"] == [
        {"field": "resources.1.persona", "message": "there is no persona 'nobody'"}
    ]
    assert documents == []


async def test_nothing_is_kept_about_a_contact_who_was_erased(database_url: str) -> None:
    async with a_library(database_url) as library:
        await library.storage.say()
        await library.storage.rows("UPDATE contacts SET erased_at = clock_timestamp()")
        with pytest.raises(Invalid, match="was erased"):
            await library.apply(about("fan-7", "Léo aime la mer."))
        assert await library.storage.rows("SELECT id FROM documents") == []


async def test_vectors_of_another_model_are_never_compared(database_url: str) -> None:
    async with a_library(database_url) as library:
        await library.apply(a_document("dog", "Le chien s'appelle Pixel.", language="fr"))
        await library.storage.rows("UPDATE chunks SET model = 'another'")
        by_meaning = await library.texts("What is the name of the animal?")
        by_words = await library.texts("chien Pixel")
    assert (by_meaning, by_words) == ([], ["Le chien s'appelle Pixel."])


async def test_a_large_library_is_searched_by_its_index_and_nobody_else_is_shown(database_url: str) -> None:
    async with a_library(database_url) as library:
        await near_equal_documents(library)
        # Others have so much that is nearer that the index alone would meet nobody's own.
        await library.storage.rows(
            "INSERT INTO chunks (org_id, persona_id, contact_id, document_id, text, config, words, model, embedding) "
            "SELECT 99, 0, 0, document_id, 'foreign', config, '', model, embedding FROM chunks, generate_series(1, 60)"
        )
        by_index = StoredMemory(library.storage.database, library.memory._embedder, most_compared=0)
        asker = await library.asker(contact="fan-7")
        found = [passage.text for passage in await by_index.search("Comment s'appelle le chien ?", asker, 20)]
    assert dogs(found) == ONLY_THEIR_OWN[0]
