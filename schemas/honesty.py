"""What a contact said that stops the AI for good, until a person or the contact says otherwise."""

from dataclasses import dataclass

SELF_HARM = "self_harm"


@dataclass(frozen=True, slots=True)
class Alarm:
    """The names of the rules that fired. `stop`: no more messages are wanted. `danger`: a minor, or self-harm.

    `message` is the upstream app's id of what was said, `position` its place in the conversation: one of them is known.
    """

    stop: str | None = None
    danger: str | None = None
    message: str | None = None
    position: int | None = None

    @property
    def reason(self) -> str:
        """Why a job of it fails: a machine token."""
        return SELF_HARM if self.danger == SELF_HARM else "minor_signal"
