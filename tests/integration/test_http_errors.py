"""Whatever is wrong with a request, the answer is a problem that says what."""

import io
import logging
import socket
from collections.abc import AsyncIterator, Iterator

import pytest
import structlog

from tests.builders_face import a_gateway
from workers.runtime.logging import configure

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def log_lines() -> Iterator[io.StringIO]:
    """What the process writes to its log, set up as in production."""
    root, lines = logging.getLogger(), io.StringIO()
    handlers, level = root.handlers, root.level
    configure(stream=lines)
    yield lines
    structlog.reset_defaults()
    root.handlers, root.level = handlers, level


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"{", JSON, 400),
        (b"[]", JSON, 400),
        (b'"x"', JSON, 400),
        (b"null", JSON, 400),
        (b"", JSON, 400),
        (b'{"resources": [NaN]}', JSON, 400),
        (b"\xff\xfe", JSON, 400),
        (b"resources=1", {"Content-Type": "application/x-www-form-urlencoded"}, 415),
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b"{}", {}, 415),
        (b"{}", JSON, 422),
        (b"{}", {"Content-Type": "Application/JSON; charset=utf-8"}, 422),
        (b'{"resources": []}', JSON, 422),
    ],
)
async def test_a_body_is_json_or_refused(
    database_url: str, content: bytes, headers: dict[str, str], status: int
) -> None:
    async with a_gateway(database_url) as gateway:
        answer = await gateway.call("POST", "/v1/apply", content=content, headers=headers)

    assert answer.status_code == status


async def test_a_body_too_long_is_413_whether_declared_or_streamed(database_url: str) -> None:
    async def stream() -> AsyncIterator[bytes]:
        for _ in range(9):
            yield b" " * 8_192

    async with a_gateway(database_url, REPLIQUE_GATEWAY__BODY_BYTES="65536") as gateway:
        declared = await gateway.call("POST", "/v1/apply", content=b" " * 65_537, headers=JSON)
        streamed = await gateway.call("POST", "/v1/apply", content=stream(), headers=JSON)
        fits = await gateway.call("POST", "/v1/apply", content=b" " * 65_536, headers=JSON)

    assert (declared.status_code, declared.json()["limit_bytes"]) == (413, 65_536)
    assert (streamed.status_code, streamed.json()["limit_bytes"]) == (413, 65_536)
    assert fits.status_code == 400


async def test_the_router_answers_problems_too(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        nowhere = await gateway.call("GET", "/v1/nowhere")
        slash = await gateway.call("GET", "/v1/jobs/")
        put = await gateway.call("PUT", "/v1/messages/m-1")
        head = await gateway.call("DELETE", "/v1/keys")

    assert (nowhere.status_code, nowhere.json()["code"]) == (404, "AR-404")
    assert (nowhere.json()["title"], nowhere.json()["detail"]) == ("not found", "no such route")
    assert slash.status_code == 404
    assert (put.status_code, put.json()["code"], put.headers["allow"]) == (405, "AR-405", "DELETE, PATCH")
    assert (head.status_code, head.headers["allow"]) == (405, "GET, POST")


async def test_fields_and_parameters_nobody_knows_are_named(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        body = await gateway.call("POST", "/v1/keys", {"role": "ops", "colour": "red"})
        bodyless = await gateway.call("POST", "/v1/jobs/job_1/cancel", {"force": True})
        query = await gateway.call("GET", "/v1/jobs?stat=held")
        values = await gateway.call(
            "GET", "/v1/jobs?state=asleep&limit=0&code=AR-1&attention=perhaps&conversation=a%20b"
        )

    assert body.json()["errors"] == [{"field": "colour", "message": "unknown field"}]
    assert bodyless.json()["errors"] == [{"field": "force", "message": "unknown field"}]
    assert query.json()["errors"] == [{"field": "stat", "message": "unknown parameter"}]
    assert [e["field"] for e in values.json()["errors"]] == ["state.0", "code", "attention", "conversation", "limit"]


async def test_the_request_id_of_the_caller_is_kept_when_it_is_one(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        kept = await gateway.call("GET", "/healthz", headers={"X-Request-Id": "abc-1"})
        made = await gateway.call("GET", "/healthz", headers={"X-Request-Id": "x" * 65})

    assert kept.headers["x-request-id"] == "abc-1"
    assert len(made.headers["x-request-id"]) == 16


async def test_a_database_that_is_away_is_503_and_the_gateway_starts_and_lives(database_url: str) -> None:
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        away = f"postgresql://x@127.0.0.1:{nobody_listens.getsockname()[1]}/x"
        async with a_gateway(away) as gateway:
            jobs = await gateway.call("GET", "/v1/jobs")
            ready = await gateway.call("GET", "/readyz")
            alive = await gateway.call("GET", "/healthz")

    assert (jobs.status_code, jobs.json()["code"], jobs.headers["retry-after"]) == (503, "AR-503", "2")
    assert (ready.status_code, ready.json()["ready"], ready.json()["postgres"]) == (503, False, {"reachable": False})
    assert alive.status_code == 200


async def test_a_fault_of_ours_says_nothing_but_the_request_id(database_url: str, log_lines: io.StringIO) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.call("GET", "/v1/jobs")
        await gateway.run("ALTER TABLE dead_letters RENAME TO moved_secretly")
        answer = await gateway.call("GET", "/v1/dead-letters", headers={"X-Request-Id": "r-1"})

    assert answer.status_code == 500
    assert [word for word in ("secretly", "dead_letters", "SELECT") if word in answer.text] == []
    logged = log_lines.getvalue()
    assert [word for word in ("request_failed", "r-1", "ProgrammingError") if word not in logged] == []
    assert "SELECT" not in logged


async def test_an_older_schema_is_not_ready(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        ready = await gateway.call("GET", "/readyz")
        await gateway.run("UPDATE alembic_version SET version_num = '0001'")
        old = await gateway.call("GET", "/readyz")

    assert (ready.status_code, ready.json()["ready"]) == (200, True)
    assert (old.status_code, old.json()["postgres"]["migration"]) == (503, "0001")
