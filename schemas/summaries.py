"""What was said before the window of a conversation begins, in a few sentences."""

from dataclasses import dataclass
from datetime import datetime

from schemas.conversation import Turn
from schemas.ids import ConversationId, OrgId
from schemas.llm import SettledCall
from schemas.resources import OrganizationSpec


@dataclass(frozen=True, slots=True)
class Folding:
    """Turns that the next step of a window will cut, claimed to be summed up with what was summed up before.

    They are those before position `until`; `before` is the position that the summary `known` reaches, 0 without one.
    `read_at`: the database's time when they were read. Everything done with it names the fence.
    """

    chore: int
    fence: int
    conversation: ConversationId
    org: OrgId
    organization: OrganizationSpec
    pipeline: str
    until: int
    turns: tuple[Turn, ...]
    read_at: datetime
    known: str | None = None
    before: int = 0
    tries: int = 0
    """How often it failed in a row."""


@dataclass(frozen=True, slots=True)
class Summed:
    text: str
    call: SettledCall
