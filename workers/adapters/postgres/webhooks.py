"""Webhooks that are not bubbles: written to the outbox in the transaction that decides, due at once, unordered."""

from schemas.claims import Endpoint
from workers.adapters.postgres.locks import Locked

_INSERT = """
INSERT INTO deliveries (id, webhook_id, org_id, conversation_id, job_id, queue, type, body, state, due_at)
OVERRIDING SYSTEM VALUE
SELECT n.id, 'wh_' || (SELECT tag FROM installation ORDER BY id LIMIT 1) || '_e' || n.id, :org, :conversation, :job,
       'send', {type}, :{body}, 'waiting', clock_timestamp()
FROM (SELECT nextval('deliveries_id_seq') AS id FROM {of}) AS n
"""


def insert_for(of: str, type_: str, body: str) -> str:
    """SQL of one webhook per row of `of`; its frozen body is bound under the name `body`."""
    return _INSERT.format(of=of, type=f"'{type_}'", body=body)


def endpoint_of(conversation: Locked) -> Endpoint | None:
    """Where webhooks go; None is the built-in inbox."""
    webhook = conversation.organization.spec.webhook
    return None if webhook is None else Endpoint(str(webhook.url), webhook.secret.get_secret_value())
