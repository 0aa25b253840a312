"""The tools of a reply: what they accept, and what they say when they do not."""

from dataclasses import replace

import pytest

from pipelines.agent.tools import Done, Outcome, Refused
from pipelines.autoreply.checks import LocalChecks
from pipelines.autoreply.draft import Draft, LeftOnRead, Pause
from pipelines.autoreply.tools import TOOLS
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble
from schemas.resources import PersonaLimits
from tests.builders import NOON


def a_draft(*queued: str, sent: tuple[str, ...] = (), **limits: object) -> Draft:
    draft = Draft(LocalChecks(PersonaLimits(**limits), sent), NOON)  # type: ignore[arg-type]
    draft.bubbles.extend(_bubble(text) for text in queued)
    return draft


def _bubble(text: str) -> Bubble:
    return Bubble(BubbleKind.TEXT, text)


async def use(draft: Draft, name: str, **args: object) -> Outcome:
    tool = next(tool for tool in TOOLS if tool.name == name)
    read = tool.read(args)
    return read if isinstance(read, Refused) else await tool.call(read, draft)


def test_names_and_arguments_are_the_contract() -> None:
    assert {tool.name: sorted(tool.spec().schema["properties"]) for tool in TOOLS} == {
        "clear_messages": ["reason"],
        "conversation_pause": ["reason", "until"],
        "get_media": ["kind", "limit", "query"],
        "leave_on_read": ["reason"],
        "search_rag": ["limit", "query"],
        "send_image": ["caption", "media_id"],
        "send_message": ["text"],
        "send_payment": ["media_ids", "message", "price"],
        "send_vocal": ["text"],
        "set_plan": ["plan"],
    }


def test_the_model_sees_the_arguments_class_without_noise() -> None:
    spec = next(tool for tool in TOOLS if tool.name == "send_message").spec()

    assert spec.description.startswith("Queue one text bubble for the contact.")
    assert spec.schema == {
        "additionalProperties": False,
        "properties": {
            "text": {"description": "Exactly what the contact will read.", "minLength": 1, "type": "string"}
        },
        "required": ["text"],
        "type": "object",
    }


async def test_messages_are_queued_in_order() -> None:
    draft = a_draft()

    first, second = await use(draft, "send_message", text=" coucou "), await use(draft, "send_message", text="ça va ?")

    assert (first, second) == (Done("Queued as candidate 0."), Done("Queued as candidate 1."))
    assert draft.texts == ["coucou", "ça va ?"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("\u200b\u2060", "text: it is empty. Write what the contact should get, and call {tool} again."),
        (" \n", "text: it is empty. Write what the contact should get, and call {tool} again."),
        ("x" * 21, "The text has 21 characters, at most 20 are allowed. Shorten it or split it in two."),
        ("Rendez-vous à l'ÉTÉ", "The word 'ete' is banned here. Say it another way."),
        ("bonjour  LÉO !", "This bubble is already queued in this reply. Write something else, or end your turn."),
        ("déjà dit hier", "This was already said in this conversation. Say something new."),
        ("va sur <b>ici</b>", "The text holds a tag. Write only what the contact should read."),
        ("coucou {{name}}", "The text holds template syntax. Write only what the contact should read."),
        ("va sur `<b>ici</b>`", "The text holds a tag. Write only what the contact should read."),
        ("via send_message", "The text speaks of tools or instructions. Write only what the contact should read."),
    ],
)
@pytest.mark.parametrize("tool", ["send_message", "send_vocal"])
async def test_a_refused_bubble_is_not_queued_and_the_sentence_says_why(tool: str, text: str, sentence: str) -> None:
    draft = a_draft("Bonjour Léo", sent=("Déjà dit... hier",), max_chars=20, banned_words=("ete",))

    outcome = await use(draft, tool, text=text)

    assert isinstance(outcome, Refused)
    assert outcome.sentence.removesuffix(" The bubble was not queued.") == sentence.replace("{tool}", tool)
    assert draft.texts == ["Bonjour Léo"]


