"""Why a command did not do what it was asked, each with its exit code: 1 it failed, 2 it was asked wrongly."""

from collections.abc import Collection, Mapping
from typing import ClassVar


class CommandFailed(Exception):
    """The message is one sentence for the person at the terminal."""

    exit_code: ClassVar[int] = 1


class AskedWrongly(CommandFailed):
    exit_code = 2


class NotConnected(AskedWrongly):
    """No gateway is known: neither in the environment nor in this folder."""


class GatewayAway(CommandFailed):
    """The gateway does not answer, or something that is no gateway did."""


class GatewayRefused(CommandFailed):
    """A problem document: its code and sentence, the names of refused fields, and the members beyond the standard."""

    def __init__(
        self, code: str, sentence: str, facts: Mapping[str, object], fields: Collection[str] = frozenset()
    ) -> None:
        super().__init__(f"{code} {sentence}")
        self.code = code
        self.sentence = sentence
        self.facts = facts
        self.fields = fields


class PortTaken(CommandFailed):
    def __init__(self, host: str, port: int) -> None:
        super().__init__(f"port {port} of {host} is in use: stop what listens there, or choose another with --port")


class FolderTaken(CommandFailed):
    def __init__(self, folder: object, holder: str) -> None:
        super().__init__(
            f"`replique up` already runs in {folder} (process {holder}): stop it, or start in another folder"
        )


class DidNotStart(CommandFailed):
    """A part of the system does not come up; the end of its log tells why."""


class StoryBroken(CommandFailed):
    """The demo did not show what it promises."""


class Interrupted(CommandFailed):
    """Somebody asked it to stop before it was done."""

    def __init__(self) -> None:
        super().__init__("interrupted")


def as_failure(error: Exception) -> CommandFailed | None:
    """Failures of the layers below that a sentence explains; None is a fault of ours and keeps its traceback."""
    if isinstance(error, CommandFailed):
        return error
    from schemas.errors import AppError
    from schemas.settings import SettingsRefused

    if isinstance(error, SettingsRefused):
        return AskedWrongly(f"settings refused: {error}")
    if isinstance(error, AppError):
        return CommandFailed(str(error))
    from workers.runtime.embedded import EmbeddedServerError

    return CommandFailed(str(error)) if isinstance(error, EmbeddedServerError) else None
