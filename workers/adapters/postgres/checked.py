"""The media of the bubble whose turn it is, as they stand now: read in the row that is read anyway."""

import json
from collections.abc import Sequence
from typing import Any

from pipelines.delivery.media import Checked, told
from workers.adapters.postgres.transaction import Row

# Nothing is looked up for a bubble of words. One row at a time: a planner that expects a hundred reads the whole table.
MEDIA = """CASE WHEN k.kind IN ('image', 'video') THEN (
  SELECT json_agg(json_build_object('id', coalesce(m.id, 0), 'name', w.item ->> 'id', 'url', coalesce(m.url, ''),
    'type', coalesce(m.type, ''), 'there', coalesce(m.deleted_at IS NULL AND m.persona_id = mc.persona_id, false),
    'consented', m.consent IS NOT NULL, 'priced', m.price IS NOT NULL, 'bought', EXISTS (
      SELECT 1 FROM media_facts f WHERE f.contact_id = ct.id AND f.media_id = m.id AND f.what = 'bought')) ORDER BY w.n)
  FROM json_array_elements(k.media) WITH ORDINALITY AS w (item, n)
  JOIN conversations mc ON mc.id = j.conversation_id
  LEFT JOIN LATERAL (SELECT * FROM media_items WHERE org_id = j.org_id AND name = w.item ->> 'id' LIMIT 1) m ON true
) END AS media_now"""
"""A column beside the job `j`, its contact `ct` and the bubble `k`."""


def of(look: Row) -> tuple[Checked, ...]:
    return tuple(Checked(**item) for item in look.media_now or ())


def values(media: Sequence[Checked], *, free: bool) -> dict[str, Any]:
    """What leaving binds: the media as the receiver is told of them, and which of them count as received for free."""
    shown = json.dumps(told(media)) if media else None
    return {"media": shown, "attachments": shown, "free": [item.id for item in media] if free else []}
