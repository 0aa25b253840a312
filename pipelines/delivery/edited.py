"""An operator's words become bubbles as the agent's do: rendered for a chat, and cut where the channel's limit asks."""

from pipelines.text import LIMITS, is_blank, rendered, split
from schemas.channels import Channel
from schemas.conversation import BubbleKind
from schemas.errors import Invalid
from schemas.speech import MAX_CHARACTERS


def edited(words: str, was: str, kind: BubbleKind, channel: Channel) -> list[str]:
    """The texts that take the place of `was`, at least one; more than one only for text that is read.

    `words` are clean. Raises Invalid for words that nobody would see, and for what a voice could not say.
    """
    if is_blank(words):
        raise Invalid("nothing to read", [{"field": "text", "message": "a bubble needs a character that is seen"}])
    # Sent back unchanged, it was rendered before: what looks like a mark in it is none.
    text = words if words == was else rendered(words)
    if kind is BubbleKind.VOICE:
        _must_be_sayable(text)
    return split(text, LIMITS[channel]) if kind is BubbleKind.TEXT else [text]


def _must_be_sayable(text: str) -> None:
    if not any(character.isalnum() for character in text):
        raise Invalid("nothing to say aloud", [{"field": "text", "message": "a voice bubble needs a word"}])
    if len(text) > MAX_CHARACTERS:
        sentence = f"at most {MAX_CHARACTERS} characters are spoken at once"
        raise Invalid("too long for a voice bubble", [{"field": "text", "message": sentence}])
