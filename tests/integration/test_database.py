"""A database that goes away is named, and taken up again when it is back."""

import asyncio
import os
import socket
import time
from urllib.parse import parse_qs, urlsplit

import pytest

from schemas.agent import Kept
from schemas.errors import Unavailable
from tests.builders_storage import Storage, a_reservation, a_storage
from tests.proxy import proxies
from workers.adapters.postgres.database import Database, Patience, driver_of

WAITING = "wait_event_type = 'Lock'"


async def end_sessions(storage: Storage, database_url: str, those: str = "true") -> None:
    """Ends every other session in the database, as a restart of the server does; or `those` (SQL) of them."""
    other = Database(database_url, pool_size=1)
    async with other.transaction() as connection:
        await connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            f" WHERE datname = current_database() AND pid <> pg_backend_pid() AND {those}"
        )
    await asyncio.sleep(0.1)  # until the farewell is on the wire
    await other.close()


async def test_after_a_restart_of_the_server_no_call_meets_a_dead_connection(database_url: str) -> None:
    async with a_storage(database_url, pool_size=4) as storage:
        await asyncio.gather(*(storage.say(f"m-{number}", conversation=f"c-{number}") for number in range(4)))
        await end_sessions(storage, database_url)

        said = [await storage.say(f"m-{number}") for number in range(5, 9)]

        assert [answer.duplicate for answer in said] == [False] * 4


async def test_a_step_that_a_cut_took_can_be_saved_again(database_url: str) -> None:
    async with a_storage(database_url, pool_size=3) as storage:
        await storage.say()
        claim = await storage.claim()
        async with storage.database.engine.connect() as other:
            await other.exec_driver_sql("SELECT 1 FROM jobs FOR UPDATE")
            saving = asyncio.create_task(storage.transitions.save_step(claim, None, a_reservation(claim)))
            await asyncio.sleep(0.2)
            await end_sessions(storage, database_url, WAITING)
            with pytest.raises(Unavailable) as away:
                await saving

        assert away.value.facts["retry_after"] == 2
        assert await storage.transitions.save_step(claim, None, a_reservation(claim)) is Kept.FRESH


async def test_a_session_ended_in_the_middle_of_a_transition_keeps_nothing(database_url: str) -> None:
    async with a_storage(database_url, pool_size=2) as storage:
        await storage.say()
        async with storage.database.engine.connect() as other:
            await other.exec_driver_sql("SELECT 1 FROM conversations FOR UPDATE")
            saying = asyncio.create_task(storage.say("m-2"))
            await asyncio.sleep(0.2)
            await end_sessions(storage, database_url, WAITING)
            with pytest.raises(Unavailable):
                await saying

        assert await storage.rows("SELECT name FROM messages") == [{"name": "m-1"}]


async def saying(database: Database, *statements: str, longer: bool = False) -> None:
    """One through the engine, the others by the driver, as transitions do."""
    async with database.transaction(longer=longer) as connection:
        await connection.exec_driver_sql(statements[0])
        for statement in statements[1:]:
            await driver_of(connection).execute(statement.encode())


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("SET LOCAL statement_timeout = 50", "SELECT pg_sleep(2)"),
        ("SET TRANSACTION READ ONLY", "UPDATE installation SET redis_epoch = 'x'"),
    ],
    ids=["too long", "read-only"],
)
async def test_what_the_server_does_not_do_for_now_is_unavailable_too(database_url: str, first: str, then: str) -> None:
    database = Database(database_url, pool_size=1)
    with pytest.raises(Unavailable):
        await saying(database, first, then)
    async with database.transaction() as connection:
        assert (await connection.exec_driver_sql("SELECT 1")).scalar_one() == 1
    await database.close()


