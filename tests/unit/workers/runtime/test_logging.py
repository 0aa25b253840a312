"""A log line says what happened and where, and nothing that a person wrote."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from schemas.errors import Unavailable
from workers.runtime.logging import configure, logger


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    stream = io.StringIO()
    configure("INFO", json=True, stream=stream)
    yield stream
    root.handlers = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def fail(text: str) -> None:
    try:
        raise ValueError(text)
    except ValueError as error:
        raise Unavailable("the database does not answer") from error


def test_a_fault_is_told_by_its_types_and_places(lines: io.StringIO) -> None:
    try:
        fail("coucou, my secret")
    except Unavailable:
        logger("test").exception("fault", job=1)

    said = json.loads(lines.getvalue())
    assert said["error"] == "Unavailable: AR-503 the database does not answer < ValueError"
    assert [place.rpartition(" ")[2] for place in said["at"]] == [
        "test_a_fault_is_told_by_its_types_and_places",
        "fail",
    ]
    assert (said["event"], said["job"], "secret" in lines.getvalue()) == ("fault", 1, False)


def test_libraries_go_the_same_way(lines: io.StringIO) -> None:
    try:
        raise ValueError("my secret")
    except ValueError:
        logging.getLogger("some.library").exception("it broke")

    said = json.loads(lines.getvalue())
    assert (said["event"], said["logger"], said["error"]) == ("it broke", "some.library", "ValueError")
    assert "secret" not in lines.getvalue()


def test_readable_lines_need_no_terminal() -> None:
    stream = io.StringIO()
    configure("WARNING", json=False, stream=stream)

    logger("test").warning("redis_away", queue="reply")
    logger("test").info("not told")

    assert "redis_away" in stream.getvalue()
    assert "\x1b[" not in stream.getvalue()
    assert "not told" not in stream.getvalue()
