"""The notice among a reply's bubbles: in which words, and put in front when it has become due since the decision."""

from pipelines.delivery import notice
from workers.adapters.postgres.jobs import Job, tell
from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.transaction import Row, Transaction, sql

# What a worker was preparing is not the next to leave any more: it is prepared again, as after a move.
_LEAD = sql("""
WITH behind AS (
  UPDATE candidates SET ordinal = ordinal + 1, state = 'held' WHERE job_id = :job AND state IN ('held', 'preparing')
)
INSERT INTO candidates (org_id, job_id, conversation_id, ordinal, kind, state, text)
VALUES (:org, :job, :conversation, :ordinal, 'notice', 'held', :text)
""")


def worded(conversation: Locked, contact_locale: str | None) -> notice.Notice:
    spec = conversation.persona.spec
    languages = [contact_locale, spec.language, conversation.organization.spec.locale]
    return notice.worded(spec.disclosure, spec.display_name or conversation.persona.name, languages)


def is_due(conversation: Locked, look: Row) -> bool:
    """`look` knows `noticed_at`."""
    return notice.is_due(conversation.persona.spec.disclosure, look.noticed_at, conversation.now)


async def lead(tx: Transaction, conversation: Locked, job: Job, look: Row) -> None:
    """Puts it in front of the bubble that `look` found, which was to leave next."""
    words = worded(conversation, look.locale)
    await tx.run(
        _LEAD, org=conversation.org, job=job.id, conversation=conversation.id, ordinal=look.ordinal, text=words.text
    )
    await tell(tx, conversation, job, "notice_due", "worker", notice=words.version, language=words.language)
