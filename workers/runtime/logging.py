"""structlog set-up: one event and its facts a line, readable or JSON; the standard library's loggers go the same way.

Texts that people wrote must not reach a log, and exceptions of libraries quote them (a refused statement carries its
parameters). So a traceback is logged as the types and the places, without messages.
"""

import logging
import sys
import traceback
from types import TracebackType
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from schemas.errors import AppError
from schemas.settings import SettingsRefused

QUIET = ("dramatiq", "httpx2", "httpcore2", "sqlalchemy", "alembic", "asyncio", "anthropic", "redis")
"""Libraries that tell too much at INFO, addresses and parameters among it."""


OURS = (AppError, SettingsRefused)
"""Errors whose sentences are our own."""


def logger(name: str) -> Any:
    return structlog.get_logger(name)


def configure(level: str = "INFO", json: bool = False, stream: TextIO | None = None) -> None:
    """Set up this process. Lines go to standard error: standard output belongs to commands."""
    target = stream or sys.stderr
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        named_exception,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    renderer: Processor = (
        structlog.processors.JSONRenderer() if json else structlog.dev.ConsoleRenderer(colors=target.isatty())
    )
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for name in QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


def named_exception(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace `exc_info` by what it is and where it was raised."""
    found = event.pop("exc_info", None)
    error = sys.exception() if found is True else found[1] if isinstance(found, tuple) else found
    if isinstance(error, BaseException):
        event["error"] = " < ".join(_names(error))
        event["at"] = _places(error.__traceback__)
    return event


def _names(error: BaseException) -> list[str]:
    """The error and what caused it. Sentences of our own errors are ours; others are left out."""
    names: list[str] = []
    seen: BaseException | None = error
    while seen is not None and len(names) < 5:
        names.append(f"{type(seen).__name__}: {seen}" if isinstance(seen, OURS) else type(seen).__qualname__)
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return names


def _places(tb: TracebackType | None) -> list[str]:
    frames = traceback.extract_tb(tb)[-12:]
    return [f"{frame.filename.rsplit('site-packages/')[-1]}:{frame.lineno} {frame.name}" for frame in frames]
