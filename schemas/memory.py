"""What is remembered: documents that an organisation gives, and what contacts said of themselves."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from schemas.ids import ContactId, OrgId, PersonaId


class Scope(StrEnum):
    """Whom a document is for: every persona, one persona, or conversations with one contact."""

    ORGANIZATION = "organization"
    PERSONA = "persona"
    CONTACT = "contact"


class Recalled(StrEnum):
    KNOWLEDGE = "knowledge"
    """A piece of a document."""
    MEMORY = "memory"
    """What a contact said, or a document about one contact."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Who looks something up: nobody sees what belongs to another organisation, persona or contact."""

    org: OrgId
    persona: PersonaId
    contact: ContactId


@dataclass(frozen=True, slots=True)
class Found:
    """One passage. `title` is its document's; `said_at` is when the contact said it."""

    kind: Recalled
    text: str
    title: str = ""
    said_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a text, ready to be found: `folded` by its words, `vector` by its meaning."""

    text: str
    folded: str
    vector: tuple[float, ...]
