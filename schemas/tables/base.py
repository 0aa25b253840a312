"""What every table shares: column shorthands, and the five columns that make a row its own outbox entry."""

from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import BigInteger, DateTime, Identity, MetaData, Text, text
from sqlalchemy.dialects.postgresql import JSON, JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

Key = Annotated[int, mapped_column(BigInteger, Identity(always=True), primary_key=True)]
Ref = Annotated[int, mapped_column(BigInteger)]
Str = Annotated[str, mapped_column(Text)]
Moment = Annotated[datetime, mapped_column(DateTime(timezone=True))]
Stamp = Annotated[datetime, mapped_column(DateTime(timezone=True), server_default=text("clock_timestamp()"))]
Facts = Annotated[dict[str, Any], mapped_column(JSONB)]
Bytes = Annotated[Any, mapped_column(JSON)]
"""json, not jsonb: the text is kept byte for byte."""
Flag = Annotated[bool, mapped_column(server_default=text("false"))]
Count = Annotated[int, mapped_column(server_default=text("0"))]


class Table(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "%(table_name)s_%(column_0_N_name)s",
            "uq": "%(table_name)s_%(column_0_N_name)s_key",
            "ck": "%(table_name)s_%(constraint_name)s_check",
            "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
            "pk": "%(table_name)s_pkey",
        }
    )


class Due:
    """A row with a due time is the outbox: the clock knows only these columns.

    `due_at`: when it may be worked on, null when nothing is to happen by itself. `dispatched_at`: a hint is in Redis
    since then. `fence`: bumped by every claim and every move away; work is finished only under the fence it began
    with. `lease_until`: somebody works on it until then, unless renewed; `leased_by` names the process. `crashes`:
    claims since the last sign of progress.
    """

    org_id: Mapped[Ref]
    queue: Mapped[Str]
    due_at: Mapped[Moment | None]
    dispatched_at: Mapped[Moment | None]
    fence: Mapped[Count]
    lease_until: Mapped[Moment | None]
    leased_by: Mapped[Str | None]
    crashes: Mapped[Count]


WAITS_FOR_CLOCK = text("dispatched_at IS NULL AND lease_until IS NULL AND due_at IS NOT NULL")
IN_FLIGHT = text("dispatched_at IS NOT NULL OR lease_until IS NOT NULL")
LEASED = text("lease_until IS NOT NULL")
