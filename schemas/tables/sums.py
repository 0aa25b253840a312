"""What dashboards are told: running sums, and the changes that are not yet in them."""

from datetime import date
from decimal import Decimal
from typing import Annotated

from sqlalchemy import BigInteger, Numeric, Text, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from schemas.tables.base import Count, Ref, Str, Table

Labels = Annotated[list[str], mapped_column(ARRAY(Text))]
Number = Annotated[int, mapped_column(BigInteger, server_default=text("0"))]
Money = Annotated[Decimal, mapped_column(Numeric, server_default=text("0"))]


class _Sums:
    """`labels` in the order of the metric's. `n` things of that kind, together `amount` seconds or answers; what
    calls read, wrote and cost."""

    n: Mapped[Number]
    amount: Mapped[float] = mapped_column(server_default=text("0"))
    input: Mapped[Number]
    cache_read: Mapped[Number]
    cache_write: Mapped[Number]
    output: Mapped[Number]
    usd: Mapped[Money]
    eur: Mapped[Money]


class TotalRow(_Sums, Table):
    """The sums of all tallies that were folded."""

    __tablename__ = "totals"

    metric: Mapped[Str] = mapped_column(primary_key=True)
    labels: Mapped[Labels] = mapped_column(primary_key=True)


class TallyRow(_Sums, Table):
    """One change, written by a trigger in the transaction that made it, and deleted when it is folded.

    The table has no key: nothing refers to a row, and an index would be written on the path of every job.
    """

    __tablename__ = "tallies"

    metric: Mapped[Str]
    labels: Mapped[Labels]

    __mapper_args__ = {"primary_key": ["metric", "labels"]}  # noqa: RUF012


class SpendingRow(Table):
    """US dollars of one organisation and month of its own time zone: paid and set aside, as triggers on
    the ledger keep it. Only of organisations with a budget for the month or a plan with a price."""

    __tablename__ = "spending"

    org_id: Mapped[Ref] = mapped_column(primary_key=True)
    month: Mapped[date] = mapped_column(primary_key=True)
    usd: Mapped[Money]


class QuotaCountRow(Table):
    """Places of one organisation's plan in a month of its own time zone that jobs hold. `told`: the limit whose end
    the organisation has been told of."""

    __tablename__ = "quota_counts"

    org_id: Mapped[Ref] = mapped_column(primary_key=True)
    month: Mapped[date] = mapped_column(primary_key=True)
    used: Mapped[Count]
    told: Mapped[int | None]
