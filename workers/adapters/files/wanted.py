"""The file store of this installation, opened when a first file is wanted."""

from pathlib import Path

import structlog

from schemas.media import FileStream, FilesUnavailable, StoredFile
from schemas.settings import Settings, SettingsRefused
from workers.adapters.files.address import open_files
from workers.adapters.files.store import ObjectFiles

DEFAULT_FOLDER = ".replique/files"

log = structlog.get_logger(__name__)


class FilesWhenWanted:
    """The port `Files` on STORAGE_URL. A store that is named is opened at once, so that a wrong name stops the start;
    the default folder only when a file is wanted: most processes never touch one."""

    def __init__(self, settings: Settings) -> None:
        """Raises SettingsRefused."""
        self._opened = None if settings.storage_url is None else open_files(settings.storage_url)

    async def put(self, key: str, content: bytes, mime: str) -> None:
        await self._files().put(key, content, mime)

    async def get(self, key: str) -> StoredFile:
        return await self._files().get(key)

    async def stream(self, key: str) -> FileStream:
        return await self._files().stream(key)

    async def exists(self, key: str) -> bool:
        return await self._files().exists(key)

    async def delete(self, key: str) -> None:
        await self._files().delete(key)

    def _files(self) -> ObjectFiles:
        if self._opened is None:
            self._opened = _local_folder()
        return self._opened


def _local_folder() -> ObjectFiles:
    folder = Path(DEFAULT_FOLDER).absolute()
    log.warning("files_in_a_local_folder", folder=str(folder), hint="gateways and workers must share one STORAGE_URL")
    try:
        return open_files(str(folder))
    except SettingsRefused as refused:
        raise FilesUnavailable(str(refused)) from None
