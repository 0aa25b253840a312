"""Free photos through the whole product: looked for, queued, refused beyond the limit, delivered, and remembered."""

from typing import Any

import psycopg

from tests.builders_media import a_document
from tests.scripts import call, done, heard
from tests.stack import Stack, Talk
from workers.simulator.control import SimulatorControl

PHOTOS = [f"ph-{n}" for n in range(1, 6)]


def shelf(talk: Talk, *documents: dict[str, Any]) -> None:
    found = documents or [a_document(name, description=f"la plage numéro {name}") for name in PHOTOS]
    talk.call("POST", "/v1/apply", json={"resources": list(found)}, status=200)


def look(kind: str = "free", **arguments: Any) -> dict[str, Any]:
    return {"calls": [call("get_media", kind=kind, **arguments)]}


def images(*media: str) -> dict[str, Any]:
    return {"calls": [call("send_image", media_id=name) for name in media]}


def tool(job: Any, name: str) -> list[tuple[bool, str]]:
    """(refused, what the agent was told) of each call."""
    made = [item for item in job["trace"] if item["kind"] == "tool" and item["tool"] == name]
    return [(item["refused"], item["reason"] or item["result"]) for item in made]


def dated_back(stack: Stack, talk: Talk, hours: int) -> None:
    with psycopg.connect(stack.environment["DATABASE_URL"]) as connection:
        connection.execute(
            "UPDATE media_facts SET at = at - make_interval(hours => %s) WHERE org_id = "
            "(SELECT id FROM organizations WHERE name = %s)",
            (hours, talk.org),
        )


def sent(stack: Stack, talk: Talk) -> list[tuple[str, list[str]]]:
    return [(post["kind"], [media["id"] for media in post["media"]]) for post in stack.receiver.applied(talk.name)]


USED_UP = (
    "4 free photos and videos {over} are the most for this contact, and that is reached. Send no more free ones: offer "
    "paid content instead, with get_media (kind paid) and send_payment. The bubble was not queued."
)


async def test_the_fifth_free_photo_is_refused_and_the_next_day_is_another(
    stack: Stack, model: SimulatorControl
) -> None:
    talk = stack.organization()
    shelf(talk)
    await model.script(look(query="la plage"), images(*PHOTOS), done(), match=talk.marker, task="reply")
    # the first lookup of a worker loads the model that embeds: seconds on a busy machine
    first = talk.ended(talk.say("cinq photos stp")["job"], seconds=60)
    await model.script(images("ph-5"), images("ph-5"), done(), done(), match=talk.marker, task="reply")
    too_soon = talk.ended(talk.say("encore une ?")["job"], "failed")
    dated_back(stack, talk, 25)
    await model.script(images("ph-5"), done(), match=talk.marker, task="reply")
    next_day = talk.ended(talk.say("et aujourd'hui ?")["job"])

    used_up = (True, USED_UP.format(over="in 24h"))
    assert tool(first, "send_image")[-1] == used_up
    assert tool(too_soon, "send_image") == [used_up, used_up]
    assert tool(next_day, "send_image") == [(False, "Queued as candidate 0.")]
    assert sent(stack, talk) == [("image", [name]) for name in PHOTOS]
    assert [bubble["media"] for bubble in first["candidates"]] == [
        [{"id": name, "url": f"https://cdn.example/{name}.jpg", "type": "photo"}] for name in PHOTOS[:4]
    ]


async def test_without_a_window_the_whole_history_counts(stack: Stack, model: SimulatorControl) -> None:
    talk = stack.organization(agent={"MAX_FREE_MEDIA_WINDOW": ""})
    shelf(talk)
    await model.script(look(), images(*PHOTOS[:4]), done(), match=talk.marker, task="reply")
    talk.ended(talk.say("des photos stp")["job"])
    dated_back(stack, talk, 24 * 400)
    await model.script(images("ph-5"), done(), done(), match=talk.marker, task="reply")
    later = talk.ended(talk.say("et un an après ?")["job"], "failed")

    assert tool(later, "send_image") == [(True, USED_UP.format(over="in all"))]


async def test_photos_that_wait_in_another_conversation_of_the_contact_count(
    stack: Stack, model: SimulatorControl
) -> None:
    talk = stack.organization(control_window_seconds=60)
    shelf(talk)
    other, contact = talk.another(), {"id": f"fan-{talk.name}"}
    await model.script(look(), images(*PHOTOS[:4]), done(), match=talk.marker, task="reply")
    waiting = talk.reaches(talk.say("des photos stp")["job"], "held", seconds=60)
    words = {"calls": [call("send_message", text="Plus tard !")]}
    await model.script(look(), images("ph-5"), words, done(), match=other.marker, task="reply")
    full = other.reaches(other.say("et ici ?", contact=contact)["job"], "held")
    talk.call("POST", f"/v1/jobs/{waiting['id']}/cancel", status=200)
    await model.script(images("ph-5"), done(), match=other.marker, task="reply")
    free = other.reaches(other.say("allez", contact=contact)["job"], "held")

    assert tool(full, "send_image") == [(True, USED_UP.format(over="in 24h"))]
    assert tool(free, "send_image") == [(False, "Queued as candidate 0.")]


async def test_what_is_for_sale_or_was_never_shown_is_refused(stack: Stack, model: SimulatorControl) -> None:
    talk = stack.organization()
    shelf(talk, a_document("v-1", "12", type="video"), a_document("ph-1"), a_document("ph-2"))
    await model.script(
        look("paid"),
        look("free", limit=1),
        images("v-1", "ph-1", "nothing", "ph-2"),
        done(),
        match=talk.marker,
        task="reply",
    )

    job = talk.ended(talk.say("envoie")["job"])

    refused = [result for refused, result in tool(job, "send_image") if refused]
    assert refused == [
        "'v-1' is for sale, it is not sent for free. Offer it with send_payment. The bubble was not queued.",
        "media_id: get_media gave no 'ph-1' in this conversation. Call get_media with kind free, and use an id of its "
        "answer.",
        "media_id: get_media gave no 'nothing' in this conversation. Call get_media with kind free, and use an id of "
        "its answer.",
    ]
    assert sent(stack, talk) == [("image", ["ph-2"])]


async def test_the_next_reply_reads_the_photo_as_the_call_that_sent_it(stack: Stack, model: SimulatorControl) -> None:
    talk = stack.organization()
    shelf(talk, a_document("ph-1", description="le chat sur le canapé"))
    await model.script(
        look(),
        {"calls": [call("send_image", media_id="ph-1", caption="mon chat")]},
        done(),
        match=talk.marker,
        task="reply",
    )
    talk.ended(talk.say("montre")["job"])
    await model.script({"calls": [call("send_message", text="de rien")]}, done(), match=talk.marker, task="reply")
    talk.ended(talk.say("merci")["job"])

    last = (await heard(model, talk.marker))[-1].json()
    uses = [block for message in last["messages"] for block in message["content"] if block["type"] == "tool_use"]
    assert (uses[0]["name"], uses[0]["input"]) == ("send_image", {"media_id": "ph-1", "caption": "mon chat"})
    shown = talk.call("GET", f"/v1/conversations/{talk.name}", status=200)
    assert [message["attachments"] for message in shown["messages"] if message["kind"] == "image"] == [
        [{"type": "photo", "url": "https://cdn.example/ph-1.jpg"}]
    ]
