"""What the console tells of drafts that were not sent, of rules, and of what the models cost."""

import re
from datetime import UTC, datetime
from html import unescape

from schemas.agent import TraceItem, TraceKind
from schemas.decisions import Reply
from schemas.ids import number_of
from schemas.jobs import AutoReply
from tests.builders_face import Gateway, a_gateway
from tests.builders_storage import a_reply
from tests.integration.test_http_steering import PERSONA, held, say
from tests.visitor import signed_in

STRATEGY = {
    "rules": [
        {"rule": "calm", "outcome": "applied"},
        {"rule": "offer", "outcome": "dropped", "reason": "calm comes before it, and they exclude each other"},
    ],
    "inject": ["Answer <b>calmly</b>."],
    "required": ["set_plan"],
    "autonomy": "draft",
    "window": 120.0,
}


async def drafted(gateway: Gateway, job: str, reply: Reply) -> None:
    """The queued job thinks, and holds that reply."""
    number = number_of("job", job)
    assert number is not None
    claim = await gateway.parts.transitions.claim_run(AutoReply(conversation=1, job=number))
    assert claim is not None
    await gateway.parts.transitions.record(claim, reply)


def seen(html: str) -> str:
    """What somebody reads: no markup, no times."""
    plain = " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())
    return re.sub(r"\d+ \w{3}, \d\d:\d\d", "AT", plain)


def drafts_of(page: str) -> list[str]:
    found = re.search(r'<details class="card pad drafts">(.*?)</details>', page, re.S)
    if found is None:
        return []
    return [seen(one) for one in re.split(r"<li><p>", found[1])[1:]]


async def test_a_conversation_tells_of_drafts_that_were_not_sent_by_whom_and_why(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        job = await held(gateway, "un", "deux")
        anna = await signed_in(gateway, "operator", "acme", "anna")
        bob = await signed_in(gateway, "operator", "acme", "bob")
        before = (await anna.get("/conversations/c-1")).text
        await anna.post(f"/jobs/{job}/regenerate", {"instruction": "plus court"})
        await drafted(gateway, job, a_reply("trois", "quatre"))
        await bob.post("/candidates/bub_5", {"job": job, "drop": "1"})
        await anna.post(f"/jobs/{job}/regenerate", {"instruction": "plus long"})
        await drafted(gateway, job, a_reply("cinq"))
        second = await say(gateway, "tu es là ?", name="m-2")
        assert second is not None
        await drafted(gateway, second, a_reply("<i>six</i>"))
        await bob.post(f"/jobs/{second}/cancel")
        page = (await anna.get("/conversations/c-1")).text

    assert drafts_of(before) == []
    assert drafts_of(page) == [
        "AT · cancelled · bob · job_2 <i>six</i>",
        "AT · the contact wrote again · the contact · job_1 overtaken cinq",
        "AT · drafted again · anna · job_1 Asked for: plus long quatre",
        "AT · bubble dropped · bob · job_1 trois",
        "AT · drafted again · anna · job_1 Asked for: plus court un deux",
    ]


async def test_another_organisation_reads_no_drafts(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        job = await held(gateway, "un")
        await gateway.organization("globex")
        await (await signed_in(gateway, "operator", "acme", "anna")).post(f"/jobs/{job}/cancel")
        stranger = await signed_in(gateway, "operator", "globex", "zoe")
        page = await stranger.get("/conversations/c-1")

    assert (page.status_code, "un" in seen(page.text).split()) == (404, False)


async def test_a_trace_tells_which_rules_matched_and_which_were_dropped(database_url: str) -> None:
    noted = TraceItem(0, TraceKind.NOTE, datetime.now(UTC), {"note": "strategy: calm applied", **STRATEGY})
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme", PERSONA)
        job = await say(gateway)
        assert job is not None
        reply = a_reply("salut")
        await drafted(gateway, job, Reply(reply.bubbles, trace=(noted,)))
        anna = await signed_in(gateway, "operator", "acme", "anna")
        page = (await anna.get(f"/jobs/{job}")).text

    line = re.findall(r'<li class="note">.*?</dl>', page, re.S)
    assert [re.sub(r"\d\d:\d\d:\d\d", "AT", seen(one)) for one in line] == [
        "0 rules AT calm applied offer dropped calm comes before it, and they exclude each other "
        "Must use set_plan Autonomy Draft: nothing leaves without a person Window 2 min Told Answer <b>calmly</b>."
    ]


CALL = (
    "INSERT INTO ledger (call, org_id, pipeline, task, fence, provider, model, state, cost_usd) "
    "VALUES (:call, 1, 'x', :task, 1, 'anthropic', 'claude', 'settled', 0.01)"
)


async def test_the_cost_page_shows_the_share_of_the_stronger_model(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        admin = await signed_in(gateway, "admin")
        await gateway.run(CALL, call="r", task="review")
        without = seen((await admin.get("/costs")).text)
        for n, task in enumerate(("reply", "reply", "reply", "concierge", "concierge_strong")):
            await gateway.run(CALL, call=str(n), task=task)
        page = (await admin.get("/costs")).text

    shown = re.findall(r'<section class="card pad tile"><h2>Stronger route</h2><p class="big">([^<]*)', page)
    assert ("Stronger route" in without, shown) == (False, ["20%"])
