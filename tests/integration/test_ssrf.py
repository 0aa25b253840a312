"""Whatever somebody writes where an address belongs, and whatever a name server answers: no packet goes behind us.

The name server is one of the tests, handed in by the port that the guard asks; what is "public" here is one address of
this machine, since a test may leave it as little as a webhook may enter it.
"""

import contextlib
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from schemas.claims import Accepted, Endpoint, Posted, Refused
from tests.receiver import Answer, Receiver, receiving, status
from workers.adapters.channels.guard import Address, Guard, is_public
from workers.adapters.channels.webhook import WebhookChannel
from workers.adapters.clock import SystemClock

SECRET = "whsec_" + "c2VjcmV0IG9mIGEgdGVzdCwgMjQgYnl0ZXMgbG9uZw=="
OUTSIDE, INSIDE = "127.0.0.77", "127.0.0.1"
NOT_PUBLIC = Refused("the webhook's address is not public", final=True)
UNUSABLE = Refused("the webhook's URL or secret cannot be used", final=True)


@dataclass
class Names:
    """A name server: the answers to one name, in order; the last one again and again."""

    answers: Sequence[Sequence[str]]
    asked: list[str] = field(default_factory=list)

    def __call__(self, host: str, port: int) -> list[Address]:
        now = self.answers[min(len(self.asked), len(self.answers) - 1)]
        self.asked.append(host)
        if not now:
            raise OSError("no such name")
        return [ipaddress.ip_address(text) for text in now]


def outside(address: Address) -> bool:
    return str(address) == OUTSIDE


async def post(url: str, names: Names | None = None, times: int = 1) -> list[Posted]:
    guard = Guard(False) if names is None else Guard(False, names, outside)
    async with WebhookChannel(SystemClock(), 2, guard) as channel:
        return [await channel.post(Endpoint(url, SECRET), f"msg_{n}", "{}") for n in range(times)]


# What each means, in hosts that leave no doubt; `{port}` is where somebody listens, on all of this machine.
HOSTS = [
    "127.0.0.1", "127.1", "127.0.1", "0", "0.0.0.0", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001",
    "2130706433", "127.0.0.1.", "localhost", "localhost.", "LOCALHOST", "①②⑦.⓪.⓪.①", "127。0。0。1", "１２７.0.0.1",
    "127.0.0.1%00.example", "%31%32%37.0.0.1", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
    "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b:1::127.0.0.1]", "[2002:7f00:1::]", "[2001:0:7f00:1::1]",
    "[fe80::1%25lo]", "[fe80::1%lo]", "[fe80::5efe:7f00:1]", "[2001:db8::5efe:7f00:1]", "[::1%25lo]", "[fd00:ec2::254]",
    "[3fff::1]", "169.254.169.254", "100.100.100.200", "192.168.0.1", "10.0.0.1", "172.16.0.1", "192.0.0.192",
    "192.88.99.1", "198.18.0.1", "224.0.0.1", "255.255.255.255",
]  # fmt: skip
SHAPES = ["http://{host}:{port}/", "https://{host}:{port}/", "http://{host}:{port}\\@app.example/"]


@pytest.mark.parametrize("host", HOSTS)
async def test_no_way_to_write_an_address_leads_inside(host: str) -> None:
    async with receiving(*[status(200)] * 9) as receiver:
        for shape in SHAPES:
            (posted,) = await post(shape.format(host=host, port=receiver.port))
            assert isinstance(posted, Refused)

    assert receiver.heard == []


@pytest.mark.parametrize(
    "url",
    [
        "http://name:secret@app.example/",
        "http://name@app.example/",
        "http://:secret@app.example/",
        "http://app.example:22/",
        "http://app.example:25/",
        "http://app.example:0/",
        "http://app.example:6667/",
        "http://app.example:65536/",
        "http://app.example:-1/",
        "http://app.example:x/",
        "ftp://app.example/",
        "gopher://app.example/",
        "file:///etc/passwd",
        "unix:///run/x.sock",
        "data:text/plain,x",
        "javascript:alert(1)",
        "//app.example/",
        "http:/app.example/",
        "http:///app.example",
        "app.example",
        "",
        " ",
        "http://",
        "http://[::1",
        "http://app.example@[::1",
    ],
)
async def test_what_cannot_be_meant_is_refused_for_good_and_no_name_is_looked_up(url: str) -> None:
    names = Names([[OUTSIDE]])

    assert (await post(url, names), names.asked) == ([UNUSABLE], [])


async def test_a_public_name_is_posted_to() -> None:
    async with listening() as receiver:
        posted = await post(f"http://app.example:{receiver.port}/", Names([[OUTSIDE]]))

    assert (posted, len(receiver.heard)) == ([Accepted()], 1)
    assert receiver.heard[0][0]["host"] == f"app.example:{receiver.port}"


@pytest.mark.parametrize(
    "answer",
    [[INSIDE], ["::1"], [OUTSIDE, INSIDE], [INSIDE, OUTSIDE], [OUTSIDE, "::ffff:127.0.0.1"], ["169.254.169.254"]],
)
async def test_a_name_with_one_address_inside_is_refused_whole(answer: list[str]) -> None:
    async with receiving(status(200)) as receiver:
        posted = await post(f"http://app.example:{receiver.port}/", Names([answer]))

    assert (posted, receiver.heard) == ([NOT_PUBLIC], [])


async def test_a_name_that_answers_differently_to_each_question_is_asked_once_a_connection() -> None:
    """Rebinding: the check and the connection hear one answer, and each new connection is checked anew."""
    names = Names([[OUTSIDE], [INSIDE], [OUTSIDE], [INSIDE]])
    async with listening(closing=True) as outer, receiving(*[status(200)] * 9, host=INSIDE, port=outer.port) as inner:
        posted = await post(f"http://app.example:{outer.port}/", names, times=4)

    assert posted == [Accepted(), NOT_PUBLIC, Accepted(), NOT_PUBLIC]
    assert (len(outer.heard), inner.heard, len(names.asked)) == (2, [], 4)


async def test_no_redirect_is_followed() -> None:
    async with receiving(status(200)) as inner:
        to = [f"http://127.0.0.1:{inner.port}/", f"//127.0.0.1:{inner.port}/", "/again"]
        answers = [status(code, location=where) for code in (301, 302, 303, 307, 308) for where in to]
        async with listening(answers) as outer:
            posted = await post(f"http://app.example:{outer.port}/", Names([[OUTSIDE]]), times=len(answers))

    assert {type(one) for one in posted} == {Refused}
    assert all(isinstance(one, Refused) and one.final for one in posted)
    assert (len(outer.heard), inner.heard) == (len(answers), [])


def listening(
    answers: Sequence[Answer] = (), closing: bool = False
) -> contextlib.AbstractAsyncContextManager[Receiver]:
    """A receiver on the address that counts as public."""
    connection = {"connection": "close"} if closing else {}
    return receiving(*(answers or [status(200, **connection)] * 4), host=OUTSIDE)


def test_the_guard_as_it_is_wired_asks_the_machine_and_the_registries() -> None:
    guard = Guard(private=False)

    assert guard._open_to is is_public
    assert [is_public(ipaddress.ip_address(text)) for text in ("93.184.216.34", OUTSIDE)] == [True, False]
