"""The stream of events of the console: whatever is asked of it, whatever happens, whoever goes away in mid-word.

Over sockets, for a stream ends where a test client in memory would wait for its end.
"""

import json
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
import psycopg
import pytest

from tests import servers
from tests.builders_face import ADMIN
from tests.fuzz.gateway import Running, furnish, running_gateway
from tests.fuzz.hostile import TEXTS
from tests.stack import wait_until
from tests.visitor import CSRF

STORABLE = tuple(text for text in TEXTS if "\x00" not in text)
"""What PostgreSQL takes: a subject of the audit log as no transition of ours would write it."""
ENDS = "\r\n", '\n\ndata: {"jobs": ["job_forged"]}\n\n', "\rdata: x", "\u2028data: x\u2028", "event: x\nid: 1\nretry: 1"
"""What would end a line, an event, or begin a field of another name."""
KEYS = {"now", "jobs", "conversations", "names"}
QUERIES = ("", "?x=1", "?" + "a=b&" * 200, "?x=%00", "?%ff%fe", "?x=%0d%0aSet-Cookie:%20a=b")
LOOK = "0.1"


@pytest.fixture(scope="module")
def running(
    postgres_server: str, database_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Running, str]]:
    with (
        servers.database(postgres_server, database_template) as database_url,
        running_gateway(database_url, tmp_path_factory.mktemp("events"), REPLIQUE_CONSOLE__LOOK_SECONDS=LOOK) as found,
    ):
        furnish(found, database_url)
        yield found, database_url


@pytest.fixture(scope="module")
def cookie(running: tuple[Running, str]) -> str:
    """Of an administrator who looks at the organisation."""
    with httpx2.Client(base_url=f"{running[0].url}/console", timeout=20) as browser:
        first = browser.get("/sign-in")
        kept = dict(first.cookies)
        for path, fields in (("/sign-in", {"key": ADMIN}), ("/choose", {"organization": "acme"})):
            browser.cookies.clear()
            header = "; ".join(f"{name}={value}" for name, value in kept.items())
            page = first if path == "/sign-in" else browser.get("/costs", headers={"cookie": header})
            token = CSRF.search(page.text)
            assert token, page.text[:300]
            browser.cookies.clear()
            answer = browser.post(path, data={"csrf": token[1], **fields}, headers={"cookie": header})
            assert answer.status_code == 303, answer.text
            kept |= {name: value.strip('"') for name, value in answer.cookies.items()}
        return "; ".join(f"{name}={value}" for name, value in kept.items())


