"""The messages of a conversation that a prompt can hold."""

from collections.abc import Sequence
from decimal import Decimal

from schemas.conversation import Attachment, Author, BubbleKind, Turn
from schemas.ids import CandidateId, ConversationId
from schemas.money import Price
from workers.adapters.postgres.transaction import Row, Transaction, sql

# A bubble counts as said when it was sent, or when its receiver may have shown it although no answer came back: also
# one that was given up since.
MAY_BE_SHOWN = "EXISTS (SELECT 1 FROM deliveries d WHERE d.candidate_id = k.id AND d.ambiguous)"
SAID = f"(k.state = 'sent' OR {MAY_BE_SHOWN})"

# What no prompt holds takes no place: system lines, notices, messages without a word.
_NEWEST = sql(f"""
SELECT m.position, m.author, m.text, m.created_at, m.kind, m.attachments, m.candidate_id, m.seq, k.media, k.price
FROM messages m
LEFT JOIN candidates k ON k.id = m.candidate_id
WHERE m.conversation_id = :conversation AND m.deleted_at IS NULL AND m.author <> 'system' AND m.kind <> 'notice'
  AND (m.author <> 'contact' OR m.attachments IS NOT NULL OR m.text ~ '\\S')
  AND (m.candidate_id IS NULL OR {SAID})
ORDER BY m.position DESC LIMIT :most
""")


async def newest(tx: Transaction, conversation: ConversationId, most: int) -> Sequence[Row]:
    """At most so many, oldest first."""
    return list(reversed(await tx.all(_NEWEST, conversation=conversation, most=most)))


def of_row(row: Row, covered: int | None) -> Turn:
    """`covered`: up to which count of the contact's messages they are answered; None: all are."""
    return Turn(
        position=row.position,
        author=Author(row.author),
        text=row.text,
        at=row.created_at,
        kind=BubbleKind(row.kind),
        attachments=tuple(Attachment(item["type"], item["url"]) for item in row.attachments or ()),
        candidate=None if row.candidate_id is None else CandidateId(row.candidate_id),
        media=tuple(item["id"] for item in row.media or ()),
        price=None if row.price is None else Price(Decimal(row.price["amount"]), row.price["currency"]),
        answered=covered is None or row.author != Author.CONTACT or row.seq <= covered,
    )
