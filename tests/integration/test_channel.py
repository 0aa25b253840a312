"""One webhook over a real socket: what goes out, and what each way to answer proves."""

import socket
from asyncio import StreamWriter
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from standardwebhooks.webhooks import Webhook

from schemas.claims import Accepted, Endpoint, Posted, Refused, Unknown
from tests.receiver import Answer, raw, receiving, silence, status
from workers.adapters.channels.guard import Guard
from workers.adapters.channels.inbox import WithInbox
from workers.adapters.channels.webhook import MOST_BYTES, WebhookChannel
from workers.adapters.clock import SystemClock

SECRET = "whsec_" + "c2VjcmV0IG9mIGEgdGVzdCwgMjQgYnl0ZXMgbG9uZw=="
BODY = '{"type":"message.send","data":{"text":"salut, ça va ? 🙂"}}'


async def post(url: str, seconds: float = 5, webhook_id: str = "msg_1", private: bool = True) -> Posted:
    async with WebhookChannel(SystemClock(), seconds, Guard(private)) as channel:
        return await channel.post(Endpoint(url, SECRET), webhook_id, BODY)


async def answered(answer: Answer, seconds: float = 5) -> Posted:
    async with receiving(answer) as receiver:
        return await post(receiver.url, seconds)


async def test_the_receiver_can_verify_what_it_gets() -> None:
    async with receiving(status(200, '{"id": "p-1"}')) as receiver:
        posted = await post(receiver.url)

    headers, body = receiver.heard[0]
    Webhook(SECRET).verify(body, headers)
    assert posted == Accepted("p-1")
    assert (headers[":request"], headers["webhook-id"], headers["content-type"], body) == (
        "POST /hooks HTTP/1.1",
        "msg_1",
        "application/json",
        BODY,
    )


async def test_an_attempt_is_repeated_under_the_same_id_with_a_signature_of_its_own_time() -> None:
    async with (
        receiving(status(503), status(503), status(200)) as receiver,
        WebhookChannel(SystemClock(), 5, Guard(private=True)) as channel,
    ):
        answers = [await channel.post(Endpoint(receiver.url, SECRET), "msg_7", BODY) for _ in range(3)]

    assert answers == [Refused("the receiver answered 503", final=False)] * 2 + [Accepted()]
    assert [headers["webhook-id"] for headers, _ in receiver.heard] == ["msg_7"] * 3
    for headers, body in receiver.heard:
        Webhook(SECRET).verify(body, headers)


