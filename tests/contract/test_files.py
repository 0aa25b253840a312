"""Do a folder and a bucket keep files alike, and are links to them worth what they say?"""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.ports import Files
from schemas.media import (
    BadFileKey,
    FileMissing,
    FilesUnavailable,
    StoredFile,
    checked_key,
    file_id,
    key_of,
)
from schemas.settings import SettingsRefused
from workers.adapters.files.address import S3Keys, open_files
from workers.adapters.files.links import FileLinks

KEYS = S3Keys("test-access", "test-secret-key")
NOW = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
OPUS = "audio/ogg; codecs=opus"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def s3_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`s3://files/test?endpoint=…` of a real S3 server with one bucket."""
    folder, port = tmp_path_factory.mktemp("s3"), free_port()
    (folder / "files").mkdir()
    path = os.pathsep.join(filter(None, sys.path))
    environment = os.environ | {
        "PYTHONPATH": path,
        "NANIO_ACCESS_KEY": KEYS.access_key_id,
        "NANIO_SECRET_KEY": KEYS.secret_access_key,
    }
    command = [sys.executable, "-m", "nanio", "serve", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--data-dir", str(folder), "--no-access-log", "--log-level", "error"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            wait_for(port, server)
            yield f"s3://files/test?endpoint=http://127.0.0.1:{port}&region=us-east-1"
        finally:
            server.terminate()


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError("the S3 server did not start")


@pytest.fixture(params=["folder", "bucket"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    if request.param == "folder":
        return open_files(f"file://{tmp_path}/files")
    return open_files(request.getfixturevalue("s3_url"), KEYS)


async def test_what_was_put_comes_back_whole_with_its_type(files: Files) -> None:
    content = bytes(range(256)) * 100

    await files.put("7/speech/a1.ogg", content, OPUS)

    assert await files.exists("7/speech/a1.ogg")
    assert await files.get("7/speech/a1.ogg") == StoredFile(content, OPUS)


async def test_a_second_put_replaces_content_and_type(files: Files) -> None:
    await files.put("twice", b"one", "text/plain")
    await files.put("twice", b"two!", "image/png")

    assert await files.get("twice") == StoredFile(b"two!", "image/png")


async def test_an_empty_file_is_a_file(files: Files) -> None:
    await files.put("empty", b"", "text/plain")

    assert await files.get("empty") == StoredFile(b"", "text/plain")


async def test_a_large_file_streams_in_pieces(files: Files) -> None:
    content = os.urandom(6 * 1024 * 1024)  # above the size from which a bucket takes it in parts

    await files.put("large.mp4", content, "video/mp4")
    stream = await files.stream("large.mp4")
    pieces = [piece async for piece in stream.chunks]

    assert (stream.size, stream.mime) == (len(content), "video/mp4")
    assert b"".join(pieces) == content
    assert len(pieces) > 1


async def test_deleted_is_gone_and_may_be_deleted_again(files: Files) -> None:
    await files.put("short/lived", b"x", "text/plain")

    await files.delete("short/lived")
    await files.delete("short/lived")

    assert not await files.exists("short/lived")
    for read in (files.get, files.stream):
        with pytest.raises(FileMissing):
            await read("short/lived")


async def test_files_do_not_meet_under_similar_keys(files: Files) -> None:
    keys = ["1/a", "1/a.b", "10/a", "1/A", "1/a-", "1/_a"]

    for key in keys:
        await files.put(key, key.encode(), f"text/{len(key)}")

    assert [(await files.get(key)).content.decode() for key in keys] == keys


async def test_many_at_once(files: Files) -> None:
    keys = [f"many/{n}" for n in range(40)]

    await asyncio.gather(*(files.put(key, key.encode(), "text/plain") for key in keys))
    found = await asyncio.gather(*(files.get(key) for key in keys))

    assert [file.content.decode() for file in found] == keys


@pytest.mark.parametrize(
    "key",
    ["", "/", "/etc/passwd", "..", "../x", "a/../x", "a/..", "a//b", "a/", "./a", ".mime/a", "a/.b", "a\\b", "a b",
     "a\0b", "a%2e%2e", "é", "~", "a~b", "a\n", "-a", "a" * 401],
)  # fmt: skip
async def test_a_key_that_could_leave_the_folder_touches_nothing(files: Files, key: str) -> None:
    with pytest.raises(BadFileKey):
        await files.put(key, b"x", "text/plain")
    for call in (files.get, files.stream, files.exists, files.delete):
        with pytest.raises(BadFileKey):
            await call(key)


async def test_a_bucket_that_does_not_exist_is_said(s3_url: str) -> None:
    files = open_files(s3_url.replace("s3://files", "s3://nobody"), KEYS)

    with pytest.raises(FilesUnavailable, match="bucket of STORAGE_URL does not exist"):
        await files.put("a", b"x", "text/plain")


async def test_wrong_keys_to_the_bucket_are_said_without_what_the_store_answered(s3_url: str) -> None:
    files = open_files(s3_url, S3Keys("test-access", "wrong"))

    with pytest.raises(FilesUnavailable) as raised:
        await files.put("a", b"x", "text/plain")

    assert raised.value.sentence in {
        "the file store did not do it (PermissionDenied)",
        "the file store did not do it (Unauthenticated)",
    }


async def test_a_store_that_is_away_is_named_and_soon() -> None:
    files = open_files(f"s3://files?endpoint=http://127.0.0.1:{free_port()}&region=us-east-1", KEYS)
    started = time.monotonic()

    with pytest.raises(FilesUnavailable):
        await files.get("a")

    assert time.monotonic() - started < 12


async def test_a_folder_keeps_files_over_a_restart_and_readable_by_name(tmp_path: Path) -> None:
    await open_files(str(tmp_path / "new" / "files")).put("7/a.ogg", b"sound", OPUS)

    again = open_files(f"file://{tmp_path}/new/files")

    assert await again.get("7/a.ogg") == StoredFile(b"sound", OPUS)
    assert (tmp_path / "new" / "files" / "7" / "a.ogg").read_bytes() == b"sound"
    assert (tmp_path / "new" / "files").stat().st_mode & 0o777 == 0o700


async def test_a_file_laid_into_the_folder_by_hand_has_no_type_and_is_served(tmp_path: Path) -> None:
    (tmp_path / "logo.png").write_bytes(b"png")

    assert await open_files(str(tmp_path)).get("logo.png") == StoredFile(b"png", "application/octet-stream")


@pytest.mark.parametrize(
    "url",
    ["ftp://x/y", "s3:///x", "s3://key:secret@files/x", "s3://files?retries=3", "file://host/x", "gs://b"],
)
def test_an_address_of_no_store_stops_the_start(url: str) -> None:
    with pytest.raises(SettingsRefused, match=r"^STORAGE_URL: ") as raised:
        open_files(url)

    assert "secret" not in str(raised.value)


def test_a_folder_that_cannot_be_made_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")

    with pytest.raises(SettingsRefused, match="STORAGE_URL: this folder cannot be used"):
        open_files(str(tmp_path / "taken" / "files"))


LINKS = FileLinks("https://replique.example/", "a secret of thirty-two characters")
SOON = NOW + timedelta(days=7)


def test_a_link_opens_its_file_until_it_expires() -> None:
    url = urlsplit(LINKS.url("7/speech/a1.ogg", SOON))
    query = {name: values[0] for name, values in parse_qs(url.query).items()}

    def opens(now: datetime) -> bool:
        return LINKS.verify(key_of(url.path.rpartition("/")[2]), query["exp"], query["sig"], now)

    assert (url.scheme, url.netloc, url.path) == ("https", "replique.example", "/v1/files/7~speech~a1.ogg")
    assert [opens(NOW), opens(SOON - timedelta(seconds=1)), opens(SOON), opens(SOON + timedelta(days=1))] == [
        True, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "expires", "signature"),
    [
        ("7/b", None, None),
        ("7/a", "99999999999", None),
        ("7/a", None, " "),
        ("7/a", None, "é"),
        ("7/a", None, "0" * 64),
        ("7/a", "", None),
        ("7/a", "-1", None),
        ("7/a", "1e12", None),
        ("7/a", "٣", None),
        ("7/a", "9" * 400, None),
    ],
)
def test_a_changed_link_opens_nothing(key: str, expires: str | None, signature: str | None) -> None:
    seconds = int(SOON.timestamp())
    good = LINKS.sign("7/a", seconds)

    assert LINKS.verify("7/a", str(seconds), good, NOW)
    assert not LINKS.verify(key, str(seconds) if expires is None else expires, signature or good, NOW)


def test_a_link_of_another_secret_opens_nothing() -> None:
    seconds = int(SOON.timestamp())
    other = FileLinks("https://replique.example", "another secret of thirty-two chars")

    assert not LINKS.verify("7/a", str(seconds), other.sign("7/a", seconds), NOW)


@given(st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,9}(/[A-Za-z0-9_][A-Za-z0-9._-]{0,9}){0,3}", fullmatch=True))
def test_an_id_is_one_segment_and_leads_back(key: str) -> None:
    assert checked_key(key) == key
    assert "/" not in file_id(key)
    assert key_of(file_id(key)) == key


@given(st.text(max_size=40))
def test_any_text_is_a_key_or_refused(text: str) -> None:
    try:
        key = key_of(text)
    except BadFileKey:
        return
    assert file_id(key) == text
    assert ".." not in key.split("/")
