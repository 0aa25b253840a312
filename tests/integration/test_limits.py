"""A gateway process at its limits: whoever sends too much, too slowly or nonsense hears so, in a way they can read."""

import json
import socket
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests import servers
from tests.fuzz.gateway import HEADERS, ORG, Running, furnish, running_gateway
from tests.stack import free_port

JSON = {"Content-Type": "application/json"}
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def gateway(
    postgres_server: str, database_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    quick = {"REPLIQUE_GATEWAY__HEAD_SECONDS": "1", "REPLIQUE_GATEWAY__BODY_SECONDS": "0.5"}
    quick |= {"REPLIQUE_GATEWAY__BODY_BYTES": "65536", "REPLIQUE_GATEWAY__DOCUMENT_BYTES": "262144"}
    with (
        servers.database(postgres_server, database_template) as database_url,
        running_gateway(database_url, tmp_path_factory.mktemp("limits"), **quick) as found,
    ):
        furnish(found, database_url)
        yield found


def port_of(gateway: Running) -> int:
    return int(gateway.url.rsplit(":", 1)[1])


def exchanged(gateway: Running, *parts: bytes, pause: float = 0, seconds: float = 15) -> bytes:
    """Everything that comes back until the gateway closes; raises ConnectionResetError when it is cut off."""
    with closing(socket.create_connection(("127.0.0.1", port_of(gateway)), timeout=seconds)) as raw:
        for part in parts:
            raw.sendall(part)
            time.sleep(pause)
        return heard(raw)


def heard(raw: socket.socket) -> bytes:
    found = b""
    while part := raw.recv(65_536):
        found += part
    return found


def problem(answer: bytes) -> tuple[int, str]:
    """Status and code, of an answer that is whole."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head.lower(), answer
    assert b"x-request-id: " in head.lower()
    found: dict[str, Any] = json.loads(body)
    assert {"type", "title", "status", "detail", "code", "request_id"} <= found.keys()
    status = int(head.split(b" ", 2)[1])
    assert (found["status"], found["code"]) == (status, f"AR-{status}")
    return status, found["code"]


def a_head(path: str, *fields: str, method: str = "POST") -> bytes:
    key, org = f"Authorization: {HEADERS['Authorization']}", f"X-Organization: {ORG}"
    lines = [f"{method} {path} HTTP/1.1", "Host: it", key, org, *fields]
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.mark.parametrize("connection", ["keep-alive", "close"])
@pytest.mark.parametrize("declared", [True, False])
def test_who_sends_too_much_can_read_that_it_was_too_much(gateway: Running, declared: bool, connection: str) -> None:
    """All of the body is sent first, as most clients do: an answer that overtakes it would be lost to a reset."""
    body = b" " * (8 * MIB)
    framing = f"Content-Length: {len(body)}" if declared else "Transfer-Encoding: chunked"
    head = a_head("/v1/messages", "Content-Type: application/json", framing, f"Connection: {connection}")
    sent = body if declared else b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    goodbye = b"" if connection == "close" else a_head("/healthz", "Connection: close", method="GET")

    first, _, rest = exchanged(gateway, head, sent, goodbye).partition(b"}HTTP/1.1")

    assert problem(first if first.endswith(b"}") else first + b"}") == (413, "AR-413")
    assert rest.startswith(b" 200") or connection == "close"


@pytest.mark.parametrize("key", ["", "Authorization: Bearer wrong"])
def test_every_refusal_before_the_body_can_be_read_too(gateway: Running, key: str) -> None:
    body = b"x" * (200 * 1024)
    head = f"POST /v1/documents HTTP/1.1\r\nHost: it\r\n{key or 'X-No: key'}\r\nConnection: close\r\n"
    head += f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {len(body)}\r\n\r\n"

    assert problem(exchanged(gateway, head.encode(), body)) == (401, "AR-401")


def test_who_asks_first_is_refused_before_a_byte_of_the_body(gateway: Running) -> None:
    head = a_head("/v1/messages", "Content-Type: application/json", "Content-Length: 99999999", "Expect: 100-continue")

    assert problem(exchanged(gateway, head)) == (413, "AR-413")


def test_without_end_is_cut_off(gateway: Running) -> None:
    """A body that says it is a gigabyte is not waited for."""
    head = a_head("/v1/messages", "Content-Type: application/json", f"Content-Length: {2**30}")
    began = time.monotonic()

    assert problem(exchanged(gateway, head)) == (413, "AR-413")
    assert time.monotonic() - began < 8


def test_an_upload_has_its_own_limit(gateway: Running) -> None:
    files = {"file": ("a.txt", b"x" * 300_000)}
    fields = {"name": "big", "scope": "organization"}
    too_large = gateway.call("POST", "/v1/documents", data=fields, files=files)
    fits = gateway.call("POST", "/v1/documents", data=fields, files={"file": ("a.txt", b"parlons-en " * 9_000)})

    assert (too_large.status_code, too_large.json()["limit_bytes"]) == (413, 262_144)
    assert fits.status_code == 200, fits.text


@pytest.mark.parametrize(
    "head",
    [
        a_head("/v1/jobs", "X-Long: " + "x" * 40_000, method="GET"),
        a_head("/v1/jobs", *(f"X-{n}: 1" for n in range(120)), method="GET"),
        a_head("/v1/jobs?state=" + "x" * 40_000, method="GET"),
        b"GET /v1/jobs HTTP/1.1\r\nX-Endless: " + b"x" * 100_000,
        b"GET /" + b"x" * 100_000,
    ],
)
def test_a_head_that_is_too_large_is_431(gateway: Running, head: bytes) -> None:
    assert problem(exchanged(gateway, head)) == (431, "AR-431")


@pytest.mark.parametrize(
    "nonsense",
    [
        b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: it\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\nHost: it\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: it\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nHost: it\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    ],
)
def test_what_is_not_http_is_a_problem_too(gateway: Running, nonsense: bytes) -> None:
    assert problem(exchanged(gateway, nonsense)) == (400, "AR-400")


def test_a_head_that_drips_ends_with_408(gateway: Running) -> None:
    began = time.monotonic()

    assert problem(exchanged(gateway, b"GET /v1/jobs HTTP/1.1\r\nX-", b"a", pause=0.3)) == (408, "AR-408")
    assert time.monotonic() - began < 10


def test_who_connects_and_says_nothing_is_let_go(gateway: Running) -> None:
    began = time.monotonic()

    assert exchanged(gateway) == b""
    assert time.monotonic() - began < 10


def test_the_second_head_of_a_connection_may_not_drip_either(gateway: Running) -> None:
    first = a_head("/healthz", method="GET")
    answer = exchanged(gateway, first, b"GET /v1/jobs HTTP/1.1\r\nX-", pause=0.2)

    assert answer.startswith(b"HTTP/1.1 200")
    assert problem(answer[answer.rindex(b"HTTP/1.1") :]) == (408, "AR-408")


def test_a_body_that_drips_ends_with_408(gateway: Running) -> None:
    """0.5 s, and 1.3 s for the 64 KiB it may hold."""
    head = a_head("/v1/messages", "Content-Type: application/json", "Content-Length: 1000")
    began = time.monotonic()

    assert problem(exchanged(gateway, head, b"{", seconds=30)) == (408, "AR-408")
    assert 1.5 < time.monotonic() - began < 8


def test_a_hundred_who_drip_keep_nobody_waiting(gateway: Running) -> None:
    drips = [socket.create_connection(("127.0.0.1", port_of(gateway)), timeout=5) for _ in range(100)]
    try:
        for drip in drips:
            drip.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: it\r\nContent-Length: 9\r\n")
        began = time.monotonic()
        assert gateway.call("GET", "/v1/jobs").status_code == 200
        assert time.monotonic() - began < 8
        assert all(problem(heard(drip)) == (408, "AR-408") for drip in drips)
    finally:
        for drip in drips:
            drip.close()


DEEP = (
    b'{"id":"m-9","conversation":"c-9","persona":"maya","author":"contact","text":"x",'
    b'"contact":{"id":"f","profile":%s}}'
)


@pytest.mark.parametrize(
    ("profile", "status"),
    [
        (b'{"a":' * 60 + b"1" + b"}" * 60, 202),
        (b'{"a":' * 70 + b"1" + b"}" * 70, 400),
        (b'{"a":' + b"[" * 15_000 + b"]" * 15_000 + b"}", 400),
        (b'{"a":' + b"[" * 30_000, 400),
        (b'{"a":1e400}', 400),
        (b'{"a":-1e400}', 400),
        (b'{"a":NaN}', 400),
        (b'{"a":' + b"9" * 5_000 + b"}", 400),
        (b'{"a":' + b"9" * 4_000 + b"}", 202),
        (b'{"a":1e308,"b":-0.0,"c":1e-400,"d":9007199254740993}', 202),
        (b'{"a":1,"a":2}', 400),
        (b'{"a":{"b":1,"b":1}}', 400),
        (b'{"a\\u0000":"\\u0000","\\ud800":"\\udc00\\ud83d"}', 202),
        (b'{"\\ud83d\\ude00":"\\ud83d\\ude00"}', 202),
        (b'{"a":"\x00"}', 400),
        (b'{"a":"\xed\xa0\x80"}', 400),
        (b'{"a":"\xc0\x80"}', 400),
        (b"[]", 422),
        (b'{"":{"":""}}', 202),
        (b'{"__proto__":{"x":1},"constructor":1}', 202),
    ],
)
def test_json_that_is_strange_is_taken_or_refused_and_can_be_read_again(
    gateway: Running, profile: bytes, status: int
) -> None:
    marked = str(zlib.crc32(profile)).encode()
    body = (DEEP % profile).replace(b'"m-9"', b'"m-%s"' % marked).replace(b'"c-9"', b'"c-%s"' % marked)
    body = body.replace(b'"id":"f"', b'"id":"f-%s"' % marked)
    answer = gateway.call("POST", "/v1/messages", content=body, headers=JSON)
    read = [
        gateway.call("GET", f"/v1/{path}").status_code
        for path in (f"conversations/c-{marked.decode()}", f"contacts/f-{marked.decode()}/export")
    ]

    assert answer.status_code == status, answer.text
    assert read == ([200, 200] if status == 202 else [404, 404])


@pytest.mark.parametrize("name", [".", "..", "....", "a/b", "a\u0000", "", "a" * 129, "é", " a", "a\n", "%2e%2e"])
def test_a_name_that_a_path_cannot_carry_is_no_name(gateway: Running, name: str) -> None:
    contact = {"id": "fan-1"}
    whole = {
        "id": "m-x",
        "conversation": "c-x",
        "persona": "maya",
        "author": "contact",
        "contact": contact,
        "text": "x",
    }
    asked = [{"id": name}, {"conversation": name, "id": "m-y"}, {"contact": {"id": name}, "conversation": "c-z"}]
    asked += [{"persona": name, "id": "m-z"}]
    found = [gateway.call("POST", "/v1/messages", json=whole | changed).status_code for changed in asked]
    applied = gateway.call("POST", "/v1/apply", json={"resources": [{"kind": "Persona", "name": name}]})

    # NUL is dropped everywhere, so that "a\0" is "a".
    assert (found[:3], applied.status_code) == (([202] * 3, 200) if "\0" in name else ([422] * 3, 422))
    assert found[3] in (409, 422)


def test_a_key_that_is_no_text_is_401(gateway: Running) -> None:
    for key in (b"\xe9", b"\xff\xfe", b"x" * 20_000, b"\xc3\xa9" * 50, b"-" * 10):
        head = b"GET /v1/jobs HTTP/1.1\r\nHost: it\r\nConnection: close\r\nAuthorization: Bearer " + key + b"\r\n\r\n"
        assert problem(exchanged(gateway, head)) == (401, "AR-401")


def test_a_header_that_is_no_text_names_no_organisation(gateway: Running) -> None:
    for name in (b"\xe9", b"..", b"' OR 1=1 --", b"a b", b"\xf0\x9f\x98\x80"):
        head = b"GET /v1/jobs HTTP/1.1\r\nHost: it\r\nConnection: close\r\nX-Organization: " + name
        head += f"\r\nAuthorization: {HEADERS['Authorization']}\r\n\r\n".encode()
        assert problem(exchanged(gateway, head)) == (404, "AR-404")


def test_dots_in_a_path_lead_nowhere_else(gateway: Running) -> None:
    found = {
        path: exchanged(gateway, a_head(path, "Connection: close", method="GET")).split(b" ", 2)[1]
        for path in (
            "/v1/conversations/..",
            "/v1/conversations/.",
            "/v1/conversations/../jobs",
            "/v1/conversations/%2e%2e",
            "/v1/conversations/%2e%2e%2fjobs",
            "/v1/explain/..",
            "/v1/files/..%2f..%2fetc%2fpasswd",
            "/console/static/../app.py",
            "/console/static/%2e%2e/app.py",
            "/console/static/..%2fapp.py",
        )
    }

    assert set(found.values()) == {b"404"}, found


def test_after_all_this_it_is_well(gateway: Running) -> None:
    assert httpx2.get(f"{gateway.url}/readyz").json()["ready"]
    log = gateway.log.read_text()
    assert [line for line in log.splitlines() if "request_failed" in line or "Traceback" in line] == []


def test_wrong_keys_are_counted_where_they_knock_and_without_redis(database_url: str, tmp_path: Path) -> None:
    """Each gateway counts for itself: Redis may be away, as here, and nobody's guesses cost a statement."""
    few = {"REPLIQUE_GATEWAY__FAILED_KEYS_PER_MINUTE": "3", "REDIS_URL": f"redis://127.0.0.1:{free_port()}/0"}
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with (
        running_gateway(database_url, tmp_path / "a", **few) as one,
        running_gateway(database_url, tmp_path / "b", **few) as other,
    ):
        found = [[guess(gateway, n) for n in range(5)] for gateway in (one, other)]
        forwarded = [guess(one, n, **{"X-Forwarded-For": f"198.51.100.{n}"}) for n in range(3)]
        good = httpx2.get(f"{one.url}/v1/keys", headers=HEADERS).status_code

    assert found == [[401, 401, 401, 429, 429]] * 2
    assert forwarded == [429] * 3  # nobody is trusted to say whom they speak for
    assert good == 429  # not known yet here, from an address that guesses


def guess(gateway: Running, n: int, **headers: str) -> int:
    sent = {"Authorization": f"Bearer guess-{n}", **headers}
    return int(httpx2.get(f"{gateway.url}/v1/jobs", headers=sent).status_code)
