"""The address and key that `up` leaves for the command line."""

import stat
from pathlib import Path

import pytest

from workers.cli import connection
from workers.cli.connection import Connection


def test_what_was_written_is_read_again_by_its_owner_alone(tmp_path: Path) -> None:
    found = Connection("http://127.0.0.1:8080", "rq_key")
    connection.write(tmp_path, Connection("http://old", "rq_old"))
    connection.write(tmp_path, found)
    mode = stat.S_IMODE((tmp_path / "connection.json").stat().st_mode)
    assert (connection.read(tmp_path), mode) == (found, 0o600)


def test_a_key_is_not_shown_by_accident() -> None:
    assert repr(Connection("http://127.0.0.1:8080", "rq_key")) == "Connection('http://127.0.0.1:8080')"


@pytest.mark.parametrize("text", ["", "[]", '{"url": "http://x"}', "\x00"])
def test_a_file_that_is_damaged_is_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "connection.json").write_text(text)
    assert connection.read(tmp_path) is None
