"""What is to be erased, batch after batch: erasures that were asked for, files without a bubble, what is too old."""

from typing import Protocol

from pipelines.ports import Files
from schemas.media import FilesUnavailable
from workers.adapters.postgres.erasures import Batch
from workers.adapters.postgres.retention import Sweep
from workers.runtime.logging import logger

log = logger(__name__)


class Erasing(Protocol):
    async def advance(self) -> Batch | None: ...
    async def sweep(self) -> Sweep | None: ...
    async def doomed(self) -> list[str]: ...
    async def still_heard(self, key: str) -> bool: ...
    async def file_gone(self, key: str) -> None: ...
    async def file_failed(self, key: str, error: str) -> None: ...


class Sweeper:
    """One call is one batch of each. Raises Unavailable. Logs hold numbers and counts, never what was erased."""

    def __init__(self, rows: Erasing, files: Files) -> None:
        self._rows = rows
        self._files = files

    async def __call__(self) -> bool:
        """Whether something was erased, so that there may be more."""
        batch = await self._rows.advance()
        files = await self._doomed_files()
        swept = await self._rows.sweep()
        if batch is not None:
            _tell_of(batch)
        if swept is not None and (swept.rows or swept.expired):
            log.info("retention_swept", org=swept.org, contacts=swept.expired, **swept.rows)
        erased = batch is not None and (batch.finished or bool(batch.rows))
        return erased or files > 0 or swept is not None

    async def _doomed_files(self) -> int:
        """The file first, then its row: whoever dies in between deletes a file that is gone, which is no error."""
        erased = 0
        for key in await self._rows.doomed():
            try:
                if not await self._rows.still_heard(key):
                    await self._files.delete(key)
            except FilesUnavailable as error:
                log.warning("file_not_erased", reason=error.sentence)
                await self._rows.file_failed(key, error.sentence)
            else:
                await self._rows.file_gone(key)
                erased += 1
        return erased


def _tell_of(batch: Batch) -> None:
    if batch.finished:
        log.info("erasure_finished", erasure=batch.erasure)
    elif batch.rows:
        log.info("erasure_batch", erasure=batch.erasure, **batch.rows)
