"""The database schema. Only the PostgreSQL adapter and the migrations read it."""

from schemas.tables.base import Table
from schemas.tables.delivery import CandidateRow, DeadLetterRow, DeliveryRow
from schemas.tables.memory import ChunkRow, DocumentRow
from schemas.tables.people import (
    ApiKeyRow,
    AuditRow,
    ConsentRow,
    ContactRow,
    InstallationRow,
    OrganizationRow,
    PersonaRow,
)
from schemas.tables.sums import TallyRow, TotalRow
from schemas.tables.talk import ConversationRow, MessageRow
from schemas.tables.work import ChoreRow, JobEventRow, JobRow, LedgerRow, RunRow, RunStepRow

__all__ = [
    "ApiKeyRow",
    "AuditRow",
    "CandidateRow",
    "ChoreRow",
    "ChunkRow",
    "ConsentRow",
    "ContactRow",
    "ConversationRow",
    "DeadLetterRow",
    "DeliveryRow",
    "DocumentRow",
    "InstallationRow",
    "JobEventRow",
    "JobRow",
    "LedgerRow",
    "MessageRow",
    "OrganizationRow",
    "PersonaRow",
    "RunRow",
    "RunStepRow",
    "Table",
    "TallyRow",
    "TotalRow",
]
