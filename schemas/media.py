"""Stored files: what they are called, what comes back, and how it can fail."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import ClassVar

from schemas.errors import AppError, Code

_SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
_KEY = re.compile(rf"{_SEGMENT}(/{_SEGMENT})*")
MAX_KEY = 400


@dataclass(frozen=True, slots=True)
class MediaRef:
    """A photo or a video by its upstream name, and where its file lies. `type`: photo or video."""

    id: str
    url: str
    type: str


@dataclass(frozen=True, slots=True)
class StoredFile:
    content: bytes
    mime: str


@dataclass(frozen=True, slots=True)
class FileStream:
    """`size` in bytes. Closing the iterator early lets the connection go."""

    size: int
    mime: str
    chunks: AsyncIterator[bytes]


class BadFileKey(AppError):
    """A key that could leave its folder, or that some store would not keep as it is."""

    code, http_status = Code.INVALID, 422


class FileMissing(AppError):
    code, http_status = Code.GONE, 404


class FilesUnavailable(AppError):
    """The store is away, full, or refuses us: the caller should come back."""

    code, http_status = Code.UNAVAILABLE, 503
    retryable: ClassVar[bool] = True

    def __init__(self, sentence: str, **facts: object) -> None:
        super().__init__(sentence, **{"retry_after": 2, **facts})


def checked_key(key: str) -> str:
    """The key itself: segments of letters, digits, `.`, `_`, `-`, none of which starts with a dot.

    So no key climbs out of the folder, hides, or clashes with what a store keeps beside the files.
    """
    if len(key) > MAX_KEY or _KEY.fullmatch(key) is None:
        raise BadFileKey("not a file key: segments of A-Z a-z 0-9 . _ - joined by /, at most 400 characters")
    return key


def file_id(key: str) -> str:
    """A key as one URL segment, as in `/v1/files/{id}`; `key_of` undoes it."""
    return checked_key(key).replace("/", "~")


def key_of(file_id: str) -> str:
    """Raises `BadFileKey`. Only what `file_id` makes is taken: a key has one id."""
    if "/" in file_id:
        raise BadFileKey("not a file id")
    return checked_key(file_id.replace("~", "/"))