async def test_text_and_voice_are_queued_as_they_will_be_shown() -> None:
    draft = a_draft()

    await use(draft, "send_message", text="**coucou** _toi_")
    await use(draft, "send_vocal", text="# Je *pense* à toi")

    assert [(bubble.kind, bubble.text) for bubble in draft.bubbles] == [
        (BubbleKind.TEXT, "coucou toi"),
        (BubbleKind.VOICE, "Je pense à toi"),
    ]


async def test_a_family_is_one_character_of_the_length() -> None:
    draft = a_draft(max_chars=3)

    assert await use(draft, "send_message", text="👨‍👩‍👧‍👦🇫🇷é") == Done("Queued as candidate 0.")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("👍🎉", "There is no word in the text that could be spoken. Write one, or use send_message."),
        ("a" * 4001, "A voice bubble holds at most 4000 characters. Shorten it or split it in two."),
    ],
)
async def test_what_cannot_be_spoken_is_not_queued_as_a_voice(text: str, sentence: str) -> None:
    draft = a_draft(max_chars=10_000)

    assert await use(draft, "send_vocal", text=text) == Refused(f"{sentence} The bubble was not queued.")


async def test_a_contact_hears_so_many_voice_bubbles_a_day_with_those_that_are_queued() -> None:
    draft = a_draft(max_vocal_per_day=3)
    draft.checks = replace(draft.checks, vocals_today=1, on=False)

    heard = [await use(draft, "send_vocal", text=words) for words in ("un", "deux", "trois")]
    await use(draft, "clear_messages")

    assert heard[1:] == [
        Done("Queued as candidate 1."),
        Refused(
            "3 voice bubbles a day are the most for one contact, and that is reached. Use send_message. "
            "The bubble was not queued."
        ),
    ]
    assert await use(draft, "send_vocal", text="trois") == Done("Queued as candidate 0.")


async def test_a_reply_holds_so_many_bubbles() -> None:
    draft = a_draft("un", "deux", max_bubbles=2)

    assert await use(draft, "send_message", text="trois") == Refused(
        "2 bubbles are queued, the most a reply may hold. End your turn, or call clear_messages first. "
        "The bubble was not queued."
    )


async def test_clearing_empties_the_queue() -> None:
    draft = a_draft("un", "deux")

    assert await use(draft, "clear_messages") == Done("2 queued bubbles were dropped. The queue is empty.")
    assert draft.sendable == 0


async def test_a_plan_is_noted_and_replaced() -> None:
    draft = a_draft()

    await use(draft, "set_plan", plan="one")
    await use(draft, "set_plan", plan="two\0")

    assert draft.plan == "two"


@pytest.mark.parametrize("name", ["leave_on_read", "conversation_pause"])
async def test_a_turn_does_not_end_in_silence_while_bubbles_are_queued(name: str) -> None:
    draft = a_draft("un")
    args = {"until": "2026-12-24T18:00:00+01:00"} if name == "conversation_pause" else {}

    assert await use(draft, name, **args) == Refused(
        "1 bubbles are queued. Call clear_messages first, or just end your turn to have them sent."
    )
    assert draft.ending is None


@pytest.mark.parametrize(
    ("until", "start"),
    [
        ("2026-11-30T11:00:00+00:00", "until: 2026-11-30T11:00:00+00:00 is not in the future."),
        ("2029-01-01T00:00:00Z", "until: 2029-01-01T00:00:00+00:00 is over a year away."),
        ("2026-12-01T18:00:00", "until: Input should have timezone info."),
        ("tomorrow", "until: Input should be a valid datetime"),
    ],
)
async def test_a_pause_needs_a_time_ahead_with_offset(until: str, start: str) -> None:
    draft = a_draft()

    outcome = await use(draft, "conversation_pause", until=until)

    assert isinstance(outcome, Refused)
    assert outcome.sentence.startswith(start)
    assert draft.ending is None


async def test_endings_keep_their_reason() -> None:
    left, paused = a_draft(), a_draft()

    await use(left, "leave_on_read", reason="night")
    await use(paused, "conversation_pause", until="2026-12-01T18:00:00+01:00")

    assert left.ending == LeftOnRead("night")
    assert isinstance(paused.ending, Pause)
    assert paused.ending.until.isoformat() == "2026-12-01T18:00:00+01:00"
