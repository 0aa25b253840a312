"""Rows with due times, straight into the tables: what the clock looks at, without the story that led there."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import psycopg

LATER = datetime(2100, 1, 1, tzinfo=UTC)
"""Leases may be ended until then: this clock has watched for long enough."""

_PEOPLE = """
INSERT INTO organizations (name, spec)
  SELECT 'org-' || g, '{}'::jsonb FROM generate_series(1, %(organisations)s) g;
"""
_PERSON = """
INSERT INTO personas (org_id, name, spec) SELECT id, 'maya', '{}'::jsonb FROM organizations;
INSERT INTO contacts (org_id, name, profile) SELECT id, 'fan', '{}'::jsonb FROM organizations;
"""
_JOBS = """
WITH made AS (
  INSERT INTO conversations (org_id, persona_id, contact_id, name)
  SELECT o.id, p.id, c.id, gen_random_uuid()
    FROM organizations o JOIN personas p ON p.org_id = o.id JOIN contacts c ON c.org_id = o.id,
         generate_series(1, %(jobs)s) g
   WHERE o.name = %(organisation)s
  RETURNING id, org_id
)
INSERT INTO jobs (conversation_id, state, inbound_seq, first_message_at, org_id, queue, due_at)
SELECT id, %(state)s, 1, now(), org_id, %(queue)s,
       clock_timestamp() - make_interval(secs => %(ago)s) + random() * interval '1 s'
  FROM made
"""


class Rows:
    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self._connection = connection

    def organisations(self, count: int) -> None:
        """`org-1` to `org-n`, each with a persona and a contact."""
        self._connection.execute(_PEOPLE, {"organisations": count})
        self._connection.execute(_PERSON)

    def jobs(self, organisation: str, count: int, state: str = "queued", ago: float = 60, queue: str = "reply") -> None:
        """Each in a conversation of its own, due `ago` seconds ago (negative: in the future)."""
        given = {"organisation": organisation, "jobs": count, "state": state, "ago": ago, "queue": queue}
        self._connection.execute(_JOBS, given)

    def flood(self, organisation: str, count: int, state: str = "queued", ago: float = 60) -> None:
        """Many rows at little cost: paid deliveries, which share one conversation. Ended ones are not due."""
        self.jobs(organisation, 1, ago=ago)
        self._connection.execute(
            "INSERT INTO jobs (kind, conversation_id, state, inbound_seq, first_message_at, org_id, queue, due_at)"
            " SELECT 'delivery', conversation_id, %(state)s, 1, now(), org_id, queue,"
            " CASE WHEN %(state)s = 'sent' THEN NULL ELSE due_at + g * interval '1 ms' END"
            " FROM (SELECT * FROM jobs ORDER BY id DESC LIMIT 1) one, generate_series(2, %(count)s) g",
            {"state": state, "count": count},
        )

    def deliveries(self, organisation: str, count: int, ago: float = 60) -> None:
        self._connection.execute(
            "INSERT INTO deliveries (webhook_id, type, body, state, org_id, queue, due_at)"
            " SELECT o.name || g, 'message.read', '{}', 'waiting', o.id, 'send',"
            " clock_timestamp() - make_interval(secs => %s)"
            " FROM organizations o, generate_series(1, %s) g WHERE o.name = %s",
            (ago, count, organisation),
        )

    def do(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        found = self._connection.execute(statement, values)  # type: ignore[call-overload]
        return found.fetchall() if found.description else []


@contextmanager
def rows(database_url: str) -> Iterator[Rows]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield Rows(connection)
