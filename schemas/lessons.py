"""What a lesson is about, and what it found: facts that a contact told of themselves."""

from dataclasses import dataclass
from datetime import datetime

from schemas.ids import ConversationId, MessageId, OrgId
from schemas.llm import SettledCall
from schemas.memory import Asker, Passage
from schemas.resources import OrganizationSpec


@dataclass(frozen=True, slots=True)
class Heard:
    """A message of a contact as it stood when it was read. `at`: when it was written or last changed."""

    message: MessageId
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Lesson:
    """A conversation that has come to rest, claimed to learn from: what the contact said since the last time, oldest
    first, and what is remembered already. Everything done with it names the fence."""

    chore: int
    fence: int
    conversation: ConversationId
    asker: Asker
    organization: OrganizationSpec
    pipeline: str
    language: str
    heard: tuple[Heard, ...]
    known: tuple[str, ...] = ()
    tries: int = 0
    """How often it failed in a row."""

    @property
    def org(self) -> OrgId:
        return self.asker.org


@dataclass(frozen=True, slots=True)
class Fact:
    """Something a contact told of themselves, and in which message."""

    source: Heard
    passage: Passage


@dataclass(frozen=True, slots=True)
class Learnt:
    """`model` made the vectors."""

    facts: tuple[Fact, ...]
    model: str
    call: SettledCall


@dataclass(frozen=True, slots=True)
class NotLearnt:
    """The model gave no answer that can be used. `pause` in seconds, if it named one; `final`: the same request would
    fail again. `call`: what the attempt cost, if one was made."""

    sentence: str
    call: SettledCall | None = None
    pause: float | None = None
    final: bool = False
