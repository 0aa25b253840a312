"""The database schema. Only the PostgreSQL adapter and the migrations read it."""

from schemas.tables.base import Table
from schemas.tables.catalogue import AlbumRow, MediaFactRow, MediaRow, PaymentRow, ShownMediaRow
from schemas.tables.console import ConsoleSessionRow, SignInFailureRow, UserLinkRow, UserRow
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
from schemas.tables.rights import DoomedFileRow, ErasureRow, RetentionPassRow
from schemas.tables.strategy import IntentRow, RuleRow
from schemas.tables.sums import QuotaCountRow, SpendingRow, TallyRow, TotalRow
from schemas.tables.talk import ConversationRow, MessageRow, SummaryRow
from schemas.tables.work import ChoreRow, JobEventRow, JobRow, LedgerRow, RunRow, RunStepRow

__all__ = [
    "AlbumRow",
    "ApiKeyRow",
    "AuditRow",
    "CandidateRow",
    "ChoreRow",
    "ChunkRow",
    "ConsentRow",
    "ConsoleSessionRow",
    "ContactRow",
    "ConversationRow",
    "DeadLetterRow",
    "DeliveryRow",
    "DocumentRow",
    "DoomedFileRow",
    "ErasureRow",
    "InstallationRow",
    "IntentRow",
    "JobEventRow",
    "JobRow",
    "LedgerRow",
    "MediaFactRow",
    "MediaRow",
    "MessageRow",
    "OrganizationRow",
    "PaymentRow",
    "PersonaRow",
    "QuotaCountRow",
    "RetentionPassRow",
    "RuleRow",
    "RunRow",
    "RunStepRow",
    "ShownMediaRow",
    "SignInFailureRow",
    "SpendingRow",
    "SummaryRow",
    "Table",
    "TallyRow",
    "TotalRow",
    "UserLinkRow",
    "UserRow",
]