class Listening:
    """One browser's stream, read byte by byte as the standard says."""

    def __init__(self, running: Running, cookie: str, headers: bytes = b"", query: str = "") -> None:
        place = urlsplit(running.url)
        self.socket = socket.create_connection((place.hostname or "", place.port or 0), timeout=10)
        head = f"GET /console/live{query} HTTP/1.1\r\nHost: {place.netloc}\r\nCookie: {cookie}\r\n"
        self.socket.sendall(head.encode() + headers + b"\r\n")
        self.rest = b""

    def head(self) -> tuple[int, str]:
        while b"\r\n\r\n" not in self.rest:
            self.rest += self._more()
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        return int(head.split()[1]), head.decode("latin-1").lower()

    def event(self) -> dict[str, Any]:
        """The next one: it is in one chunk, of one field `data`, and is JSON of ours."""
        while self.rest.count(b"\r\n") < 2 or not self._whole():
            self.rest += self._more()
        size, _, self.rest = self.rest.partition(b"\r\n")
        chunk, self.rest = self.rest[: int(size, 16)], self.rest[int(size, 16) + 2 :]
        assert chunk.endswith(b"\n\n"), chunk[:200]
        lines = chunk[:-2].decode("utf-8").splitlines()
        assert len(lines) == 1, lines
        assert lines[0].startswith("data: "), lines
        told: dict[str, Any] = json.loads(lines[0].removeprefix("data: "))
        assert told.keys() - {"counts"} == KEYS
        return told

    def _whole(self) -> bool:
        size, _, rest = self.rest.partition(b"\r\n")
        return len(rest) >= int(size, 16) + 2

    def _more(self) -> bytes:
        found = self.socket.recv(65_536)
        if not found:
            raise ConnectionResetError("the stream has ended")
        return found

    def drop(self) -> None:
        """Without a word: what is still sent to it is answered with a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        self.socket.close()


@contextmanager
def listening(running: Running, cookie: str, **asked: Any) -> Iterator[Listening]:
    stream = Listening(running, cookie, **asked)
    try:
        yield stream
    finally:
        stream.socket.close()


def happen(database_url: str, *subjects: str) -> None:
    with psycopg.connect(database_url) as connection:
        for subject in subjects:
            connection.execute(
                "INSERT INTO audit_log (org_id, who, action, subject, facts) "
                "SELECT id, 'x', 'x', %s, '{}' FROM organizations WHERE name = 'acme'",
                (subject,),
            )


def in_a_header(text: str) -> bytes:
    """What can stand in one at all; what else ends it or the request, and is the business of `test_limits.py`."""
    return "".join(sign for sign in text[:2_000] if sign >= " " and sign != "\x7f").encode()


@pytest.mark.parametrize("name", ["Last-Event-ID", "Accept", "Accept-Language", "Cache-Control", "X-Live", "Cookie"])
def test_no_header_makes_a_stream_fail(running: tuple[Running, str], cookie: str, name: str) -> None:
    found = {}
    for text in TEXTS:
        header = name.encode() + b": " + in_a_header(text) + b"\r\n"
        with listening(running[0], cookie, headers=header) as stream:
            status, head = stream.head()
            found[text[:60]] = status
            if status == 200:
                assert "content-type: text/event-stream" in head
                assert stream.event()["counts"].keys() == {"window", "attention", "letters"}

    assert set(found.values()) <= ({200, 303} if name == "Cookie" else {200}), found


@pytest.mark.parametrize("query", QUERIES)
def test_no_address_makes_a_stream_fail(running: tuple[Running, str], cookie: str, query: str) -> None:
    with listening(running[0], cookie, query=query) as stream:
        status, head = stream.head()

    assert (status, "set-cookie: a=b" in head) == (400 if query == "?x=%00" else 200, False)


def test_whatever_happens_an_event_is_one_line_of_json(running: tuple[Running, str], cookie: str) -> None:
    hostile = {f"{n} {text[:2_000]}" for n, text in enumerate((*STORABLE, *ENDS))}
    with listening(running[0], cookie) as stream:
        assert stream.head()[0] == 200
        stream.event()
        happen(running[1], *hostile)
        heard: set[str] = set()
        jobs: set[str] = set()
        while not hostile <= heard:
            told = stream.event()
            heard |= set(told["names"])
            jobs |= set(told["jobs"])

    assert jobs & {"job_forged"} == set()


def test_a_reader_who_reads_nothing_holds_nobody_up(running: tuple[Running, str], cookie: str) -> None:
    """Megabytes are told to one who does not take them; the other hears all of it."""
    names = {f"{n}-{'x' * 4_000}" for n in range(600)}
    with listening(running[0], cookie) as deaf, listening(running[0], cookie) as stream:
        assert (deaf.head()[0], stream.head()[0]) == (200, 200)
        heard: set[str] = set()
        for part in range(0, 600, 100):
            happen(running[1], *sorted(names)[part : part + 100])
        while not names <= heard:
            heard |= set(stream.event()["names"])


def test_who_goes_in_the_middle_of_a_word_is_forgotten(running: tuple[Running, str], cookie: str) -> None:
    chance = random.Random(7)

    def come_and_go() -> None:
        for _ in range(15):
            stream = Listening(running[0], cookie)
            if chance.random() < 0.7:
                stream.head()
            if chance.random() < 0.5:
                stream.rest += stream.socket.recv(chance.randint(1, 40))
            stream.drop()

    crowd = [threading.Thread(target=come_and_go) for _ in range(6)]
    for one in crowd:
        one.start()
    while any(one.is_alive() for one in crowd):
        happen(running[1], "meanwhile")
    for one in crowd:
        one.join()
    with listening(running[0], cookie) as stream:
        stream.head()
        happen(running[1], "afterwards")
        heard: set[str] = set()
        while "afterwards" not in heard:
            heard |= set(stream.event()["names"])
    wait_until(lambda: open_streams(running[1]) == 0, 20, "the gateway to stop looking when nobody listens")


def open_streams(database_url: str) -> int:
    """Whether the gateway still looks for what happens: it does so while somebody listens, ten times a second."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%FROM audit_log"
            " WHERE id > %' AND pid <> pg_backend_pid() AND query_start > clock_timestamp() - interval '1 s'"
        ).fetchone()
    assert row is not None
    return int(row[0])


def test_nothing_of_it_was_a_fault_of_ours(running: tuple[Running, str]) -> None:
    log = running[0].log.read_text()

    assert [line for line in log.splitlines() if "fault" in line or "failed" in line or "Traceback" in line] == []
