"""The three jobs over fakes: claim, work, record; and what the queue's wrapper makes of every way to fail."""

import asyncio

import pytest

from schemas.agent import Kept
from schemas.claims import Accepted, Refused, Unknown
from schemas.conversation import Case
from schemas.errors import Unavailable
from schemas.jobs import AutoReply, CloseLinks, DelayedSend, Deliver, Hint, Learn, Summarize
from schemas.payments import LinkFailed
from schemas.speech import SpeechFailed
from tests.fakes_courier import (
    RECORDING,
    SILENT,
    MemoryStorage,
    ScriptedChannel,
    ScriptedLinks,
    ScriptedReplies,
    ScriptedSpeech,
    an_app,
)
from tests.perform import perform
from workers import actors
from workers.actors.auto_reply import auto_reply
from workers.actors.delayed_send import delayed_send
from workers.actors.deliver import deliver
from workers.actors.unreadable import keep_unreadable

HINT = AutoReply(job=1, conversation=1)


def test_every_kind_of_hint_has_its_actor_in_the_order_a_message_meets_them() -> None:
    assert [actor.hint for actor in actors.ALL] == [AutoReply, DelayedSend, Deliver, Learn, Summarize, CloseLinks]


async def test_a_run_is_claimed_and_its_decision_recorded() -> None:
    storage = MemoryStorage()

    await perform(auto_reply, HINT, an_app(storage))

    assert (storage.claimed, storage.recorded) == ([1], [(1, SILENT)])


@pytest.mark.parametrize("hint", [HINT, DelayedSend(job=4, conversation=1), Deliver(delivery=9, conversation=0)])
async def test_what_was_made_is_handed_in_again_when_the_database_is_back(hint: Hint) -> None:
    """What was thought, spoken or posted is made once, however often the database is away as it is ready."""
    storage, channel, speech = MemoryStorage(absences=3, voices={4}), ScriptedChannel(), ScriptedSpeech()
    replies = ScriptedReplies(steps=1)
    actor = next(actor for actor in actors.ALL if isinstance(hint, actor.hint))

    await actor.perform(hint, an_app(storage, replies, channel=channel, recordings=speech))

    made = {AutoReply: (1, 0, 0), DelayedSend: (0, 1, 1), Deliver: (0, 0, 1)}[type(hint)]
    assert (replies.asked, len(speech.asked), len(channel.posted)) == made
    assert replies.kept == [Kept.FRESH] * replies.asked
    assert len(storage.recorded) + len(storage.settled) == 1
    assert storage.absences == 0


async def test_what_cannot_be_claimed_reaches_no_model() -> None:
    async def asked(case: Case) -> None:
        raise AssertionError("a model was asked")

    storage = MemoryStorage(claimed=[1])

    await perform(auto_reply, HINT, an_app(storage, ScriptedReplies(first=asked)))

    assert storage.recorded == []


@pytest.mark.parametrize("answer", [Accepted("p-1"), Refused("no", final=True), Unknown("cut")])
async def test_what_the_receiver_answered_is_settled(answer: Accepted | Refused | Unknown) -> None:
    storage, channel = MemoryStorage(), ScriptedChannel(answer)
    app = an_app(storage, channel=channel)

    await perform(delayed_send, DelayedSend(job=4, conversation=1), app)
    await perform(deliver, Deliver(delivery=9, conversation=0), app)

    assert channel.posted == ["msg_test_4", "msg_test_9"]
    assert storage.settled == [(4, answer), (9, answer)]


async def test_a_voice_bubble_is_spoken_asked_again_and_posted() -> None:
    storage, speech, channel = MemoryStorage(voices={4}), ScriptedSpeech(), ScriptedChannel()
    app = an_app(storage, channel=channel, recordings=speech)

    await perform(delayed_send, DelayedSend(job=4, conversation=1), app)

    assert (speech.asked, storage.left, channel.posted) == (["coucou"], [RECORDING], ["msg_test_4"])
    assert storage.settled == [(4, Accepted())]


