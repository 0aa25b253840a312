"""Files on obstore: one folder or one S3 bucket, whatever the address says."""

import contextlib
from collections.abc import AsyncIterator, Iterator

import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import LocalStore, ObjectStore

from schemas.media import FileMissing, FileStream, FilesUnavailable, StoredFile, checked_key

CHUNK_BYTES = 256 * 1024
UNKNOWN_MIME = "application/octet-stream"
# No key starts with a dot, so none of them can meet these.
LABELS = ".mime/"


class ObjectFiles:
    """The port `Files`. A bucket keeps the media type with the file; a folder cannot, so it gets a label beside it."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._labelled = isinstance(store, LocalStore)

    async def put(self, key: str, content: bytes, mime: str) -> None:
        path = checked_key(key)
        with _named_errors(missing=FilesUnavailable("the bucket of STORAGE_URL does not exist")):
            if not self._labelled:
                await obstore.put_async(self._store, path, content, attributes={"Content-Type": mime})
                return
            # The label first: a file that can be seen always has one.
            await obstore.put_async(self._store, LABELS + path, mime.encode())
            await obstore.put_async(self._store, path, content)

    async def get(self, key: str) -> StoredFile:
        path = checked_key(key)
        with _named_errors():
            found = await obstore.get_async(self._store, path)
            content = bytes(await found.bytes_async())
        return StoredFile(content, await self._mime(path, found))

    async def stream(self, key: str) -> FileStream:
        path = checked_key(key)
        with _named_errors():
            found = await obstore.get_async(self._store, path)
            size = found.meta["size"]
        return FileStream(size, await self._mime(path, found), _chunks(found))

    async def exists(self, key: str) -> bool:
        path = checked_key(key)
        try:
            with _named_errors():
                await obstore.head_async(self._store, path)
        except FileMissing:
            return False
        return True

    async def delete(self, key: str) -> None:
        path = checked_key(key)
        for each in [path, LABELS + path] if self._labelled else [path]:
            with contextlib.suppress(FileMissing), _named_errors():
                await obstore.delete_async(self._store, each)

    async def _mime(self, path: str, found: "obstore.GetResult") -> str:
        if not self._labelled:
            return str(found.attributes.get("Content-Type", UNKNOWN_MIME))
        try:
            with _named_errors():
                label = await obstore.get_async(self._store, LABELS + path)
                return bytes(await label.bytes_async()).decode()
        except FileMissing:
            return UNKNOWN_MIME


async def _chunks(found: "obstore.GetResult") -> AsyncIterator[bytes]:
    with _named_errors():
        async for chunk in found.stream(min_chunk_size=CHUNK_BYTES):
            yield bytes(chunk)


@contextlib.contextmanager
def _named_errors(missing: Exception | None = None) -> Iterator[None]:
    """The library's errors quote paths and the store's answer; ours name the kind alone."""
    try:
        yield
    except (NotFoundError, FileNotFoundError):  # the library raises now the one, now the other
        raise missing or FileMissing("no such file") from None
    except (BaseError, OSError) as error:
        kind = type(error).__name__.removesuffix("Error")
        raise FilesUnavailable(f"the file store did not do it ({kind})", kind=kind) from None