async def test_patience_ends_a_transaction_and_what_reads_a_lot_may_take_longer(database_url: str) -> None:
    database = Database(database_url, pool_size=1, patience=Patience(0.5, 5, callers=4))
    began = time.monotonic()
    with pytest.raises(Unavailable):
        await saying(database, "SELECT pg_sleep(3)")
    with pytest.raises(Unavailable):  # each statement is short enough, all together are not
        await saying(database, *["SELECT pg_sleep(0.2)"] * 20)
    took = time.monotonic() - began
    await saying(database, "SELECT pg_sleep(1)", longer=True)
    async with database.transaction() as connection:
        limit = (await connection.exec_driver_sql("SHOW statement_timeout")).scalar_one()
    await database.close()

    assert took < 2.5
    assert limit == "400ms"
    assert database.refused == {"no_answer": 2}


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    database = Database("postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(Unavailable):
        async with database.transaction():
            pass
    await database.close()


async def test_on_a_line_on_which_nothing_comes_nobody_waits_longer_than_patience_and_not_too_many_wait() -> None:
    lines: list[asyncio.StreamWriter] = []
    silence = await asyncio.start_server(lambda _reader, writer: lines.append(writer), "127.0.0.1", 0)
    port = silence.sockets[0].getsockname()[1]
    database = Database(f"postgresql://x@127.0.0.1:{port}/x", pool_size=2, patience=Patience(0.5, 5, callers=4))

    async def asking() -> tuple[float, str]:
        began = time.monotonic()
        with pytest.raises(Unavailable) as away:
            async with database.transaction():
                pass
        return time.monotonic() - began, away.value.sentence

    answers = await asyncio.gather(*(asking() for _ in range(6)))
    again = await asking()
    await database.close()
    silence.close()
    for line in lines:
        line.transport.abort()
    await asyncio.sleep(0)

    waited = [seconds for seconds, sentence in answers if sentence == "the database does not answer"]
    refused = [seconds for seconds, sentence in answers if sentence == "too many wait for the database"]
    assert (len(waited), len(refused)) == (4, 2)
    assert max(refused) < 0.3
    assert 0.4 < min(waited) <= max(waited) < 1.5
    assert again[0] < 1.5
    assert database.refused == {"no_connection": 5, "crowd": 2}


async def test_a_transition_that_is_cancelled_keeps_nothing_and_gives_its_connection_back(database_url: str) -> None:
    async with a_storage(database_url, pool_size=2) as storage:
        await storage.say()
        async with storage.database.engine.connect() as other:
            await other.exec_driver_sql("SELECT 1 FROM conversations FOR UPDATE")
            saying = asyncio.create_task(storage.say("m-2"))
            await asyncio.sleep(0.2)
            saying.cancel()
            with pytest.raises(asyncio.CancelledError):
                await saying

        assert await storage.rows("SELECT name FROM messages") == [{"name": "m-1"}]
        said = await asyncio.gather(storage.say("m-3"), storage.say("m-4"))
        assert [answer.duplicate for answer in said] == [False, False]


async def test_connections_in_use_elsewhere_are_replaced_when_they_come_back(database_url: str) -> None:
    async with a_storage(database_url, pool_size=3) as storage:
        async with storage.database.transaction() as healthy:
            number = (await healthy.exec_driver_sql("SELECT pg_backend_pid()")).scalar_one()
            with pytest.raises(Unavailable):
                async with storage.database.transaction() as cut:
                    await driver_of(cut).execute("SELECT pg_terminate_backend(pg_backend_pid())")

        rows = await asyncio.gather(*(storage.row("SELECT pg_backend_pid() AS number") for _ in range(3)))
        assert number not in {row["number"] for row in rows}


async def test_over_tcp_a_server_that_has_vanished_is_given_up_within_twenty_seconds(database_url: str) -> None:
    """No machine can be taken away here, so the socket is asked how long it would wait."""
    parts = urlsplit(database_url)
    folder = parse_qs(parts.query).get("host")
    with proxies() as all_of_them:
        if folder:  # a unix socket: the connection is to be a TCP one
            port = all_of_them.open(f"{folder[0]}/.s.PGSQL.5432").port
            database_url = f"postgresql://{parts.username}@127.0.0.1:{port}{parts.path}"
        database = Database(database_url, pool_size=1)
        async with database.statement() as connection:
            with socket.socket(fileno=os.dup(driver_of(connection).fileno())) as wire:
                asked = wire.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
                idle = wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
                unheard = wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        await database.close()

    assert (asked, idle, unheard) == (1, 5, 20_000)
