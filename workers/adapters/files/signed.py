"""Files by signed link, for who has no key: the worker signs, any gateway opens."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from pipelines.ports import Clock, Files
from schemas.errors import AppError, Code, NotSigned
from schemas.media import BadFileKey, FileMissing, FileStream, key_of
from workers.adapters.files.links import LIFETIME, FileLinks

Secret = Callable[[], Awaitable[str]]


class LinkExpired(AppError):
    code, http_status = Code.EXPIRED, HTTPStatus.GONE.value


class SignedFiles:
    """`secret` answers the installation's, and may raise `Unavailable`."""

    def __init__(self, files: Files, secret: Secret, public_url: str, clock: Clock) -> None:
        self._files = files
        self._secret = secret
        self._public_url = public_url
        self._clock = clock
        self._links: FileLinks | None = None

    async def url(self, key: str) -> str:
        """Opens the file for seven days."""
        return (await self.signer())(key)

    async def signer(self) -> Callable[[str], str]:
        """Answers `url` for any key, from now on without waiting. Raises `Unavailable`."""
        links = await self._signer()
        expires = self._clock.now() + LIFETIME
        return lambda key: links.url(key, expires)

    async def open(self, file_id: str, expires: str, signature: str) -> FileStream:
        """As they stand in a URL. Raises Forbidden, LinkExpired, FileMissing, FilesUnavailable."""
        try:
            key = key_of(file_id)
        except BadFileKey:
            raise FileMissing("there is no such file") from None
        links = await self._signer()
        if not links.signed(key, expires, signature):
            raise NotSigned("this link was not made here, or was changed")
        if not links.verify(key, expires, signature, self._clock.now()):
            raise LinkExpired(f"this link was good for {LIFETIME.days} days, and they are over")
        return await self._files.stream(key)

    async def _signer(self) -> FileLinks:
        if self._links is None:
            self._links = FileLinks(self._public_url, await self._secret())
        return self._links
