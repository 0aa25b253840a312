"""Each rule of each tool, through the queue: the call that breaks it, and the exact words the agent reads then."""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.builders_media import a_document
from tests.integration.test_tools_end_to_end import told
from tests.scripts import bubbles, call, done, heard
from tests.stack import Stack, Talk
from workers.simulator.control import SimulatorControl

SHELF = [
    a_document("v-1", "10.00", type="video", description="la plage"),
    a_document("v-2", "4.00", type="video", description="le port"),
    a_document("v-none", "4.00", type="video", description="le phare", consent_record=None),
    a_document("ph-1", description="le chat"),
    a_document("ph-2", description="le chien"),
]
NOT_QUEUED = " The bubble was not queued."
NO_OFFER = " The offer was not queued."
LONG = "Un texte plus long."


@dataclass(frozen=True)
class Rule:
    """`calls` are made in one turn; the last one is refused with `sentence`, and no other is. `before`: turns of an
    earlier reply that was sent. `limits`: of the persona."""

    calls: tuple[dict[str, Any], ...]
    sentence: str
    limits: dict[str, Any] | None = None
    before: tuple[dict[str, Any], ...] = ()


def message(text: str) -> dict[str, Any]:
    return call("send_message", text=text)


def image(name: str, **more: Any) -> dict[str, Any]:
    return call("send_image", media_id=name, **more)


def payment(*media: str, **more: Any) -> dict[str, Any]:
    return call("send_payment", media_ids=list(media), **more)


FREE, PAID = call("get_media", kind="free"), call("get_media", kind="paid")
CHARACTERS = "The text has 19 characters, at most 12 are allowed. Shorten it or split it in two." + NOT_QUEUED
FULL = "1 bubbles are queued, the most a reply may hold. End your turn, or call clear_messages first." + NOT_QUEUED
BANNED = "The word 'promis' is banned here. Say it another way." + NOT_QUEUED
SAID = "This was already said in this conversation. Say something new." + NOT_QUEUED
TWICE = "This bubble is already queued in this reply. Write something else, or end your turn." + NOT_QUEUED
INSIDE = "The text speaks of tools or instructions. Write only what the contact should read." + NOT_QUEUED


def holds(kind: str) -> str:
    return f"The text holds {kind}. Write only what the contact should read." + NOT_QUEUED


