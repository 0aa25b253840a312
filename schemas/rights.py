"""What a contact may ask for: everything held about them, and that it be erased."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import Field

from schemas.http import Body


class ErasureState(StrEnum):
    RUNNING = "running"
    DONE = "done"


class StoreState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    """It does not do it now; it is tried again, and the erasure is not done before."""


class StoreReceipt(Body):
    """`rows` were erased so far. `note`: what is kept of them, and why; or what the store says against it."""

    store: str
    state: StoreState
    rows: int
    note: str | None = None


class ErasureOut(Body):
    """How far an erasure is. It names nobody: `id` is what to ask again with."""

    id: str
    state: ErasureState
    asked_at: datetime
    finished_at: datetime | None
    stores: list[StoreReceipt]


class ExportOut(Body):
    """Everything held about one contact, as it is stored, each list oldest first.

    `contact` is who they are; `conversations` hold `messages` and `jobs` (with bubbles, events and runs with their
    steps); the other lists hold what belongs to the contact as a whole. Times are RFC 3339, amounts decimal strings.
    """

    exported_at: datetime
    organization: str
    contact: dict[str, Any]
    consents: list[dict[str, Any]] = Field(description="What they said no and yes to, and who opened a safety lock.")
    conversations: list[dict[str, Any]]
    documents: list[dict[str, Any]] = Field(description="Documents about this contact.")
    memories: list[dict[str, Any]] = Field(description="Facts that were learned from what they wrote.")
    media: list[dict[str, Any]] = Field(description="What they received, were offered and bought.")
    payments: list[dict[str, Any]]
    model_calls: list[dict[str, Any]] = Field(description="Calls of models made for them, with tokens and cost.")
