"""Passwords as argon2id hashes, a few at a time: each takes 64 MB and some 50 ms of a core."""

import asyncio

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

_AT_ONCE = 2


class Passwords:
    """Belongs to one event loop; the work is done beside it."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher()  # the library's choice: RFC 9106, low-memory profile
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._nobody: str | None = None

    async def hash(self, password: str) -> str:
        async with self._turn:
            return await asyncio.to_thread(self._hasher.hash, password)

    async def matches(self, hashed: str | None, password: str) -> bool:
        """None: there is no such person, or no password yet. It takes as long, so nobody learns which."""
        if hashed is None:
            if self._nobody is None:
                self._nobody = await self.hash("nobody")
            await self._verify(self._nobody, password)
            return False
        return await self._verify(hashed, password)

    async def _verify(self, hashed: str, password: str) -> bool:
        async with self._turn:
            try:
                return await asyncio.to_thread(self._hasher.verify, hashed, password)
            except (VerificationError, InvalidHashError):
                return False
