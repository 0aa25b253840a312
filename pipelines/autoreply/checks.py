"""The local checks of a bubble, made when it is queued. Each says what to change."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pipelines.autoreply import leaks
from pipelines.autoreply.repeats import Sayings
from pipelines.text import holds, length
from schemas.resources import PersonaLimits
from schemas.speech import MAX_CHARACTERS


@dataclass(frozen=True, slots=True)
class LocalChecks:
    """`sent` are the texts that left in this conversation, `vocals_today` and `links_today` the contact's voice bubbles
    and payment links of 24 hours. Off for tests only."""

    limits: PersonaLimits
    sent: Sequence[str] = ()
    on: bool = True
    vocals_today: int = 0
    links_today: int = 0
    _sayings: Sayings = field(default_factory=Sayings, repr=False, compare=False)

    def first_broken(self, text: str, queued: Sequence[str]) -> str | None:
        """A sentence about the first rule that `text` breaks, or None."""
        if not self.on:
            return None
        return (
            self._count(queued) or self._length(text) or self._words(text) or _leak(text) or self._repeat(text, queued)
        )

    def voice_broken(self, text: str, vocals_queued: int) -> str | None:
        """What a text must keep besides to be spoken. The daily count is a promise to the contact: never off."""
        most = self.limits.max_vocal_per_day
        if self.vocals_today + vocals_queued >= most:
            return f"{most} voice bubbles a day are the most for one contact, and that is reached. Use send_message."
        if not any(character.isalnum() for character in text):
            return "There is no word in the text that could be spoken. Write one, or use send_message."
        if len(text) > MAX_CHARACTERS:
            return f"A voice bubble holds at most {MAX_CHARACTERS} characters. Shorten it or split it in two."
        return None

    def links_broken(self, links_queued: int) -> str | None:
        """The daily count is a promise to the contact: never off."""
        most = self.limits.links_per_day
        if self.links_today + links_queued < most:
            return None
        return f"{most} payment links a day are the most for one contact, and that is reached. Reply without one."

    def full(self, queued: Sequence[str]) -> str | None:
        """For a bubble without words: the reply holds no more."""
        return self._count(queued) if self.on else None

    def _count(self, queued: Sequence[str]) -> str | None:
        most = self.limits.max_bubbles
        if len(queued) < most:
            return None
        return f"{most} bubbles are queued, the most a reply may hold. End your turn, or call clear_messages first."

    def _length(self, text: str) -> str | None:
        most, count = self.limits.max_chars, length(text)
        if count <= most:
            return None
        return f"The text has {count} characters, at most {most} are allowed. Shorten it or split it in two."

    def _words(self, text: str) -> str | None:
        word = banned_word(text, self.limits.banned_words)
        return None if word is None else f"The word {word!r} is banned here. Say it another way."

    def _repeat(self, text: str, queued: Sequence[str]) -> str | None:
        if self._sayings.is_repeat(text, queued):
            return "This bubble is already queued in this reply. Write something else, or end your turn."
        if self._sayings.is_repeat(text, self.sent):
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
