"""Hints over real Redis, a real broker and worker: what runs once, what becomes a dead letter, how a worker ends."""

import asyncio
import json

import pytest
from redis import Redis

from schemas.conversation import Case
from schemas.jobs import AutoReply, DelayedSend, Queue
from tests.fakes_courier import SILENT, MemoryStorage, ScriptedChannel, ScriptedReplies, an_app
from tests.workers import keys, running, send, send_raw, until
from workers.runtime import wire


def reply(job: int) -> AutoReply:
    return AutoReply(job=job, conversation=job)


def test_a_hint_runs_once_however_often_it_comes(redis_url: str) -> None:
    storage = MemoryStorage()
    send(redis_url, reply(1), reply(2), reply(1))

    with running(redis_url, an_app(storage)):
        until(lambda: len(storage.recorded) == 2 and not keys(redis_url))

    assert sorted(storage.recorded) == [(1, SILENT), (2, SILENT)]
    assert keys(redis_url) == []


BAD = {
    "not JSON": b"\xff\x00{",
    "not an object": b"[1, 2]",
    "no actor": b"{}",
    "another queue's actor": wire.encode(DelayedSend(job=1, conversation=1))[1],
    "an actor that is no name": json.dumps({"actor_name": {"a": 1}, "args": [{}]}).encode(),
    "no arguments": json.dumps({"actor_name": "auto_reply", "args": [], "kwargs": {}}).encode(),
    "an unknown field": json.dumps(
        {"actor_name": "auto_reply", "args": [{"job": 1, "conversation": 1, "text": "secret"}], "kwargs": {}}
    ).encode(),
    "a number too large": json.dumps(
        {"actor_name": "auto_reply", "args": [{"job": 10**30, "conversation": 1}], "kwargs": {}}
    ).encode(),
    "a number as text": json.dumps(
        {"actor_name": "auto_reply", "args": [{"job": "1", "conversation": 1}], "kwargs": {}}
    ).encode(),
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_a_malformed_message_becomes_a_dead_letter_and_its_neighbours_run(redis_url: str, bad: bytes) -> None:
    storage = MemoryStorage()
    send(redis_url, reply(1))
    send_raw(redis_url, "reply", bad)
    send(redis_url, reply(2))

    with running(redis_url, an_app(storage)):
        until(lambda: len(storage.recorded) == 2 and storage.unreadable)

    assert sorted(storage.claimed) == [1, 2]
    assert [(queue, "secret" in error) for queue, _, error in storage.unreadable] == [("reply", False)]
    assert "\x00" not in storage.unreadable[0][1]


def test_what_a_message_says_about_queue_and_due_time_steers_nothing(redis_url: str) -> None:
    storage = MemoryStorage()
    forged = json.loads(wire.encode(reply(1))[1]) | {"queue_name": "else", "options": {"eta": 9e12}, "message_id": []}
    send_raw(redis_url, "reply", json.dumps(forged).encode())

    with running(redis_url, an_app(storage)):
        until(lambda: storage.recorded)

    assert storage.recorded == [(1, SILENT)]


def test_a_dead_letter_waits_for_the_database_and_goes_back_when_the_worker_is_stopped(redis_url: str) -> None:
    storage = MemoryStorage(away=True)
    send_raw(redis_url, "reply", b"?")

    with running(redis_url, an_app(storage)):
        until(lambda: not keys(redis_url))

    with Redis.from_url(redis_url) as redis:
        assert redis.hvals(wire.payloads_key("reply")) == [b"?"]
    assert storage.unreadable == []


def test_an_error_in_a_run_ends_neither_the_thread_nor_the_worker(redis_url: str) -> None:
    async def fail(case: Case) -> None:
        if case.job == 1:
            raise RuntimeError("boom")

    storage = MemoryStorage()
    send(redis_url, reply(1), reply(2))

    with running(redis_url, an_app(storage, ScriptedReplies(first=fail)), threads=1) as process:
        until(lambda: storage.recorded)
        assert process.worker.broken is None

    assert storage.recorded == [(2, SILENT)]


def test_a_drain_gives_back_what_was_fetched_and_nobody_began(redis_url: str) -> None:
    """Each queue is fetched for every thread, so with two queues one hint waits in memory."""

    async def think(case: Case) -> None:
        await asyncio.sleep(2)

    storage, channel = MemoryStorage(), ScriptedChannel(seconds=2)
    app = an_app(storage, ScriptedReplies(first=think), channel)
    send(redis_url, reply(1), DelayedSend(job=2, conversation=2))

    with running(redis_url, app, Queue.REPLY, Queue.SEND, threads=1):
        until(lambda: not keys(redis_url) and storage.claimed + channel.posted)
        began = len(storage.claimed) + len(channel.posted)

    with Redis.from_url(redis_url) as redis:
        left = [redis.hlen(wire.payloads_key(queue)) + redis.llen(wire.list_key(queue)) for queue in Queue]
    assert (began, sum(left)) == (1, 2)
    assert len(storage.recorded) + len(storage.settled) == 1


def test_a_drain_lets_runs_finish_and_leaves_the_rest_in_redis(redis_url: str) -> None:
    async def think(case: Case) -> None:
        await asyncio.sleep(0.5)

    storage = MemoryStorage()
    send(redis_url, *map(reply, range(1, 8)))

    with running(redis_url, an_app(storage, ScriptedReplies(first=think)), threads=2):
        until(lambda: len(storage.claimed) == 2)

    assert storage.recorded == [(job, SILENT) for job in storage.claimed]
    assert storage.given_back == []
    with Redis.from_url(redis_url) as redis:
        assert redis.llen(wire.list_key("reply")) == redis.hlen(wire.payloads_key("reply")) == 7 - len(storage.claimed)


def test_a_run_that_outlasts_the_drain_gives_its_row_back(redis_url: str) -> None:
    async def think(case: Case) -> None:
        await asyncio.sleep(60)

    storage = MemoryStorage()
    send(redis_url, reply(1))

    with running(redis_url, an_app(storage, ScriptedReplies(first=think)), drain_seconds=0.1):
        until(lambda: storage.claimed)

    assert (storage.given_back, storage.recorded) == ([1], [])


def test_a_run_whose_lease_is_lost_is_stopped_and_writes_nothing(redis_url: str) -> None:
    async def think(case: Case) -> None:
        await asyncio.sleep(60 if case.job == 1 else 0.3)

    storage = MemoryStorage(lost={1})
    app = an_app(storage, ScriptedReplies(first=think), renew_seconds=0.05)
    send(redis_url, reply(1), reply(2))

    with running(redis_url, app) as process:
        process.loop.submit(app.leases.keep_renewing())
        until(lambda: storage.recorded and not len(app.leases))

    assert (storage.recorded, storage.given_back) == ([(2, SILENT)], [])
