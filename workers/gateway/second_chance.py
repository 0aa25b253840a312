"""Dead letters are tried again or thrown away, one by one or all that a filter finds."""

from collections.abc import Awaitable, Callable

from schemas.answers import LetterRefused, LettersPurged, LettersRetried
from schemas.errors import Conflict, NotFound, Unavailable
from schemas.ids import DeadLetterId, OrgId, reference
from workers.adapters.postgres.transitions import Transitions
from workers.adapters.postgres.views.dead_letters import DeadLetters, LetterFilter

PutOnQueue = Callable[[str, bytes], Awaitable[bool]]
"""Queue and message; False: Redis does not answer."""

AGAIN_SECONDS = 2


class SecondChance:
    def __init__(self, transitions: Transitions, letters: DeadLetters, put: PutOnQueue) -> None:
        self._transitions = transitions
        self._letters = letters
        self._put = put

    async def retry(self, org: OrgId | None, letter: DeadLetterId, who: str) -> None:
        """A queue message is put back first and settled then: at worst it is there twice. Raises NotFound, TooLate,
        Unavailable (Redis does not answer)."""
        message = await self._transitions.retry_letter(org, letter, who)
        if message is None:
            return
        if not await self._put(message.queue, message.message.encode()):
            raise Unavailable("Redis does not answer: the message is not on its queue", retry_after=AGAIN_SECONDS)
        await self._transitions.letter_requeued(org, letter, who)

    async def retry_all(
        self, org: OrgId | None, wanted: LetterFilter, cursor: str | None, limit: int, who: str
    ) -> LettersRetried:
        """Each in a transaction of its own: one that comes too late stays, and does not stop the others."""
        found, following = await self._letters.find(org, wanted, cursor, limit)
        retried, refused = [], []
        for letter in found:
            try:
                await self.retry(org, letter, who)
                retried.append(reference("dead", letter))
            except (Conflict, NotFound) as late:
                refused.append(LetterRefused(id=reference("dead", letter), code=late.code, detail=late.sentence))
        return LettersRetried(retried=retried, refused=refused, next=following)

    async def purge_all(
        self, org: OrgId | None, wanted: LetterFilter, cursor: str | None, limit: int, who: str
    ) -> LettersPurged:
        found, following = await self._letters.find(org, wanted, cursor, limit)
        purged = await self._transitions.purge_letters(org, found, who, wanted.asked())
        return LettersPurged(purged=[reference("dead", letter) for letter in purged], next=following)