async def test_what_could_not_be_spoken_is_told_and_nothing_is_posted() -> None:
    storage, channel = MemoryStorage(voices={4}), ScriptedChannel()
    failure = SpeechFailed("openai answered 503", retryable=True)
    app = an_app(storage, channel=channel, recordings=ScriptedSpeech(failure))

    await perform(delayed_send, DelayedSend(job=4, conversation=1), app)

    assert (storage.unspoken, storage.left, channel.posted) == (["openai answered 503"], [], [])


async def test_a_stopping_worker_gives_back_the_bubble_it_was_speaking() -> None:
    storage, speech = MemoryStorage(voices={4}), ScriptedSpeech(seconds=60)
    hint = DelayedSend(job=4, conversation=1)
    task = asyncio.create_task(delayed_send.perform(hint, an_app(storage, recordings=speech)))
    while not speech.asked:
        await asyncio.sleep(0)

    task.cancel()
    await task

    assert (storage.given_back, storage.unspoken, storage.left) == ([4], [], [])


async def test_speaking_stops_when_the_job_is_somebody_elses() -> None:
    storage, speech = MemoryStorage(voices={4}, lost={4}), ScriptedSpeech(seconds=60)
    app = an_app(storage, recordings=speech)
    task = asyncio.create_task(delayed_send.perform(DelayedSend(job=4, conversation=1), app))
    while not speech.asked:
        await asyncio.sleep(0)

    await app.leases.renew_once()
    await task

    assert (storage.given_back, storage.unspoken, storage.left) == ([], [], [])


async def test_a_payment_bubble_gets_its_link_is_asked_again_and_posted() -> None:
    storage, links, channel = MemoryStorage(offers={4}), ScriptedLinks(), ScriptedChannel()

    await perform(delayed_send, DelayedSend(job=4, conversation=1), an_app(storage, channel=channel, links=links))

    assert ([order.payment for order in links.asked], [link.url for link in storage.linked]) == (
        [7],
        ["https://pay.example/7"],
    )
    assert (channel.posted, storage.settled) == (["msg_test_4"], [(4, Accepted())])


async def test_what_got_no_link_is_told_and_nothing_is_posted() -> None:
    storage, channel = MemoryStorage(offers={4}), ScriptedChannel()
    links = ScriptedLinks(LinkFailed("stripe answered 503", retryable=True))

    await perform(delayed_send, DelayedSend(job=4, conversation=1), an_app(storage, channel=channel, links=links))

    assert (storage.unlinked, storage.linked, channel.posted) == (["stripe answered 503"], [], [])


async def test_a_stopping_worker_gives_back_the_bubble_whose_link_was_being_made() -> None:
    storage, links = MemoryStorage(offers={4}), ScriptedLinks(seconds=60)
    hint = DelayedSend(job=4, conversation=1)
    task = asyncio.create_task(delayed_send.perform(hint, an_app(storage, links=links)))
    while not links.asked:
        await asyncio.sleep(0)

    task.cancel()
    await task

    assert (storage.given_back, storage.unlinked, storage.linked) == ([4], [], [])


async def test_a_post_cut_off_by_a_stop_is_settled_as_unknown() -> None:
    storage, channel = MemoryStorage(), ScriptedChannel(seconds=60)
    task = asyncio.create_task(deliver.perform(Deliver(delivery=9, conversation=0), an_app(storage, channel=channel)))
    while not channel.posted:
        await asyncio.sleep(0)

    task.cancel()
    await task

    assert storage.settled == [(9, Unknown("the worker was stopped during the attempt"))]


async def test_the_queue_sees_no_error_whatever_happens() -> None:
    async def fail(case: Case) -> None:
        raise KeyError("a fault of ours")

    away, faulty = MemoryStorage(away=True), MemoryStorage()

    await auto_reply.perform(HINT, an_app(away))
    await auto_reply.perform(HINT, an_app(faulty, ScriptedReplies(first=fail)))

    assert (away.recorded, faulty.recorded, faulty.given_back) == ([], [], [])
    with pytest.raises(Unavailable):
        await perform(auto_reply, HINT, an_app(away))


async def test_an_unreadable_message_is_kept_in_outline() -> None:
    storage = MemoryStorage()

    await keep_unreadable(storage, "reply", b"a\x00b\xff" + b"x" * 100_000, "not JSON", lambda *_: None)

    assert storage.unreadable == [("reply", "[100004 bytes, no JSON]", "not JSON")]
