"""Scenes of the demo about photos, an offer and a payment."""

import html
import re
from typing import Any

import httpx2

from schemas.http import JobOut
from workers.cli.demo.receiver import Delivery
from workers.cli.demo.stage import Stage, check, ended

_FOUND = re.compile(r'"id": "([^"]+)".*?"description": "([^"]*)"')
_SAYS = re.compile(r'<p class="test" role="note">(.*?)</p>')
_PATIENCE_SECONDS = 20.0


def shown_a_photo(stage: Stage) -> None:
    stage.terminal.heading("4. Asked for a photo, she looks in her gallery and sends a free one that fits")
    bubbles = stage.sent_at_once(stage.write(6, "tu m'envoies une photo de la montagne ?"))
    found = _looked_up(bubbles.job)
    stage.aside(f"get_media found {', '.join(found)}; first, by its meaning: “{next(iter(found.values()), '')}”")
    shown = [media["id"] for bubble in bubbles.got if bubble.data["kind"] == "image" for media in bubble.data["media"]]
    check(shown == list(found)[:1], f"get_media put {list(found)[:1]} first, and {shown} arrived")


def offered(stage: Stage) -> Delivery:
    """Answers the webhook that carried the offer."""
    stage.terminal.heading("5. He wants to buy: a rule of the team matches and demands an offer, with a link to pay")
    bubbles = stage.sent_at_once(stage.write(7, "je peux acheter le film de ta traversée ?"))
    applied = [rule["rule"] for rule in bubbles.job.rules if rule["outcome"] == "applied"]
    check(applied, f"no rule was applied: {bubbles.job.rules}")
    offers = [bubble for bubble in bubbles.got if bubble.data["payment"]]
    check(len(offers) == 1, f"{len(offers)} offers arrived instead of one")
    payment = offers[0].data["payment"]
    check(payment["url"], "the offer has no link")
    stage.aside(f"rule {', '.join(applied)} asked for it: {', '.join(payment['media_ids'])}, "
                f"{payment['amount']} {payment['currency']}, {payment['id']}")  # fmt: skip
    return offers[0]


def paid(stage: Stage, offer: Delivery) -> None:
    stage.terminal.heading("6. He pays, and presses the button twice: what he bought is delivered once")
    payment = offer.data["payment"]
    page = httpx2.get(payment["url"], timeout=20)
    says = _SAYS.search(page.text)
    check(page.status_code == httpx2.codes.OK and says, f"the page to pay on answers {page.status_code}")
    stage.aside(f"the page behind the link says: “{html.unescape(says[1]) if says else ''}”")
    for _ in range(2):
        answer = httpx2.post(payment["url"], timeout=20)
        stage.terminal.say(f"Léo presses the button: HTTP {answer.status_code}", "bold white")
        check(answer.status_code == httpx2.codes.OK, f"paying answers {answer.status_code}")
    jobs = [job for job in stage.gateway.jobs(conversation="demo-leo")["items"] if job["trigger"] == "payment"]
    check(len(jobs) == 1, f"two presses made {len(jobs)} deliveries instead of one")
    bubbles = stage.answered(stage.follow(jobs[0]["id"], ended))
    sent = [media["id"] for bubble in bubbles.got for media in bubble.data["media"]]
    check(sent == payment["media_ids"], f"{payment['media_ids']} was paid, {sent} arrived")
    told = stage.arrives("payment.delivered", _PATIENCE_SECONDS)
    check(told.data["id"] == payment["id"], f"{told.data['id']} was delivered, not {payment['id']}")


def _looked_up(job: JobOut) -> dict[str, str]:
    """What the run's lookup answered, in its order: media and what is to be seen on them."""
    looks: list[dict[str, Any]] = [item for item in job.trace if item.get("tool") == "get_media"]
    check(looks, f"{job.id} looked nothing up")
    return dict(_FOUND.findall(str(looks[-1].get("result"))))
