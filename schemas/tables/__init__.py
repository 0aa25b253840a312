"""The database schema. Only the PostgreSQL adapter and the migrations read it."""

from schemas.tables.base import Table
from schemas.tables.catalogue import AlbumRow, MediaFactRow, MediaRow, PaymentRow, ShownMediaRow
from schemas.tables.delivery import CandidateRow, DeadLetterRow, DeliveryRow
from schemas.tables.people import ApiKeyRow, AuditRow, ContactRow, InstallationRow, OrganizationRow, PersonaRow
from schemas.tables.talk import ConversationRow, MessageRow
from schemas.tables.work import JobEventRow, JobRow, LedgerRow, RunRow, RunStepRow

__all__ = [
    "AlbumRow",
    "ApiKeyRow",
    "AuditRow",
    "CandidateRow",
    "ContactRow",
    "ConversationRow",
    "DeadLetterRow",
    "DeliveryRow",
    "InstallationRow",
    "JobEventRow",
    "JobRow",
    "LedgerRow",
    "MediaFactRow",
    "MediaRow",
    "MessageRow",
    "OrganizationRow",
    "PaymentRow",
    "PersonaRow",
    "RunRow",
    "RunStepRow",
    "ShownMediaRow",
    "Table",
]
