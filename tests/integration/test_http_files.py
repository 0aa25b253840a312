"""`GET /v1/files/{id}`: who holds a link gets the whole file, without a key, until the link expires."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.builders_face import a_gateway
from workers.adapters.clock import SystemClock
from workers.adapters.files.address import open_files
from workers.adapters.files.links import FileLinks

KEY = "org_1/speech/a1.ogg"
SOUND = bytes(range(256)) * 2000
OGG = "audio/ogg; codecs=opus"
SECRET = "a secret of the tests, long enough"


async def stored(folder: Path) -> None:
    await open_files(str(folder)).put(KEY, SOUND, OGG)


def path_of(url: str) -> str:
    return url.removeprefix("https://replique.example")


def signed(days: float = 1, key: str = KEY, secret: str = SECRET) -> str:
    expires = SystemClock().now() + timedelta(days=days)
    return path_of(FileLinks("https://replique.example", secret).url(key, expires))


async def test_a_link_made_by_a_worker_opens_the_whole_file(database_url: str, tmp_path: Path) -> None:
    await stored(tmp_path)
    environ = {"STORAGE_URL": str(tmp_path), "PUBLIC_URL": "https://replique.example"}
    async with a_gateway(database_url, **environ) as gateway:
        url = await gateway.parts.files.url(KEY)
        answer = await gateway.call("GET", path_of(url), key=None)

    assert (answer.status_code, answer.headers["content-type"], answer.content) == (200, OGG, SOUND)
    assert answer.headers["content-length"] == str(len(SOUND))
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("path", "status", "detail"),
    [
        (signed(days=-1), 410, "this link was good for 7 days, and they are over"),
        (signed(key="org_1/speech/b2.ogg"), 404, "no such file"),
        (signed(secret="another secret of the tests, longer"), 403, "this link was not made here, or was changed"),
        (signed().replace("a1.ogg", "a2.ogg"), 403, "this link was not made here, or was changed"),
        (signed().partition("?")[0], 403, "this link was not made here, or was changed"),
        ("/v1/files/..~etc~passwd?exp=1&sig=1", 404, "there is no such file"),
    ],
)
async def test_other_links_open_nothing_and_say_why(
    database_url: str, tmp_path: Path, path: str, status: int, detail: str
) -> None:
    await stored(tmp_path)
    async with a_gateway(database_url, STORAGE_URL=str(tmp_path), REPLIQUE_SECRET_KEY=SECRET) as gateway:
        assert (await gateway.call("GET", signed(), key=None)).status_code == 200

        answer = await gateway.call("GET", path, key=None)

    assert (answer.status_code, answer.json()["detail"]) == (status, detail)
    assert "role" not in answer.json()["title"]


async def test_no_folder_is_made_before_a_file_is_wanted(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with a_gateway(database_url, REPLIQUE_SECRET_KEY=SECRET) as gateway:
        before = list(tmp_path.iterdir())
        missing = await gateway.call("GET", signed(), key=None)

    assert (before, missing.status_code) == ([], 404)
    assert (tmp_path / ".replique" / "files").is_dir()


async def test_a_folder_that_cannot_be_made_is_said(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".replique").write_text("a file")
    monkeypatch.chdir(tmp_path)
    async with a_gateway(database_url, REPLIQUE_SECRET_KEY=SECRET) as gateway:
        answer = await gateway.call("GET", signed(), key=None)

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
