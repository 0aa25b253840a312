"""The database schema. Only the PostgreSQL adapter and the migrations read it."""

from schemas.tables.base import Table
from schemas.tables.delivery import CandidateRow, DeadLetterRow, DeliveryRow
from schemas.tables.people import ApiKeyRow, AuditRow, ContactRow, InstallationRow, OrganizationRow, PersonaRow
from schemas.tables.strategy import IntentRow, RuleRow
from schemas.tables.talk import ConversationRow, MessageRow
from schemas.tables.work import JobEventRow, JobRow, LedgerRow, RunRow, RunStepRow

__all__ = [
    "ApiKeyRow",
    "AuditRow",
    "CandidateRow",
    "ContactRow",
    "ConversationRow",
    "DeadLetterRow",
    "DeliveryRow",
    "InstallationRow",
    "IntentRow",
    "JobEventRow",
    "JobRow",
    "LedgerRow",
    "MessageRow",
    "OrganizationRow",
    "PersonaRow",
    "RuleRow",
    "RunRow",
    "RunStepRow",
    "Table",
]
