"""The table of docs/TRANSITIONS.md, row by row: what happens, and what is answered when it may not.

Read it beside the table. Each row is a short story in one conversation, told over HTTP and by the hints of the queue;
it answers what can be seen at its end.
"""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from schemas.claims import Accepted, MustBeAlone, Preparing, Refused, Unknown
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble, Failure, Parked, Reply, Silence, SilenceReason
from schemas.errors import Code, FailureKind
from schemas.jobs import AutoReply
from schemas.payments import Link, Offering
from schemas.speech import SpeechFailed
from tests.builders_shop import a_selling_reply, an_offer, stock
from tests.builders_storage import a_reply, a_reservation, a_step, closed_hours, open_hours
from tests.integration import test_rows_closing, test_transitions_payment
from tests.scene import SOON, Scene, a_scene

Story = Callable[[Scene], Awaitable[Any]]

PACED = {"pacing": {"base_ms": 60_000, "per_char_ms": 0, "jitter": 0}}
SLOW = {"debounce": {"quiet_seconds": 30, "max_wait_seconds": 45}}
DRAFT = {"autonomy": "draft"}
NOTICE = {"disclosure": {"notice": True}}
PART = "Les mots. " * 409 + "Fini."
"""As much as the webhook takes at once: a sentence more would be too much."""
LONG = f"{PART} {PART} {PART}"
LEAVE_IT = "leave it: it says to the contact what has happened"
NO = Refused("503", final=False)
NEVER = Refused("400", final=True)
HANGS = Unknown("timed out")


@dataclass(frozen=True)
class Row:
    name: str
    story: Story
    persona: dict[str, Any]
    expected: Any


ROWS: list[Row] = []


def row(name: str, expected: Any, **persona: Any) -> Callable[[Story], Story]:
    def remember(story: Story) -> Story:
        ROWS.append(Row(name, story, persona, expected))
        return story

    return remember


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
async def test_row(database_url: str, row: Row) -> None:
    async with a_scene(database_url, row.persona) as scene:
        assert await row.story(scene) == row.expected


ELSEWHERE = {"35": test_transitions_payment, "36": test_rows_closing}
"""Rows with a module of their own."""


def table(columns: int) -> list[list[str]]:
    """The rows of docs/TRANSITIONS.md that have so many columns."""
    text = (Path(__file__).parents[2] / "docs/TRANSITIONS.md").read_text(encoding="utf-8")
    cells = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|") and "---" not in line]
    return [[cell.strip().replace("`", "") for cell in row] for row in cells if len(row) == columns]


def test_every_row_of_the_jobs_has_its_story_and_every_refusal_too() -> None:
    rows = [(number, otherwise) for number, _, _, _, otherwise, _ in table(6) if number.isdecimal()]
    told = {row.name.split()[0] for row in ROWS} | set(ELSEWHERE)
    refused = {row.name.split()[0] for row in ROWS if re.match(r"\d+ otherwise", row.name)}

    assert len(rows) > 30
    assert {number for number, _ in rows} - told == set()
    assert {number for number, otherwise in rows if "409" in otherwise} - refused - set(ELSEWHERE) == set()


def test_every_move_of_a_delivery_has_its_story() -> None:
    moves = {f"delivery {was} to {to}" for was, to, _ in table(3) if was in {"–", "posting", "waiting"}}
    told = {row.name.partition(":")[0] for row in ROWS}

    assert len(moves) == 10
    assert moves - told == set()


# ---------------------------------------------------------------- what the contact does


@row("1 a message makes a job", (202, "job_1", ["queued 1"], "later"), **SLOW)
async def _(scene: Scene) -> Any:
    said = await scene.say()
    return scene.answers[-1], said["job"], await scene.jobs(), await scene.due()


@row("1 otherwise: the same id again is the same message", (True, "job_1", ["queued 1"]))
async def _(scene: Scene) -> Any:
    await scene.say(name="m-1")
    again = await scene.say(name="m-1")
    return again["duplicate"], again["job"], await scene.jobs()


@row("1 autonomy off: no job", (202, None, "autonomy_off", []), autonomy="off")
async def _(scene: Scene) -> Any:
    said = await scene.say()
    return scene.answers[-1], said["job"], said["reason"], await scene.jobs()


@row("2 a second message joins the queued job", ("job_1", ["queued 2"], "later"), **SLOW)
async def _(scene: Scene) -> Any:
    await scene.say()
    said = await scene.say()
    return said["job"], await scene.jobs(), await scene.due()


@row("3 a message supersedes a follow-up, whatever its state", (["superseded 1", "queued 2"], "message"))
async def _(scene: Scene) -> Any:
    await scene.reply("toujours là ?")
    await scene.one("UPDATE jobs SET kind = 'follow_up', trigger = 'follow_up', pinned = true")
    await scene.say()
    return await scene.jobs(), await scene.one("SELECT trigger FROM jobs WHERE id = 2")


OPEN = {"proactive_hours": open_hours()}
FOLLOWED = ["silent 1", "superseded 1", "queued 2"]


@row("3 a message ends a follow-up that is queued", (FOLLOWED, "contact message"), **OPEN)
async def _(scene: Scene) -> Any:
    await scene.leave_on_read()
    await scene.follow_up()
    await scene.say()
    return await scene.jobs(), await scene.why()


@row("3 … running: nothing of the run is kept", (FOLLOWED, "Lost", []), **OPEN)
async def _(scene: Scene) -> Any:
    await scene.leave_on_read()
    await scene.follow_up()
    claim = await scene.claim()
    assert claim is not None
    await scene.say()
    recorded = await scene.storage.record(claim, a_reply("un"))
    return await scene.jobs(), type(recorded).__name__, await scene.bubbles()


@row("3 … held: its bubbles are recalled", (FOLLOWED, ["0 text recalled un"]), **OPEN)
async def _(scene: Scene) -> Any:
    await scene.leave_on_read()
    await scene.follow_up()
    await scene.decide(a_reply("un"))
    await scene.say()
    return await scene.jobs(), await scene.bubbles()


@row("3 … sending: what has left stays", (FOLLOWED, ["sent", "recalled"]), **OPEN)
async def _(scene: Scene) -> Any:
    await scene.leave_on_read()
    await scene.follow_up()
    await scene.decide(a_reply("un", "deux"))
    await scene.send()
    await scene.say()
    return await scene.jobs(), [bubble.split()[2] for bubble in await scene.bubbles()]


@row("3 … and what was planned dies with it", (None, 0), **OPEN)
async def _(scene: Scene) -> Any:
    await scene.leave_on_read()
    await scene.say()
    return await scene.one("SELECT follow_up_at FROM conversations"), await scene.follow_up()


@row("4 a message during the run changes nothing yet", ("job_1", ["running 1"]))
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.claim()
    said = await scene.say()
    return said["job"], await scene.jobs()


