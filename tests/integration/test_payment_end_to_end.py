"""Media sold through the whole product: offered, paid from several sides at once, delivered once; every process is
the real one."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2

from tests.builders_media import a_document
from tests.scripts import bubbles, call, done
from tests.stack import Stack, Talk, wait_until
from workers.simulator.control import SimulatorControl


def a_shop(stack: Stack, **persona: Any) -> Talk:
    talk = stack.organization(**persona)
    shelf = [
        a_document("v-1", "10.00", type="video", description="la plage"),
        a_document("p-2", "2.50", description="le port"),
        a_document("p-free", description="le chat"),
    ]
    talk.call("POST", "/v1/apply", json={"resources": shelf}, status=200)
    return talk


def selling(*media: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [call("get_media", kind="paid"), call("send_payment", media_ids=list(media), **arguments)]}


def tell(talk: Talk, payment: str, status: str = "paid") -> Any:
    body = {"status": status, "reference": "tx-1"}
    return talk.call("POST", f"/v1/payments/{payment}/events", json=body, status=200)


def shown(stack: Stack, talk: Talk) -> list[tuple[str, list[str]]]:
    """Kind of each bubble, and the media that it shows or sells."""
    return [
        (post["kind"], post["payment"]["media_ids"] if post["payment"] else [media["id"] for media in post["media"]])
        for post in stack.receiver.applied(talk.name)
    ]


async def test_paid_five_times_from_three_threads_delivers_once_and_the_same_offer_is_one_link(
    stack: Stack, model: SimulatorControl
) -> None:
    talk = a_shop(stack)
    offer, again = selling("v-1", "p-2", message="Rien que pour toi"), selling("p-2", "v-1")
    await model.script(offer, done(), again, done(), match=talk.marker, task="reply")

    first = talk.ended(talk.say("tu as des vidéos ?")["job"])
    talk.ended(talk.say("tu peux renvoyer le lien ?")["job"])
    payments = [post["payment"] for post in stack.receiver.applied(talk.name) if post["payment"]]
    with ThreadPoolExecutor(3) as threads:
        answers = list(threads.map(lambda _: tell(talk, payments[0]["id"]), range(5)))
    talk.ended(answers[0]["job"])
    tell(talk, payments[0]["id"])
    (delivered,) = wait_until(lambda: stack.receiver.of(talk.name, "payment.delivered"), 10, "payment.delivered")

    assert payments[0]["id"] == payments[1]["id"]
    assert payments[0] | {"id": "", "url": None} == {
        "id": "",
        "url": None,
        "amount": "12.50",
        "currency": "EUR",
        "media_ids": ["v-1", "p-2"],
    }
    assert {answer["job"] for answer in answers} == {answers[0]["job"]}
    assert shown(stack, talk) == [
        ("payment", ["v-1", "p-2"]),
        ("payment", ["p-2", "v-1"]),
        ("video", ["v-1"]),
        ("image", ["p-2"]),
    ]
    assert (delivered.facts["id"], delivered.facts["reference"]) == (payments[0]["id"], "tx-1")
    assert first["candidates"][0]["price"] == {"amount": "12.50", "currency": "EUR"}
    assert [job["trigger"] for job in talk.jobs()] == ["message", "message", "payment"]


async def test_what_was_paid_comes_although_a_person_took_over_and_the_contact_writes(
    stack: Stack, model: SimulatorControl
) -> None:
    talk = a_shop(stack)
    await model.script(selling("v-1"), done(), match=talk.marker, task="reply")
    talk.ended(talk.say("une vidéo ?")["job"])
    (payment,) = [post["payment"] for post in stack.receiver.applied(talk.name)]

    talk.call("POST", f"/v1/conversations/{talk.name}/takeover", status=200)
    job = tell(talk, payment["id"])["job"]
    talk.say("alors ?")
    talk.ended(job)

    assert shown(stack, talk) == [("payment", ["v-1"]), ("video", ["v-1"])]


async def test_the_agent_is_told_what_was_sold_and_refused_what_may_not_be(
    stack: Stack, model: SimulatorControl
) -> None:
    talk = a_shop(stack)
    await model.script(selling("v-1"), done(), match=talk.marker, task="reply")
    talk.ended(talk.say("une vidéo ?")["job"])
    (payment,) = [post["payment"] for post in stack.receiver.applied(talk.name)]
    talk.ended(tell(talk, payment["id"])["job"])
    wrong = {"calls": [call("send_payment", media_ids=["v-1"]), call("send_payment", media_ids=["p-free"])]}
    await model.script(wrong, bubbles("De rien !"), done(), match=talk.marker, task="reply")
    job = talk.ended(talk.say("merci !")["job"])

    moments = [str(seen.body) for seen in await model.requests(task="reply") if talk.marker in seen.body]
    assert "Bought: v-1 for 10.00 EUR" in moments[-1]
    assert [item["reason"] for item in job["trace"] if item.get("tool") == "send_payment"] == [
        "The contact has already bought the media 'v-1'. Offer another one. The offer was not queued.",
        "The media 'p-free' is free, there is nothing to pay. Use send_image. The offer was not queued.",
    ]


async def test_where_nobody_is_to_pay_a_page_plays_the_provider(stack: Stack, model: SimulatorControl) -> None:
    stack.stop("send")
    stack.start("send", "worker", "--queues", "send", REPLIQUE_INSTANCE="send-2", REPLIQUE_PAYMENTS__PROVIDER="test")
    try:
        talk = a_shop(stack)
        await model.script(selling("p-2"), done(), match=talk.marker, task="reply")
        talk.ended(talk.say("une photo ?")["job"])
        (payment,) = [post["payment"] for post in stack.receiver.applied(talk.name)]

        # The gateway of this stack takes real money: it has no such page.
        assert payment["url"].startswith(f"{stack.url}/v1/payments/{payment['id']}/page?sig=")
        assert httpx2.get(payment["url"]).status_code == 404
    finally:
        stack.stop("send")
        stack.start("send", "worker", "--queues", "send", REPLIQUE_INSTANCE="send-3")