RULES = {
    # what is written, in whatever bubble
    "banned word, whatever case and accents": Rule(
        (message("C'est PRÓMIS, demain."),), BANNED, {"banned_words": ["promis"]}
    ),
    "banned word in a voice": Rule(
        (call("send_vocal", text="C'est promis, demain."),), BANNED, {"banned_words": ["promis"]}
    ),
    "banned word in a caption": Rule((FREE, image("ph-1", caption="promis")), BANNED, {"banned_words": ["promis"]}),
    "banned word beside a link": Rule(
        (payment("v-1", message="promis"),), BANNED.replace(NOT_QUEUED, NO_OFFER), {"banned_words": ["promis"]}
    ),
    "length": Rule((message(LONG),), CHARACTERS, {"max_chars": 12}),
    "length of a voice": Rule((call("send_vocal", text=LONG),), CHARACTERS, {"max_chars": 12}),
    "bubbles per reply": Rule((message("Un."), message("Deux.")), FULL, {"max_bubbles": 1}),
    "bubbles per reply, a photo without words": Rule((FREE, message("Un."), image("ph-1")), FULL, {"max_bubbles": 1}),
    "exact repeat of what was sent": Rule((message("Coucou toi."),), SAID, before=(bubbles("Coucou toi."), done())),
    "near repeat of what was sent": Rule(
        (message("Tu viens à la plage demain matin ??"),),
        SAID,
        before=(bubbles("Tu viens à la plage demain matin ?"), done()),
    ),
    "repeat of what is queued": Rule((message("Coucou toi."), message("coucou, toi !")), TWICE),
    "a voice that repeats a text": Rule((message("Coucou toi."), call("send_vocal", text="Coucou toi.")), TWICE),
    "a tag": Rule((message("va <b>ici</b>"),), holds("a tag")),
    "template syntax": Rule((message("Bonjour {{ name }}"),), holds("template syntax")),
    "a placeholder": Rule((message("Bonjour {first_name}"),), holds("an unfilled placeholder")),
    "tool-call syntax": Rule((message('{"name": "envoi", "x": 1}'),), holds("the syntax of a tool call")),
    "a control mark": Rule((message("Oui <|end|>"),), holds("a model's control mark")),
    "what is inside": Rule((message("Je lance get_media."),), INSIDE),
    "nothing to read": Rule(
        (message("\u200b "),), "text: it is empty. Write what the contact should get, and call send_message again."
    ),
    # photos and videos
    "a photo twice in a reply": Rule(
        (FREE, image("ph-1"), image("ph-1")),
        "'ph-1' is already queued in this reply. Use another one, or end your turn." + NOT_QUEUED,
    ),
    "a photo that is for sale": Rule(
        (PAID, image("v-1")),
        "'v-1' is for sale, it is not sent for free. Offer it with send_payment." + NOT_QUEUED,
    ),
    "a photo nobody has shown": Rule(
        (image("ph-1"),),
        "media_id: get_media gave no 'ph-1' in this conversation. Call get_media with kind free, and use an id of its "
        "answer.",
    ),
    "no shelf of that name": Rule(
        (call("get_media", kind="both"),),
        "kind: Input should be 'free' or 'paid'. Correct the arguments and call get_media again.",
    ),
    "at least one": Rule(
        (call("get_media", kind="free", limit=0),),
        "limit: Input should be greater than or equal to 1. Correct the arguments and call get_media again.",
    ),
    # offers
    "under the floor": Rule(
        (payment("v-1", price="4.99"),),
        "price: 4.99 EUR is not between 5.00 EUR and 20.00 EUR; the listed price is 10.00 EUR. Ask a price in between, "
        "or leave it out." + NO_OFFER,
    ),
    "over the ceiling": Rule(
        (payment("v-1", "v-2", price="28.01"),),
        "price: 28.01 EUR is not between 7.00 EUR and 28.00 EUR; the listed price is 14.00 EUR. Ask a price in "
        "between, or leave it out." + NO_OFFER,
    ),
    "a part of a cent": Rule(
        (payment("v-1", price="9.999"),),
        "price: A price in EUR has at most 2 decimals. Ask a price in between, or leave it out." + NO_OFFER,
    ),
    "no consent": Rule(
        (payment("v-none"),),
        "The media 'v-none' has no consent on record and may not be sold. Offer another one." + NO_OFFER,
    ),
    "unknown": Rule((payment("v-9"),), "There is no media 'v-9' here. Use ids that get_media returned." + NO_OFFER),
    "free": Rule((payment("ph-1"),), "The media 'ph-1' is free, there is nothing to pay. Use send_image." + NO_OFFER),
    "twice in an offer": Rule(
        (payment("v-1", "v-1"),), "The media 'v-1' stands twice in media_ids. Name each once." + NO_OFFER
    ),
    "twice in a reply": Rule(
        (payment("v-1"), payment("v-2", "v-1")),
        "The media 'v-1' is already offered in this reply. Leave it out, or call clear_messages first." + NO_OFFER,
    ),
    "links per day": Rule(
        (payment("v-1"), payment("v-2")),
        "1 payment links a day are the most for one contact, and that is reached. Reply without one." + NO_OFFER,
        {"links_per_day": 1},
    ),
    # what ends a turn
    "a pause with words in the queue": Rule(
        (message("Un."), call("conversation_pause", until="2099-01-01T00:00:00Z")),
        "1 bubbles are queued. Call clear_messages first, or just end your turn to have them sent.",
    ),
    "a pause without an offset": Rule(
        (call("conversation_pause", until="2099-01-01T00:00:00"),),
        "until: Input should have timezone info. Correct the arguments and call conversation_pause again.",
    ),
    "a pause for ever": Rule(
        (call("conversation_pause", until="2099-01-01T00:00:00+00:00"),),
        "until: 2099-01-01T00:00:00+00:00 is over a year away. Give an earlier time.",
    ),
}