@row("5 a message supersedes what is held", (["superseded 1", "queued 2"], ["0 text recalled un"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.say()
    return await scene.jobs(), await scene.bubbles()


@row("5 a message recalls what is left to send", (["superseded 1", "queued 2"], ["sent", "recalled"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    await scene.send()
    await scene.say()
    return await scene.jobs(), [bubble.split()[2] for bubble in await scene.bubbles()]


@row("5 on hold is superseded all the same", (["superseded 1", "queued 2"], "now"))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.steer("hold")
    await scene.say()
    return await scene.jobs(), await scene.due()


@row("5 otherwise: superseded three times in a row, the fourth reply is pinned", (["held 4"], "job_4"))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    for text in ("deux", "trois", "quatre"):
        await scene.reply(text)
    said = await scene.say()
    return (await scene.jobs())[3:], said["job"]


@row("6 what comes behind a pinned reply is answered after it", ["sent 1", "queued 2"])
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.one("UPDATE jobs SET pinned = true")
    await scene.say()
    await scene.send()
    return await scene.jobs()


# ---------------------------------------------------------------- what reply workers do


@row("7 claim", (["running 1"], "worker claimed"))
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.claim()
    return await scene.jobs(), await scene.why()


@row("7 otherwise: not due yet", (None, ["queued 1"]), **SLOW)
async def _(scene: Scene) -> Any:
    await scene.say()
    return await scene.claim(), await scene.jobs()


@row("8 a job whose worker died is claimed again", (["running 1"], "worker reclaimed"))
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.claim()
    await scene.expire_leases()
    await scene.claim()
    return await scene.jobs(), await scene.why()


@row("9 a step is kept, unless the job is somebody else's", ("fresh", "lost"))
async def _(scene: Scene) -> Any:
    await scene.say()
    claim = await scene.claim()
    assert claim is not None
    kept = await scene.storage.save_step(claim, a_step(claim), a_reservation(claim, 2))
    await scene.steer("cancel")
    return kept.value, (await scene.storage.save_step(claim, a_step(claim, 2), None)).value


@row("10 overtaken: queued again", ("overtaken", ["queued 2"], "later"), **SLOW)
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.make_due()
    claim = await scene.claim()
    assert claim is not None
    await scene.say()
    kept = await scene.storage.save_step(claim, a_step(claim), None)
    return kept.value, await scene.jobs(), await scene.due()


@row("10 otherwise: overtaken too often it goes on, pinned", (["held 1"], True))
async def _(scene: Scene) -> Any:
    await scene.say()
    claim = await scene.claim()
    assert claim is not None
    await scene.one("UPDATE jobs SET restarts = 2")
    await scene.say()
    await scene.storage.record(claim, a_reply("un"))
    return await scene.jobs(), await scene.one("SELECT pinned FROM jobs")


@row("11 the provider names a time", (["queued 1"], "later"))
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.decide(Parked(FailureKind.RATE_LIMITED, "429", counts=False, retry_after=60))
    return await scene.jobs(), await scene.due()


@row("12 the model failed for now", (["queued 1"], "later", 1))
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.decide(Parked(FailureKind.OVERLOADED, "529", counts=True))
    return await scene.jobs(), await scene.due(), await scene.one("SELECT tries FROM jobs")


@row("13 window: held, due after it", (["held 1"], "later", False))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    return await scene.jobs(), await scene.due(), await scene.one("SELECT on_hold FROM jobs")


@row("13 auto: due now", (["held 1"], "now"), autonomy="auto")
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    return await scene.jobs(), await scene.due()


@row("13 draft: held on hold, never due", (["held 1"], "never", True, None), **DRAFT)
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.expire_leases()
    return await scene.jobs(), await scene.due(), await scene.one("SELECT on_hold FROM jobs"), await scene.take()


@row("13 the notice comes first", ["0 notice", "1 text"], **NOTICE)
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    return [" ".join(bubble.split()[:2]) for bubble in await scene.bubbles()]


@row("14 silence", ["silent 1"])
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.decide(Silence(SilenceReason.LEFT_ON_READ, read=True))
    return await scene.jobs()


@row("14 draft: the silence waits for an approval", (["held 1"], "never", "left_on_read", None, None), **DRAFT)
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.decide(Silence(SilenceReason.LEFT_ON_READ, read=True, plan="attendre", follow_up_at=SOON))
    row = "SELECT {} FROM conversations"
    held = (await scene.jobs(), await scene.due(), await scene.one("SELECT reason FROM jobs"))
    return *held, await scene.one(row.format("plan")), await scene.one(row.format("follow_up_at"))


@row("15 failure: attention", (["failed 1 AR-552"], "open"))
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.decide(Failure(Code.NO_CANDIDATE, "nothing"))
    return await scene.jobs(), await scene.one("SELECT attention FROM jobs")


@row("16 otherwise: after two deaths it must be alone", ("MustBeAlone", ["running 1"]))
async def _(scene: Scene) -> Any:
    await scene.say()
    for _ in range(2):
        await scene.claim()
        await scene.expire_leases()
    try:
        await scene.storage.claim_run(AutoReply(conversation=1, job=1), alone=False)
    except MustBeAlone as refused:
        return type(refused).__name__, await scene.jobs()


@row("16 poison", (["failed 1 AR-571"], 1))
async def _(scene: Scene) -> Any:
    await scene.say()
    for _ in range(4):
        await scene.claim()
        await scene.expire_leases()
    return await scene.jobs(), await scene.one("SELECT count(*) FROM dead_letters")


# ---------------------------------------------------------------- what operators do to a job


@row("17 a silence that waits is carried out", (200, ["silent 1"], "operator-acme left_on_read", SOON, 1), **DRAFT)
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.decide(Silence(SilenceReason.LEFT_ON_READ, read=True, follow_up_at=SOON))
    await scene.steer("approve")
    planned = await scene.one("SELECT follow_up_at FROM conversations")
    read = await scene.one("SELECT count(*) FROM deliveries WHERE type = 'message.read'")
    return scene.answers[-1], await scene.jobs(), await scene.why(), planned, read


@row("17 otherwise: the contact wrote before", (409, ["superseded 1", "queued 2"], None), **DRAFT)
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.decide(Silence(SilenceReason.PAUSED, read=True, paused_until=SOON))
    await scene.say()
    await scene.steer("approve", job=1)
    return scene.answers[-1], await scene.jobs(), await scene.one("SELECT paused_until FROM conversations")


@row("19 release carries a silence out too", (200, ["silent 1"], SOON), **DRAFT)
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.decide(Silence(SilenceReason.PAUSED, read=True, paused_until=SOON))
    await scene.steer("release")
    return scene.answers[-1], await scene.jobs(), await scene.one("SELECT paused_until FROM conversations")


@row("20 cancel drops a silence that waits: nothing of it is kept", (["cancelled 1"], None, 0), **DRAFT)
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.decide(Silence(SilenceReason.LEFT_ON_READ, read=True, follow_up_at=SOON))
    await scene.steer("cancel")
    read = await scene.one("SELECT count(*) FROM deliveries WHERE type = 'message.read'")
    return await scene.jobs(), await scene.one("SELECT follow_up_at FROM conversations"), read


@row("23 regenerate instead of a silence that waits", (["held 1"], "later", ["0 text held un"]), **DRAFT)
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.decide(Silence(SilenceReason.LEFT_ON_READ, read=True, follow_up_at=SOON))
    await scene.steer("regenerate", {"instruction": "réponds"})
    await scene.decide(a_reply("un"))
    await scene.steer("release")
    return await scene.jobs(), await scene.due(), await scene.bubbles()


@row("23 a retry unplans the follow-up of a silence", (["queued 1"], None), **OPEN)
async def _(scene: Scene) -> Any:
    await scene.leave_on_read()
    await scene.steer("retry")
    return await scene.jobs(), await scene.one("SELECT follow_up_at FROM conversations")


@row("17 approve", (200, "now", "operator-acme send_now"))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.steer("approve")
    return scene.answers[-1], await scene.due(), await scene.why()


@row("17 a draft leaves when approved", (200, ["sent 1"]), **DRAFT)
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.steer("approve")
    status = scene.answers[-1]
    await scene.send()
    return status, await scene.jobs()


@row("17 otherwise: running", (409, "running", "worker"))
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.claim()
    late = await scene.steer("approve")
    return *refusal(late), late["by"]


@row("18 hold what is held: the rest of the countdown is kept", (200, "never", True, "operator-acme hold"))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.steer("hold")
    kept = await scene.one("SELECT rest BETWEEN interval '20 s' AND interval '45 s' FROM jobs")
    return scene.answers[-1], await scene.due(), kept, await scene.why()


@row("18 hold between bubbles", (200, "never", ["sending 1"], None), **PACED)
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    await scene.send()
    await scene.steer("hold")
    return scene.answers[-1], await scene.due(), await scene.jobs(), await scene.take()


@row("18 hold while a bubble is out: the one behind it stays", (200, ["sent", "held"], "never"))
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    posting = await scene.leave()
    await scene.steer("hold")
    await scene.storage.settle(posting, Accepted())
    return scene.answers[-1], [bubble.split()[2] for bubble in await scene.bubbles()], await scene.due()


@row("18 hold takes back what a worker prepares", (200, ["0 voice held un"], "never"))
async def _(scene: Scene) -> Any:
    await preparing(scene)
    await scene.steer("hold")
    return scene.answers[-1], await scene.bubbles(), await scene.due()


@row("18 otherwise: on hold already", (409, "held", "operator-acme", True))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.steer("hold")
    late = await scene.steer("hold")
    return *refusal(late), late["by"], late["on_hold"]


@row("18 otherwise: the last bubble has left", (409, "sending", ["sent 1"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    posting = await scene.leave()
    late = await scene.steer("hold")
    await scene.storage.settle(posting, Accepted())
    return *refusal(late), await scene.jobs()


@row("18 otherwise: queued", (409, "queued"))
async def _(scene: Scene) -> Any:
    await scene.say()
    late = await scene.steer("hold")
    return refusal(late)


@row("19 release: the rest of the countdown runs", (200, "later", True, None))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.one("UPDATE jobs SET due_at = clock_timestamp() + interval '9 s'")
    await scene.steer("hold")
    await scene.steer("release")
    rest = await scene.one("SELECT due_at - clock_timestamp() < interval '9.1 s' FROM jobs")
    return scene.answers[-1], await scene.due(), rest, await scene.one("SELECT rest FROM jobs")


@row("19 release a draft: it gets a whole countdown", (200, "later", True), **DRAFT)
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.steer("release")
    whole = await scene.one("SELECT due_at - clock_timestamp() > interval '20 s' FROM jobs")
    return scene.answers[-1], await scene.due(), whole


@row("19 release between bubbles: the next leaves now", (200, "now"), **PACED)
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    await scene.send()
    await scene.steer("hold")
    await scene.steer("release")
    return scene.answers[-1], await scene.due()


@row("19 release while a bubble is out: after it", (200, "never", "later"), **PACED)
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    posting = await scene.leave()
    await scene.steer("hold")
    await scene.steer("release")
    status, before = scene.answers[-1], await scene.due()
    await scene.storage.settle(posting, Accepted())
    return status, before, await scene.due()


@row("19 otherwise: not on hold", (409, "held", False))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    late = await scene.steer("release")
    return *refusal(late), late["on_hold"]


@row("20 cancel: queued", (200, [], ["cancelled 1"]))
async def _(scene: Scene) -> Any:
    await scene.say()
    return *await cancelled(scene), await scene.jobs()


@row("20 cancel: running, with what it has not seen", (200, [], ["cancelled 2"]))
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.claim()
    await scene.say()
    return *await cancelled(scene), await scene.jobs()


@row("20 cancel: held", (200, ["recalled", "recalled"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    return await cancelled(scene)


@row("20 cancel: on hold", (200, ["recalled"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.steer("hold")
    return await cancelled(scene)


@row("20 cancel: a bubble is prepared", (200, ["recalled"]))
async def _(scene: Scene) -> Any:
    await preparing(scene)
    return await cancelled(scene)


@row("20 cancel: one has left, the rest is stopped", (200, ["leaving", "recalled"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    await scene.leave()
    return await cancelled(scene)


@row("20 cancel: refused and waiting for another attempt", (200, ["recalled"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.send(NO)
    return await cancelled(scene)


@row("20 cancel: pinned, what came behind is answered", (200, ["recalled"], ["cancelled 1", "queued 2"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.one("UPDATE jobs SET pinned = true")
    await scene.say()
    return *await cancelled(scene, 1), await scene.jobs()


@row("20 cancel: of what was paid for, what has not left", (200, ["leaving", "recalled"], "open paid_and_cancelled"))
async def _(scene: Scene) -> Any:
    await bought(scene, "v-1", "v-2")
    await scene.leave()
    note = "SELECT attention || ' ' || note FROM jobs WHERE id = 2"
    return *await cancelled(scene), await scene.one(note)


@row("20 otherwise: all that was paid for is out", (409, "sending", ["sent 1", "sent 1"]))
async def _(scene: Scene) -> Any:
    await bought(scene, "v-1")
    posting = await scene.leave()
    late = await scene.steer("cancel")
    await scene.storage.settle(posting, Accepted())
    return *refusal(late), await scene.jobs()


@row("20 otherwise: a closing notice", ((409, "sending"), "a closing notice is not stopped", LEAVE_IT, True))
async def _(scene: Scene) -> Any:
    await scene.say(text="STOP")
    late = await scene.steer("cancel")
    return refusal(late), late["reason"], late["detail"].partition("; ")[2], "paid" not in late["detail"]


@row("edit otherwise: a closing notice", [((409, "held"), "a closing notice is delivered as it is", LEAVE_IT)] * 2)
async def _(scene: Scene) -> Any:
    await scene.say(text="STOP")
    found = [await scene.edit(1, text="UN"), await scene.drop(1)]
    return [(refusal(late), late["reason"], late["detail"].partition("; ")[2]) for late in found]


@row("20 otherwise: the last bubble is out", (409, "sending", ["sent 1"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    posting = await scene.leave()
    late = await scene.steer("cancel")
    await scene.storage.settle(posting, Accepted())
    return *refusal(late), await scene.jobs()


@row("20 otherwise: it may have been shown", (409, "sending", ["0 text leaving un"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.send(HANGS)
    late = await scene.steer("cancel")
    return *refusal(late), await scene.bubbles()


@row("20 otherwise: it has ended", [(409, "sent"), (409, "silent"), (409, "failed"), (409, "superseded")])
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.send()
    found = [await late(scene, "cancel")]
    await scene.say()
    await scene.decide(Silence(SilenceReason.LEFT_ON_READ))
    found.append(await late(scene, "cancel"))
    await scene.say()
    await scene.decide(Failure(Code.NO_CANDIDATE, "nothing"))
    found.append(await late(scene, "cancel"))
    await scene.reply("deux")
    await scene.say()
    return [*found, await late(scene, "cancel", 4)]


@row("21 takeover", (200, ["cancelled 1"], ["0 text recalled un"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.conversation("takeover")
    return scene.answers[-1], await scene.jobs(), await scene.bubbles()


@row("21 an operator wrote", ("operator", ["cancelled 1"], "human"))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    said = await scene.say(author="operator")
    return said["reason"], await scene.jobs(), await scene.one("SELECT handled_by FROM conversations")


@row("21 otherwise: a second person is told who", (409, "human", "operator-acme"))
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.conversation("takeover")
    late = await scene.conversation("takeover")
    return *refusal(late), late["by"]


@row("22 resume answers what waits", ("job_2", ["cancelled 1", "queued 2"], "now"))
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.conversation("takeover")
    await scene.say()
    resumed = await scene.conversation("resume")
    return resumed["job"], await scene.jobs(), await scene.due()


@row("22 otherwise: the AI handles it", (409, "ai"))
async def _(scene: Scene) -> Any:
    await scene.say()
    late = await scene.conversation("resume")
    return late["status"], late["state"]


# ---------------------------------------------------------------- again


@row("23 regenerate what is held, with an instruction", (200, ["queued 1"], "now", ["recalled", "held"], "plus court"))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.steer("regenerate", {"instruction": "plus court"})
    seen = scene.answers[-1], await scene.jobs(), await scene.due()
    claim = await scene.claim()
    assert claim is not None
    await scene.storage.record(claim, a_reply("court"))
    return *seen, [bubble.split()[2] for bubble in await scene.bubbles()], claim.case.instruction


@row("23 regenerate what failed: counters at 0, off the list", (200, ["queued 1"], "0 0 0 0 False None None"))
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.decide(Failure(Code.NO_CANDIDATE, "nothing"))
    await scene.one("UPDATE jobs SET restarts = 2, supersedes = 3, tries = 7, crashes = 2, pinned = true")
    await scene.steer("regenerate", {})
    counts = await scene.lines(
        "SELECT restarts, supersedes, tries, crashes, pinned, attention, COALESCE(code, reason) FROM jobs"
    )
    return scene.answers[-1], await scene.jobs(), counts[0]


@row("23 regenerate covers all that was said", ["queued 2"])
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.claim()
    await scene.say()
    await scene.steer("cancel")
    await scene.steer("regenerate", {})
    return await scene.jobs()


@row("23 regenerate what is silent, during a pause: after it", (200, ["queued 1"], "later"))
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.decide(Silence(SilenceReason.PAUSED))
    await scene.one("UPDATE conversations SET paused_until = clock_timestamp() + interval '1 h'")
    await scene.steer("regenerate", {})
    return scene.answers[-1], await scene.jobs(), await scene.due()


@row("23 otherwise: a bubble has left", [(409, "sending"), (409, "cancelled"), (409, "sent")])
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    await scene.send()
    found = [await late(scene, "regenerate")]
    await scene.steer("cancel")
    found.append(await late(scene, "regenerate"))
    await scene.reply("un")
    await scene.send()
    return [*found, await late(scene, "regenerate")]


@row("23 otherwise: a person handles it", (409, "human"))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.conversation("takeover")
    return await late(scene, "regenerate")


@row("24 retry: failed", (200, ["queued 1"], "now", "operator-acme retry"))
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.decide(Failure(Code.NO_CANDIDATE, "nothing"))
    await scene.steer("retry")
    return scene.answers[-1], await scene.jobs(), await scene.due(), await scene.why()


@row("24 retry: silent and cancelled", (200, 200, ["queued 1"], "retry"))
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.decide(Silence(SilenceReason.LEFT_ON_READ))
    await scene.steer("retry")
    first = scene.answers[-1]
    await scene.steer("cancel")
    await scene.steer("retry")
    return first, scene.answers[-1], await scene.jobs(), await scene.one("SELECT trigger FROM jobs")


@row("24 retry forgets the instruction, and the dead letter is retried", (200, None, "retried"))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.steer("regenerate", {"instruction": "plus court"})
    for _ in range(4):
        await scene.claim()
        await scene.expire_leases()
    await scene.steer("retry")
    letter = await scene.one("SELECT state FROM dead_letters")
    return scene.answers[-1], await scene.one("SELECT instruction FROM jobs"), letter


@row("24 otherwise: a newer job", (409, "failed", "job_2"))
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.decide(Failure(Code.NO_CANDIDATE, "nothing"))
    await scene.say()
    late = await scene.steer("retry", job=1)
    return *refusal(late), late["newer_job"]


@row("24 otherwise: live, or a reply was made", [(409, "queued"), (409, "held"), (409, "sent")])
async def _(scene: Scene) -> Any:
    await scene.say()
    found = [await late(scene, "retry")]
    await scene.decide(a_reply("un"))
    found.append(await late(scene, "retry"))
    await scene.send()
    return [*found, await late(scene, "retry")]


@row("24 otherwise: a bubble has left, or may have", [(409, "cancelled"), (409, "cancelled")])
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    await scene.send()
    await scene.steer("cancel")
    found = [await late(scene, "retry")]
    await scene.reply("un", "deux")
    await scene.send(HANGS)
    await scene.steer("cancel")
    return [*found, await late(scene, "retry")]


HAS_LEFT = (
    "a bubble has left, it is not thought again: answer by hand, or leave it: the contact's next message is answered"
)
ERASED = "nothing: the contact was erased"


@row("24 otherwise: what is advised is not refused", [HAS_LEFT, HAS_LEFT, HAS_LEFT, HAS_LEFT, ERASED, ERASED])
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    await scene.send()
    await scene.steer("cancel")
    found = [await scene.steer(verb) for verb in ("retry", "approve", "cancel")]
    found.append(await scene.steer("regenerate", {}))
    advice = [answer["detail"].partition("; ")[2] for answer in found]
    advice.append((await scene.call("GET", "explain/job_1"))["next"])
    assert advice.pop() == HAS_LEFT
    await scene.say()
    await scene.call("DELETE", "contacts/fan-7")
    advice.append((await scene.steer("retry", job=2))["detail"].partition("; ")[2])
    return [*advice, (await scene.call("GET", "explain/job_2"))["next"]]


@row("24 otherwise: a person handles it", (409, "human"))
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.conversation("takeover")
    return await late(scene, "retry")


@row(
    "25 retry a delivery: the same webhook ids",
    (["failed 1 AR-560"], ["failed", "held"], 200, ["sending 1"], ["held", "held"], True, ["sent 1"], "retried"),
)
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    first = await scene.leave()
    await scene.storage.settle(first, NEVER)
    failed = await scene.jobs(), await states(scene)
    await scene.steer("retry")
    again = scene.answers[-1], await scene.jobs(), await states(scene)
    second = await scene.leave()
    await scene.storage.settle(second, Accepted())
    await scene.send()
    letter = await scene.one("SELECT state FROM dead_letters")
    return *failed, *again, first.webhook_id == second.webhook_id, await scene.jobs(), letter


@row(
    "25 what may have been shown is repeated as it was",
    (200, ["leaving"], (409, "leaving"), (True, True), ["sent 1"], 1),
)
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    first = await scene.leave()
    await scene.storage.settle(first, HANGS)
    await scene.one("UPDATE deliveries SET first_attempt_at = clock_timestamp() - interval '2 d', due_at = now()")
    posting = await scene.carry()
    assert posting is not None
    await scene.storage.settle(posting, NO)
    await scene.steer("retry")
    status, bubbles = scene.answers[-1], await states(scene)
    edited = await scene.edit(1, text="autre")
    again = await scene.carry()
    assert again is not None
    same = again.webhook_id == first.webhook_id, again.body == first.body
    await scene.storage.settle(again, Accepted())
    lines = await scene.one("SELECT count(*) FROM messages WHERE candidate_id = 1")
    return status, bubbles, (edited["status"], edited["state"]), same, await scene.jobs(), lines


@row("25 otherwise: the contact wrote since", (409, "failed", "job_2"))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.send(NEVER)
    await scene.say()
    late = await scene.steer("retry", job=1)
    return *refusal(late), late["newer_job"]


@row("25 otherwise: a person answered since", (409, "failed", "the conversation went on"))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.send(NEVER)
    await scene.say(author="operator")
    await scene.conversation("resume")
    late = await scene.steer("retry")
    return *refusal(late), late["reason"]


# ---------------------------------------------------------------- what send workers do


@row("26 a bubble leaves", (["sending 1"], ["0 text leaving un"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.leave()
    return await scene.jobs(), await scene.bubbles()


@row("26 … a notice is due by now", ["0 notice leaving", "1 text held", "2 text held"])
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    await scene.one('UPDATE personas SET spec = spec || \'{"disclosure": {"notice": true}}\', version = version + 1')
    await scene.leave()
    return [" ".join(bubble.split()[:3]) for bubble in await scene.bubbles()]


@row("26 otherwise: the window is open", (None, ["held 1"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    return await scene.take(), await scene.jobs()


@row("26 otherwise: a bubble is out", (None, ["leaving", "held"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    await scene.leave()
    await scene.one("UPDATE jobs SET due_at = clock_timestamp()")
    return await scene.take(), await states(scene)


@row("27 the contact wrote, unseen", (None, ["superseded 1", "queued 2"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.one("UPDATE conversations SET inbound_seq = 2")
    await scene.make_due()
    return await scene.take(), await scene.jobs()


@row("28 the contact opted out", (None, ["cancelled 1"], "worker opted_out"))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.one("UPDATE contacts SET opted_out_at = clock_timestamp()")
    await scene.make_due()
    return await scene.take(), await scene.jobs(), await scene.why()


@row("29 speech failed for good: no countdown, a person is asked", (["held 1 AR-561"], ["held"], "never", "open"))
async def _(scene: Scene) -> Any:
    await unspoken(scene, SpeechFailed("no voice", retryable=False))
    return await scene.jobs(), await states(scene), await scene.due(), await scene.one("SELECT attention FROM jobs")


@row("29 approve, release: that is decided, and off the attention list", [[None, None, None], [None, None, None]])
async def _(scene: Scene) -> Any:
    found = []
    for verb in ("approve", "release"):
        await unspoken(scene, SpeechFailed("no voice", retryable=False))
        await scene.steer(verb)
        found.append(
            await scene.one("SELECT json_build_array(code, reason, attention) FROM jobs ORDER BY id DESC LIMIT 1")
        )
    return found


@row("29 otherwise: it is tried again", (["sending 1"], ["held"], "later"))
async def _(scene: Scene) -> Any:
    await unspoken(scene, SpeechFailed("no voice", retryable=True))
    return await scene.jobs(), await states(scene), await scene.due()


@row("29 otherwise: operators called its worker off, three times each", (["sending 1"], ["preparing"], 1))
async def _(scene: Scene) -> Any:
    await preparing(scene)
    for number in range(3):
        await scene.edit(1, text=f"un {number}")
        await scene.take()
        await scene.steer("hold")
        await scene.steer("release")
        await scene.take()
    return await scene.jobs(), await states(scene), await scene.one("SELECT crashes FROM jobs")


@row("29 otherwise: other words after two failures have all their attempts", (["sending 1"], ["held"], 1))
async def _(scene: Scene) -> Any:
    away = SpeechFailed("no voice", retryable=True)
    await unspoken(scene, away)
    await scene.make_due()
    await cannot_speak(scene, away)
    await scene.edit(1, text="autrement")
    await scene.make_due()
    await cannot_speak(scene, away)
    return await scene.jobs(), await states(scene), await scene.one("SELECT tries FROM jobs")


@row("30 accepted: the next after its pace", (["sending 1"], "later"), **PACED)
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    await scene.send()
    return await scene.jobs(), await scene.due()


@row("31 accepted, nothing left", ["sent 1"])
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.send()
    return await scene.jobs()


@row("32 given up", (["failed 1 AR-560"], ["failed", "held"], 1))
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    await scene.send(NEVER)
    return await scene.jobs(), await states(scene), await scene.one("SELECT count(*) FROM dead_letters")


# ---------------------------------------------------------------- a delivery


@row("delivery – to posting: a bubble leaves", ["posting False"])
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.leave()
    return await deliveries(scene)


@row("delivery – to waiting: another webhook is decided", ["message.read waiting"])
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.decide(Silence(SilenceReason.LEFT_ON_READ, read=True))
    return await scene.lines("SELECT type, state FROM deliveries WHERE due_at <= clock_timestamp()")


@row("delivery posting to accepted", (["accepted False"], ["sent"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.send()
    return await deliveries(scene), await states(scene)


@row("delivery posting to waiting: refused, or no whole answer", (["waiting False"], None, ["waiting True"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.send(NO)
    refused, early = await deliveries(scene), await scene.carry()
    await scene.make_webhooks_due()
    again = await scene.carry()
    assert again is not None
    await scene.storage.settle(again, HANGS)
    return refused, early, await deliveries(scene)


@row("delivery posting to recalled: refused, and its job is gone", (["recalled False"], ["recalled"], 0))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    posting = await scene.leave()
    await scene.conversation("takeover")
    await scene.storage.settle(posting, NO)
    lines = await scene.one("SELECT count(*) FROM messages WHERE candidate_id IS NOT NULL")
    return await deliveries(scene), await states(scene), lines


@row("delivery posting to failed: refused for good", (["failed False"], ["failed"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.send(NEVER)
    return await deliveries(scene), await states(scene)


@row(
    "delivery waiting to waiting: night has fallen since it was refused",
    (None, ["waiting False"], "worker quiet_hours"),
)
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.send(NO)
    await night(scene)
    await scene.make_webhooks_due()
    return await scene.carry(), await deliveries(scene), await scene.why()


@row("delivery waiting to posting: night has fallen, but it may have been shown", ["posting True"])
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.send(HANGS)
    await night(scene)
    await scene.make_webhooks_due()
    await scene.carry()
    return await deliveries(scene)


@row("delivery posting to posting: its worker died", (["posting True"], True, True, None))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    first = await scene.leave()
    busy = await scene.carry()
    await scene.expire_leases()
    again = await scene.carry()
    assert again is not None
    same = again.webhook_id == first.webhook_id, again.body == first.body
    return await deliveries(scene), *same, busy


@row("delivery waiting to posting: due", (["posting False"], True))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    first = await scene.leave()
    await scene.storage.settle(first, NO)
    await scene.make_webhooks_due()
    again = await scene.carry()
    assert again is not None
    return await deliveries(scene), again.webhook_id == first.webhook_id


@row("delivery waiting to recalled: never ambiguous", (["recalled False"], ["recalled"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.send(NO)
    await scene.say()
    return await deliveries(scene), await states(scene)


@row("delivery otherwise: ambiguous, it is not recalled", (["waiting True"], ["leaving"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.send(HANGS)
    await scene.say()
    return await deliveries(scene), await states(scene)


# ---------------------------------------------------------------- what operators do to a bubble


@row("33 the last bubble is dropped, the notice goes with it", (200, "dropped", ["cancelled 1"], 2), **NOTICE)
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    answer = await scene.drop(2)
    dropped = await scene.one("SELECT count(*) FROM candidates WHERE state = 'dropped'")
    return scene.answers[-1], answer["state"], await scene.jobs(), dropped


@row("33 the last to be sent is dropped: sent", (200, ["sent 1"], "operator-acme dropped"), **PACED)
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    await scene.send()
    await scene.drop(2)
    return scene.answers[-1], await scene.jobs(), await scene.why()


@row("33 the one behind a bubble that is out is dropped: it ends with that one", (["sending 1"], ["sent 1"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    posting = await scene.leave()
    await scene.drop(2)
    before = await scene.jobs()
    await scene.storage.settle(posting, Accepted())
    return before, await scene.jobs()


@row("33 a pinned reply is dropped: what came behind is answered", ["cancelled 1", "queued 2"])
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.one("UPDATE jobs SET pinned = true")
    await scene.say()
    await scene.drop(1)
    return await scene.jobs()


@row("33 one that is prepared is dropped: the next is due", (["dropped", "held"], "now"))
async def _(scene: Scene) -> Any:
    await preparing(scene, "un", "deux")
    await scene.drop(1)
    return await states(scene), await scene.due()


@row("33 otherwise: a notice", ((409, "held"), ["notice held", "text held"]), **NOTICE)
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    late = refusal(await scene.drop(1))
    return late, [" ".join(bubble.split()[1:3]) for bubble in await scene.bubbles()]


@row("33 otherwise: it has left, or was dropped", [(409, "leaving"), (409, "sent"), (409, "dropped")])
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux", "trois")
    posting = await scene.leave()
    found = [await scene.drop(1)]
    await scene.storage.settle(posting, Accepted())
    found.append(await scene.drop(1))
    await scene.drop(2)
    found.append(await scene.drop(2))
    return [refusal(late) for late in found]


@row("edit: the words, without moving the countdown", (200, 1, "UN", True))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    before = await scene.one("SELECT due_at FROM jobs")
    edited = await scene.edit(1, text=" UN ", version=0)
    return (
        scene.answers[-1],
        edited["version"],
        edited["text"].strip(),
        before == await scene.one("SELECT due_at FROM jobs"),
    )


@row("edit: Markdown is shown as the contact will see it", "C'est bien : https://ex.fr/a_b_c")
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    edited = await scene.edit(1, text="C'est **bien** : https://ex.fr/a_b_c ")
    return edited["text"]


@row(
    "edit: too long for the channel, it becomes several",
    (["0 notice", "1 text un", "2 text P", "3 text P", "4 text P", "5 text deux"], 2, [1, 0], "later", 3),
    **NOTICE,
)
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux", "trois")
    edited = await scene.edit(4, text=LONG, ordinal=2)
    versions = edited["version"], await scene.one("SELECT max(version) FROM candidates WHERE id > 4")
    told = await scene.one("SELECT facts->'parts' FROM job_events ORDER BY id DESC LIMIT 1")
    lines = [line.replace(" held", "").replace(PART, "P") for line in await scene.bubbles()]
    return [line.split(" The ")[0] for line in lines], edited["ordinal"], list(versions), await scene.due(), told


@row("edit: its parts leave in order, each once", (["P", "P", "P", "deux"], [0, 1, 2, 3], ["sent 1"], True))
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    await scene.edit(1, text=LONG)
    left = [await scene.leave()]
    for _ in range(3):
        await scene.storage.settle(left[-1], Accepted())
        left.append(await scene.leave())
    await scene.storage.settle(left[-1], Accepted())
    data = [json.loads(posting.body)["data"] for posting in left]
    once = len({posting.webhook_id for posting in left}) == 4
    texts = [each["text"].replace(PART, "P") for each in data]
    return texts, [each["ordinal"] for each in data], await scene.jobs(), once


@row(
    "edit: between two parts the contact writes, and the rest does not leave",
    (["sent", "recalled", "recalled", "recalled"], ["superseded 1", "queued 2"], ["coucou", "P", "coucou"]),
    **PACED,
)
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    await scene.edit(1, text=LONG)
    await scene.send()
    await scene.say()
    lines = await scene.lines("SELECT text FROM messages ORDER BY position")
    return await states(scene), await scene.jobs(), [line.replace(PART, "P") for line in lines]


@row("edit otherwise: what is spoken cannot become several", (422, ["0 voice preparing un"]))
async def _(scene: Scene) -> Any:
    await preparing(scene)
    await scene.edit(1, text=f"{PART} {PART}")
    return scene.answers[-1], await scene.bubbles()


@row("edit: what leaves is what was edited", "deux fois")
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.edit(1, text="deux fois")
    return json.loads((await scene.leave()).body)["data"]["text"]


@row("edit: one that is prepared is prepared again", (["0 voice held UN"], "now", 1))
async def _(scene: Scene) -> Any:
    await preparing(scene)
    await scene.edit(1, text="UN")
    return await scene.bubbles(), await scene.due(), await scene.one("SELECT version FROM candidates")


@row("edit otherwise: somebody was faster", (409, "held", "operator-acme", 1, "un, mieux"))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.edit(1, text="un, mieux", version=0)
    late = await scene.edit(1, text="un, autrement", version=0)
    return *refusal(late), late["by"], late["version"], await scene.one("SELECT text FROM candidates")


@row("edit: the answer is of the edit, whatever happens behind it", (200, "held", None, ["0 text dropped un, mieux"]))
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    edit = scene.storage.edit_candidate

    async def edit_and_somebody_drops(*args: Any) -> None:
        await edit(*args)
        await scene.storage.drop_candidate(None, args[1], "bob")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scene.storage, "edit_candidate", edit_and_somebody_drops)
        shown = await scene.edit(1, text="un, mieux")
    return scene.answers[-1], shown["state"], shown["reason"], (await scene.bubbles())[:1]


@row("edit otherwise: it has left", [(409, "leaving"), (409, "leaving"), (409, "sent")])
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    posting = await scene.leave()
    found = [await scene.edit(1, text="UN")]
    await scene.storage.settle(posting, HANGS)
    found.append(await scene.edit(1, text="UN"))
    await scene.one("UPDATE deliveries SET due_at = clock_timestamp()")
    again = await scene.carry()
    assert again is not None
    await scene.storage.settle(again, Accepted())
    found.append(await scene.edit(1, text="UN"))
    return [refusal(late) for late in found]


@row("edit otherwise: an attempt was made, though refused", (409, "held"))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.send(NEVER)
    await scene.steer("retry")
    late = await scene.edit(1, text="UN")
    return refusal(late)


@row("edit otherwise: a notice", (409, "held"), **NOTICE)
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    return refusal(await scene.edit(1, text="rien"))


TOLD = {"leaving": "worker", "sent": "worker", "dropped": "operator-acme", "recalled": "operator-acme"}


@row("edit otherwise: a bubble has its own story, not its job's", TOLD, **PACED)
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux", "trois", "quatre")
    await scene.drop(4)
    posting = await scene.leave()
    await scene.steer("hold")
    found = [await scene.edit(1, text="UN")]
    await scene.storage.settle(posting, Accepted())
    await scene.drop(3)
    found.append(await scene.edit(1, text="UN"))
    found.append(await scene.edit(4, text="QUATRE"))
    await scene.steer("cancel")
    found.append(await scene.edit(2, text="DEUX"))
    left, sent, dropped, recalled = found
    times = [datetime.fromisoformat(answer["at"]) for answer in (dropped, left, sent, recalled)]
    assert times == sorted(times)
    assert times[1] == await scene.one("SELECT left_at FROM candidates WHERE id = 1")
    return {answer["state"]: answer["by"] for answer in found}


WHOSE = [("recalled", "contact"), ("failed", "worker")]


@row("edit otherwise: whoever recalled it, and who dismissed it did not fail it", WHOSE)
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.say()
    recalled = await scene.edit(1, text="UN")
    await scene.decide(a_reply("deux"))
    await scene.send(NEVER)
    await scene.call("POST", "attention/job_2/dismiss", {"reason": "seen"})
    failed = await scene.edit(2, text="DEUX")
    return [(answer["state"], answer["by"]) for answer in (recalled, failed)]


@row("drop otherwise: the notice that went with the last bubble", ("dropped", "operator-acme"), **NOTICE)
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.drop(2)
    late = await scene.drop(1)
    return late["state"], late["by"]


@row("20 otherwise: it sends since a worker began, whatever was edited since", ("sending", "worker"), **PACED)
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux", "trois")
    await scene.send()
    await scene.edit(3, text="TROIS")
    late = await scene.steer("regenerate", {})
    return late["state"], late["by"]


@row("edit otherwise: the job has ended", (409, "recalled"))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await scene.steer("cancel")
    late = await scene.edit(1, text="UN")
    return refusal(late)


@row("edit otherwise: nothing, no words, no price to change", [["text"], ["text"], ["price"], ["strange"]])
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    wrong: list[dict[str, Any]] = [
        {},
        {"text": " \n"},
        {"price": {"amount": "5.00", "currency": "EUR"}},
        {"strange": 1},
    ]
    found = [await scene.edit(1, **changes) for changes in wrong]
    return [[error["field"] for error in answer["errors"]] for answer in found]


@row("edit: the price of what is for sale", (200, "7.50", 422, str(Decimal("7.50"))))
async def _(scene: Scene) -> Any:
    await scene.reply("un")
    await stock(scene.one, v_1="9.00")
    sold = {"price": '{"amount": "9.00", "currency": "EUR"}', "media": '[{"id": "v-1"}]'}
    set_to = "kind = 'payment', price = CAST(:price AS jsonb), media = CAST(:media AS json)"
    await scene.one(f"UPDATE candidates SET {set_to}", **sold)
    edited = await scene.edit(1, price={"amount": "7.50", "currency": "EUR"})
    status = scene.answers[-1]
    await scene.edit(1, price={"amount": "7.50", "currency": "USD"})
    return (
        status,
        edited["price"]["amount"],
        scene.answers[-1],
        await scene.one("SELECT price->>'amount' FROM candidates"),
    )


@row("reorder: dense, the notice first", (200, 1, ["notice", "trois", "un", "deux"], [0, 1, 2, 3]), **NOTICE)
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux", "trois")
    moved = await scene.edit(4, ordinal=1)
    texts = [bubble.split()[1 if "notice" in bubble else 3] for bubble in await scene.bubbles()]
    return scene.answers[-1], moved["ordinal"], texts, [int(bubble.split()[0]) for bubble in await scene.bubbles()]


@row("edit otherwise: two bubbles together would claim to be human", [422, 422, 422, 200, 200])
async def _(scene: Scene) -> Any:
    await scene.reply("je suis", "contente", "un humain heureux")
    await scene.edit(1, text="je suis une vraie personne")
    await scene.drop(2)
    await scene.edit(3, ordinal=1)
    await scene.edit(2, text="fatiguée")
    await scene.edit(3, text="ce soir")
    return scene.answers[-5:]


@row("reorder otherwise: in front of the notice, behind the end", [422, 422, 200], **NOTICE)
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux")
    for ordinal in (0, 3, 2):
        await scene.edit(2, ordinal=ordinal)
    return scene.answers[-3:]


@row("reorder otherwise: where a bubble has left", (409, "sending", ["un", "deux", "trois"]), **PACED)
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux", "trois")
    await scene.send()
    late = await scene.edit(3, ordinal=0)
    return *refusal(late), [bubble.split()[3] for bubble in await scene.bubbles()]


@row("reorder: in front of one that is prepared", (["0 voice held deux", "1 voice held un"], "now"))
async def _(scene: Scene) -> Any:
    await preparing(scene, "un", "deux")
    await scene.edit(2, ordinal=0)
    return await scene.bubbles(), await scene.due()


@row("drop: the gap is closed", ["0 text held un", "1 text dropped deux", "1 text held trois"])
async def _(scene: Scene) -> Any:
    await scene.reply("un", "deux", "trois")
    await scene.drop(2)
    return await scene.bubbles()


# ---------------------------------------------------------------- attention


@row("dismiss", (200, False, "operator-acme dismissed", ["failed 1 AR-552"]))
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.decide(Failure(Code.NO_CANDIDATE, "nothing"))
    shown = await scene.call("POST", "attention/job_1/dismiss", {"reason": "answered by phone"})
    return scene.answers[-1], shown["attention"], await scene.why(), await scene.jobs()


@row("dismiss otherwise: done already, or never on the list", ([409, 409], "operator-acme"))
async def _(scene: Scene) -> Any:
    await scene.say()
    await scene.decide(Failure(Code.NO_CANDIDATE, "nothing"))
    await scene.call("POST", "attention/job_1/dismiss", {"reason": "answered by phone"})
    late = await scene.call("POST", "attention/job_1/dismiss", {"reason": "me too"})
    await scene.say()
    await scene.call("POST", "attention/job_2/dismiss", {"reason": "why not"})
    return [late["status"], scene.answers[-1]], late["by"]


# ---------------------------------------------------------------- what the stories share


async def preparing(scene: Scene, *texts: str) -> None:
    """A worker makes speech for the first bubble."""
    await scene.say()
    await scene.decide(Reply(tuple(Bubble(BubbleKind.VOICE, text) for text in texts or ("un",))))
    await scene.make_due()
    assert isinstance(await scene.take(), Preparing)


async def night(scene: Scene) -> None:
    """It is quiet hours at the contact's now."""
    await scene.one(
        "UPDATE personas SET version = version + 1, spec = jsonb_set(spec, '{quiet_hours}',"
        " to_jsonb(to_char(now() AT TIME ZONE 'UTC' - interval '1 hour', 'HH24:MI') || '-'"
        " || to_char(now() AT TIME ZONE 'UTC' + interval '1 hour', 'HH24:MI')))"
    )


async def deliveries(scene: Scene) -> list[str]:
    """`waiting False`: the bubbles' deliveries, and whether they may have been shown."""
    return await scene.lines("SELECT state, ambiguous FROM deliveries WHERE candidate_id IS NOT NULL ORDER BY id")


async def unspoken(scene: Scene, failure: SpeechFailed) -> None:
    """A voice bubble is to leave, and cannot be spoken."""
    await scene.say()
    await scene.decide(Reply((Bubble(BubbleKind.VOICE, "un"),)))
    await scene.make_due()
    await cannot_speak(scene, failure)


async def cannot_speak(scene: Scene, failure: SpeechFailed) -> None:
    bubble = await scene.take()
    assert isinstance(bubble, Preparing)
    await scene.storage.speech_failed(bubble, failure)


async def states(scene: Scene) -> list[str]:
    return [bubble.split()[2] for bubble in await scene.bubbles()]


async def bought(scene: Scene, *media: str) -> None:
    """These were offered under one link, which was paid: their delivery is the newest job."""
    await stock(scene.one, v_1="9.00", v_2="9.00")
    await scene.say()
    await scene.decide(a_selling_reply(an_offer(*media)))
    await scene.make_due()
    taken = await scene.take()
    assert isinstance(taken, Offering)
    posting = await scene.storage.leave_linked(taken, Link("https://pay.example/1", "cs_1"))
    assert posting is not None
    await scene.storage.settle(posting, Accepted())
    await scene.call("POST", "payments/pay_1/events", {"status": "paid"})
    assert scene.answers[-1] == 200


async def cancelled(scene: Scene, job: int | None = None) -> tuple[int, list[str]]:
    answer = await scene.steer("cancel", job=job)
    return scene.answers[-1], [bubble["state"] for bubble in answer["candidates"]]


async def late(scene: Scene, verb: str, job: int | None = None) -> tuple[int, str]:
    return refusal(await scene.steer(verb, {} if verb == "regenerate" else None, job))


def refusal(answer: Any) -> tuple[int, str]:
    """Status and the state that was found. Who brought it there, and when, is told every time."""
    assert answer["by"]
    assert datetime.fromisoformat(answer["at"])
    return answer["status"], answer["state"]


# ---------------------------------------------------------------- writing first


def no_follow_up(reason: str, line: str) -> list[str]:
    return [f"no_follow_up:{reason} no follow-up: {line}"]


LINE = "SELECT reason, text FROM messages WHERE reason IS NOT NULL"


@row("34 a follow-up is due", (1, ["silent 1", "queued 1"], "follow_up follow_up", "clock follow_up", 0), **OPEN)
async def _(scene: Scene) -> Any:
    await scene.leave_on_read()
    made = await scene.follow_up()
    (kind,) = await scene.lines("SELECT kind, trigger FROM jobs WHERE id = 2")
    return made, await scene.jobs(), kind, await scene.why(), await scene.follow_up()


@row("34 … sent, and planned again", (["silent 1", "sent 1"], SOON), **OPEN)
async def _(scene: Scene) -> Any:
    await scene.leave_on_read()
    await scene.follow_up()
    await scene.decide(replace(a_reply("tu vas bien ?"), follow_up_at=SOON))
    await scene.send()
    return await scene.jobs(), await scene.one("SELECT follow_up_at FROM conversations")


@row(
    "34 otherwise: two in a row got no answer",
    (["silent 1", "sent 1", "sent 1"], no_follow_up("unanswered", "2 in a row got no answer")),
    **OPEN,
)
async def _(scene: Scene) -> Any:
    await scene.leave_on_read()
    for _ in range(3):
        if await scene.follow_up():
            await scene.decide(replace(a_reply("coucou ?"), follow_up_at=SOON))
            await scene.send()
        await scene.make_follow_up_due()
    return await scene.jobs(), await scene.lines(LINE)


@row(
    "34 … the contact's next word begins the count anew",
    ["silent 1", "silent 1", "silent 1", "silent 2", "queued 2"],
    **OPEN,
)
async def _(scene: Scene) -> Any:
    await scene.leave_on_read()
    for _ in range(2):
        await scene.follow_up()
        await scene.decide(Silence(SilenceReason.LEFT_ON_READ, follow_up_at=SOON))
        await scene.make_follow_up_due()
    await scene.leave_on_read()
    await scene.follow_up()
    return await scene.jobs()


@row("34 otherwise: a person has it, the plan is gone", (None, 0, ["silent 1"]), **OPEN)
async def _(scene: Scene) -> Any:
    await scene.leave_on_read()
    await scene.conversation("takeover")
    await scene.conversation("resume")
    return await scene.one("SELECT follow_up_at FROM conversations"), await scene.follow_up(), await scene.jobs()


@row(
    "34 otherwise: an operator cancelled the one before",
    (["silent 1", "cancelled 1"], no_follow_up("cancelled", "the reply before it was cancelled")),
    **OPEN,
)
async def _(scene: Scene) -> Any:
    await scene.leave_on_read()
    await scene.follow_up()
    await scene.decide(replace(a_reply("coucou ?"), follow_up_at=SOON))
    await scene.steer("cancel")
    await scene.make_follow_up_due()
    await scene.follow_up()
    return await scene.jobs(), await scene.lines(LINE)


@row(
    "34 otherwise: one is on its way",
    (["silent 1", "held 1"], no_follow_up("on_its_way", "a reply is on its way already")),
    **OPEN,
)
async def _(scene: Scene) -> Any:
    await scene.leave_on_read()
    await scene.follow_up()
    await scene.decide(replace(a_reply("coucou ?"), follow_up_at=SOON))
    await scene.make_follow_up_due()
    await scene.follow_up()
    return await scene.jobs(), await scene.lines(LINE)


@row(
    "34 otherwise: the one before failed",
    (["silent 1", "failed 1 AR-552"], no_follow_up("failed", "the reply before it failed")),
    **OPEN,
)
async def _(scene: Scene) -> Any:
    await scene.leave_on_read()
    await scene.follow_up()
    await scene.decide(Failure(Code.NO_CANDIDATE, "nothing"))
    await scene.one("UPDATE conversations SET follow_up_at = clock_timestamp()")
    await scene.follow_up()
    return await scene.jobs(), await scene.lines(LINE)


@row(
    "34 otherwise: autonomy is off by now",
    (["silent 1"], no_follow_up("autonomy_off", "the persona's autonomy is off")),
    **OPEN,
)
async def _(scene: Scene) -> Any:
    await scene.leave_on_read()
    await scene.one("""UPDATE personas SET version = version + 1, spec = spec || '{"autonomy": "off"}'""")
    await scene.follow_up()
    return await scene.jobs(), await scene.lines(LINE)


@pytest.mark.parametrize(
    ("flag", "reason", "line"),
    [
        ("opted_out_at", "opted_out", "the contact has opted out"),
        ("locked_at", "safety_lock", "a safety stop has locked the contact"),
        ("erased_at", "erased", "the contact was erased"),
    ],
)
async def test_row_34_contacts_who_are_not_to_be_written_to(
    database_url: str, flag: str, reason: str, line: str
) -> None:
    async with a_scene(database_url, OPEN) as scene:
        await scene.leave_on_read()
        await scene.one(f"UPDATE contacts SET {flag} = clock_timestamp()")
        await scene.follow_up()

        assert (await scene.jobs(), await scene.lines(LINE)) == (["silent 1"], no_follow_up(reason, line))


@row("34 later: it is not within the persona's hours", (0, ["silent 1"], True), proactive_hours=closed_hours())
async def _(scene: Scene) -> Any:
    await scene.leave_on_read()
    made = await scene.follow_up()
    later = await scene.one("SELECT follow_up_at > clock_timestamp() + interval '1 minute' FROM conversations")
    return made, await scene.jobs(), later


@row("34 the hours are those of the contact's clock", (1, ["silent 1", "queued 1"]), proactive_hours=closed_hours())
async def _(scene: Scene) -> Any:
    await scene.leave_on_read()
    await scene.one("UPDATE contacts SET timezone = 'Etc/GMT-5'")
    return await scene.follow_up(), await scene.jobs()
