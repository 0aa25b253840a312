"""The local checks of a bubble, made when it is queued. Each says what to change."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipelines.autoreply import leaks
from pipelines.autoreply.repeats import is_repeat
from pipelines.text import holds
from schemas.resources import PersonaLimits


@dataclass(frozen=True, slots=True)
class LocalChecks:
    """`sent` are the texts that left in this conversation. Off for tests only."""

    limits: PersonaLimits
    sent: Sequence[str] = ()
    on: bool = True

    def first_broken(self, text: str, queued: Sequence[str]) -> str | None:
        """A sentence about the first rule that `text` breaks, or None."""
        if not self.on:
            return None
        return (
            self._count(queued) or self._length(text) or self._words(text) or _leak(text) or self._repeat(text, queued)
        )

    def _count(self, queued: Sequence[str]) -> str | None:
        most = self.limits.max_bubbles
        if len(queued) < most:
            return None
        return f"{most} bubbles are queued, the most a reply may hold. End your turn, or call clear_messages first."

    def _length(self, text: str) -> str | None:
        most = self.limits.max_chars
        if len(text) <= most:
            return None
        return f"The text has {len(text)} characters, at most {most} are allowed. Shorten it or split it in two."

    def _words(self, text: str) -> str | None:
        word = banned_word(text, self.limits.banned_words)
        return None if word is None else f"The word {word!r} is banned here. Say it another way."

    def _repeat(self, text: str, queued: Sequence[str]) -> str | None:
        if is_repeat(text, queued):
            return "This bubble is already queued in this reply. Write something else, or end your turn."
        if is_repeat(text, self.sent):
            return "This was already said in this conversation. Say something new."
        return None


def banned_word(text: str, words: Iterable[str]) -> str | None:
    """The first of `words` in `text`, as whole words, without case and accents."""
    return next((word for word in words if holds(text, word)), None)


def _leak(text: str) -> str | None:
    if kind := leaks.markup_in(text):
        return f"The text holds {kind}. Write only what the contact should read."
    if leaks.internal_in(text):
        return "The text speaks of tools or instructions. Write only what the contact should read."
    return None