@pytest.mark.parametrize("name", RULES)
async def test_what_breaks_a_rule_is_refused_with_the_reason(stack: Stack, model: SimulatorControl, name: str) -> None:
    rule, talk = RULES[name], a_shop(stack, RULES[name].limits)
    if rule.before:
        await model.script(*rule.before, match=talk.marker, task="reply")
        talk.ended(talk.say("salut")["job"])
    clean = {"calls": [call("clear_messages"), message("Bien.")]}
    before = len(await heard(model, talk.marker))
    await model.script({"calls": list(rule.calls)}, clean, done(), match=talk.marker, task="reply")

    # the first lookup of a worker loads the model that embeds: seconds on a busy machine
    job = talk.ended(talk.say("et alors ?")["job"], seconds=60)

    assert told((await heard(model, talk.marker))[before + 1].body) == [rule.sentence]
    assert [item["reason"] for item in job["trace"] if item.get("refused")] == [rule.sentence]
    assert talk.texts()[-1] == "Bien."


async def test_the_same_call_a_third_time_is_refused_and_so_is_a_tool_that_is_none(
    stack: Stack, model: SimulatorControl
) -> None:
    talk = a_shop(stack)
    thrice = {"calls": [call("search_rag", query="la plage")] * 3}
    none = {"calls": [call("send_pigeon", text="rou")]}
    await model.script(thrice, none, bubbles("Bien."), done(), match=talk.marker, task="reply")

    job = talk.ended(talk.say("et alors ?")["job"], seconds=60)

    assert [item["reason"] for item in job["trace"] if item.get("refused")] == [
        "search_rag was already called twice with these arguments. Do something else, or end your turn.",
        "There is no tool 'send_pigeon'. The tools are: clear_messages, conversation_pause, get_media, leave_on_read, "
        "search_rag, send_image, send_message, send_payment, send_vocal, set_plan.",
    ]


async def test_markdown_is_rendered_and_no_reason_to_refuse(stack: Stack, model: SimulatorControl) -> None:
    talk = a_shop(stack)
    await model.script(bubbles("**Coucou** toi, [ici](https://app.example/x)"), done(), match=talk.marker, task="reply")

    job = talk.ended(talk.say("et alors ? https://app.example/x")["job"])

    assert [item["reason"] for item in job["trace"] if item.get("refused")] == []
    assert "**" not in talk.texts()[0]


async def test_what_was_recalled_may_be_said_again(stack: Stack, model: SimulatorControl) -> None:
    talk = a_shop(stack, window=30)
    again = bubbles("Tu viens à la plage demain ?")
    await model.script(again, done(), again, done(), match=talk.marker, task="reply")
    talk.reaches(talk.say("salut")["job"], "held")

    job = talk.reaches(talk.say("au fait, c'est moi")["job"], "held")
    talk.call("POST", f"/v1/jobs/{job['id']}/approve", status=200)

    assert [item["reason"] for item in talk.ended(job["id"])["trace"] if item.get("refused")] == []
    assert talk.texts() == ["Tu viens à la plage demain ?"]


async def test_what_was_bought_is_never_sent_or_shown_again(stack: Stack, model: SimulatorControl) -> None:
    talk = a_shop(stack)
    await model.script({"calls": [PAID, payment("v-2")]}, done(), match=talk.marker, task="reply")
    talk.ended(talk.say("une vidéo ?")["job"], seconds=60)
    (sold,) = [post["payment"] for post in stack.receiver.applied(talk.name)]
    paid = talk.call("POST", f"/v1/payments/{sold['id']}/events", json={"status": "paid"}, status=200)
    talk.ended(paid["job"])
    await model.script({"calls": [PAID, image("v-2")]}, bubbles("De rien."), done(), match=talk.marker, task="reply")

    job = talk.ended(talk.say("merci !")["job"])

    (looked, refused) = [item for item in job["trace"] if item.get("tool") in ("get_media", "send_image")]
    assert ("v-2" in looked["result"], "v-1" in looked["result"]) == (False, True)
    assert refused["reason"] == (
        "'v-2' was bought by this contact: they have it already. Use another one." + NOT_QUEUED
    )


def a_shop(stack: Stack, limits: dict[str, Any] | None = None, window: float = 0.3) -> Talk:
    talk = stack.organization(limits=limits or {}, control_window_seconds=window)
    talk.call("POST", "/v1/apply", json={"resources": SHELF}, status=200)
    return talk