@pytest.mark.parametrize(
    ("answer", "posted"),
    [
        (status(204), Accepted()),
        (status(202, '{"id": 42}'), Accepted("42")),
        (status(200, "[1]"), Accepted()),
        (status(200, '{"id": {"a": 1}}'), Accepted()),
        (status(200, '{"id": "\\ud800p\\u0000-1"}'), Accepted("�p-1")),
        (status(200, '{"id": "' + "é" * 300 + '"}'), Accepted("é" * 200)),
        (status(200, '{"id": 1e400}'), Accepted()),
        (status(200, '{"id": ' + "9" * 4_000 + "}"), Accepted("9" * 200)),
        (status(200, '{"id": ' + "9" * 5_000 + "}"), Accepted()),
        (status(200, '{"id": NaN}'), Accepted()),
        (status(200, "[" * 60_000), Accepted()),
        (status(200, '{"id": "p-1", "id": "p-2"}'), Accepted("p-2")),
        (status(429, retry_after="1e400"), Refused("the receiver answered 429", final=False)),
        (status(429, retry_after="9" * 400), Refused("the receiver answered 429", final=False, retry_after=86_400)),
        (status(429, retry_after="Mon, 99 Xxx 9999 99:99:99 GMT"), Refused("the receiver answered 429", final=False)),
        (
            status(429, retry_after="Fri, 31 Dec 9999 23:59:59 -2359"),
            Refused("the receiver answered 429", final=False, retry_after=86_400),
        ),
        (status(200, "x" * (2 * MOST_BYTES)), Accepted()),
        (raw(b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{"), Accepted()),
        (status(302, location="http://127.0.0.1:1/"), Refused("the receiver answered 302", final=True)),
        (status(400), Refused("the receiver answered 400", final=True)),
        (status(400, retry_after="9"), Refused("the receiver answered 400", final=True)),
        (status(404, "no"), Refused("the receiver answered 404", final=True)),
        (status(408), Refused("the receiver answered 408", final=False)),
        (status(410), Refused("the receiver answered 410", final=True, gone=True)),
        (status(425), Refused("the receiver answered 425", final=False)),
        (status(429, retry_after="7"), Refused("the receiver answered 429", final=False, retry_after=7)),
        (status(429, retry_after="soon"), Refused("the receiver answered 429", final=False)),
        (status(503, retry_after="-3"), Refused("the receiver answered 503", final=False)),
        (status(500, "x" * (2 * MOST_BYTES)), Refused("the receiver answered 500", final=False)),
        (raw(b""), Unknown("the receiver hung up without an answer")),
        (raw(b"HTTP/1.1 503 x\r\ncontent-length: 50\r\n\r\n{"), Unknown("the receiver's answer was cut")),
        (raw(b"what?\r\n\r\n"), Unknown("the receiver's answer is not HTTP")),
    ],
)
async def test_what_an_answer_proves(answer: Answer, posted: Posted) -> None:
    assert await answered(answer) == posted


async def test_a_date_says_when_to_come_back() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)

    posted = await answered(status(503, retry_after=date))

    assert isinstance(posted, Refused)
    assert 55 < (posted.retry_after or 0) <= 60


async def test_silence_leaves_it_unknown_whether_the_receiver_has_it() -> None:
    assert await answered(silence(3), seconds=0.2) == Unknown("no answer within 0.2 s")


async def test_a_body_that_drips_for_ever_takes_no_yes_back_and_proves_no_no() -> None:
    async def drip(writer: StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{")
        await silence(3)(writer)

    async def drip_no(writer: StreamWriter) -> None:
        writer.write(b"HTTP/1.1 503 no\r\ncontent-length: 9\r\n\r\n{")
        await silence(3)(writer)

    assert await answered(drip, seconds=0.2) == Accepted()
    assert await answered(drip_no, seconds=0.2) == Unknown("no answer within 0.2 s")


async def test_nobody_listening_is_a_clear_no() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]

    posted = await post(f"http://127.0.0.1:{port}/")

    assert posted == Refused("the receiver cannot be reached", final=False)


async def test_a_name_that_does_not_resolve_is_a_clear_no() -> None:
    assert await post("http://nowhere.invalid/") == Refused("the receiver's name does not resolve", final=False)


async def test_a_plain_server_behind_https_is_a_clear_no() -> None:
    async with receiving(raw(b"")) as receiver:
        posted = await post(receiver.url.replace("http:", "https:"))

    assert (posted, receiver.heard) == (Refused("the receiver cannot be reached", final=False), [])


PRIVATE = [
    "http://127.0.0.1:{port}/",
    "http://localhost:{port}/",
    "http://[::1]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::ffff:7f00:1]:{port}/",
    "http://[64:ff9b::7f00:1]:{port}/",
    "http://0x7f.1:{port}/",
    "http://0.0.0.0:{port}/",
    "http://169.254.169.254/",
    "http://10.0.0.1/",
    "http://192.168.1.1/",
    "http://100.100.100.200/",
    "http://224.0.0.1/",
    "http://[fd00::1]/",
    "http://[fe80::1]/",
]


@pytest.mark.parametrize("url", PRIVATE)
async def test_what_is_not_public_is_never_connected_to(url: str) -> None:
    async with receiving(status(200)) as receiver:
        posted = await post(url.format(port=receiver.port), private=False)

    assert (posted, receiver.heard) == (Refused("the webhook's address is not public", final=True), [])


async def test_an_address_written_as_one_number_is_not_taken() -> None:
    async with receiving(status(200)) as receiver:
        posted = await post(f"http://2130706433:{receiver.port}/", private=False)

    assert (posted, receiver.heard) == (Refused("the webhook's URL or secret cannot be used", final=True), [])


@pytest.mark.parametrize(
    "url",
    ["http://user:pass@127.0.0.1/", "ftp://127.0.0.1/", "file:///etc/passwd", "127.0.0.1", "http://", "http://[::1"],
)
async def test_a_url_that_cannot_be_meant_is_refused_for_good(url: str) -> None:
    posted = await post(url)

    assert isinstance(posted, Refused)
    assert posted.final
    assert "pass" not in posted.sentence


async def test_without_an_endpoint_the_built_in_inbox_takes_it() -> None:
    async with WebhookChannel(SystemClock(), 5, Guard(private=False)) as channel:
        assert await WithInbox(channel).post(None, "msg_1", BODY) == Accepted()
