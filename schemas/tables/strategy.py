"""The rules and intents of organisations. `organizations.strategy_version` counts their changes."""

from sqlalchemy import UniqueConstraint
from sqlalchemy.orm import Mapped

from schemas.tables.base import Facts, Key, Ref, Stamp, Str, Table


class RuleRow(Table):
    __tablename__ = "rules"

    id: Mapped[Key]
    org_id: Mapped[Ref]
    name: Mapped[Str]
    spec: Mapped[Facts]
    updated_at: Mapped[Stamp]

    __table_args__ = (UniqueConstraint("org_id", "name"),)


class IntentRow(Table):
    __tablename__ = "intents"

    id: Mapped[Key]
    org_id: Mapped[Ref]
    name: Mapped[Str]
    spec: Mapped[Facts]
    updated_at: Mapped[Stamp]

    __table_args__ = (UniqueConstraint("org_id", "name"),)
