"""What a run must know of media when it begins: read in the row of the claim, so that it costs no round trip."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from schemas.catalogue import Had, Media, MediaFact, MediaHistory, MediaType
from schemas.money import Price
from workers.adapters.postgres.transaction import Row

_MOST = 100
"""The bound of MAX_FREE_MEDIA: older facts of a kind cannot change what may be sent."""

_OF_A_KIND = f"""(SELECT * FROM media_facts
  WHERE contact_id = ct.id AND persona_id = mc.persona_id AND what = '{{what}}' ORDER BY at DESC LIMIT {_MOST})"""
_FACTS = " UNION ALL ".join(_OF_A_KIND.format(what=what) for what in Had)

MEDIA = f"""(
  SELECT json_agg(json_build_object('what', f.what, 'at', f.at, 'media', m.name, 'album', a.name,
                  'about', m.description, 'amount', CAST(f.amount AS text), 'currency', f.currency) ORDER BY f.at DESC)
  FROM conversations mc CROSS JOIN LATERAL ({_FACTS}) f
  JOIN media_items m ON m.id = f.media_id LEFT JOIN albums a ON a.id = m.album_id WHERE mc.id = j.conversation_id
) AS media_had, (
  SELECT json_agg(json_build_object('media', m.name, 'type', m.type, 'url', m.url, 'album', a.name,
                  'about', m.description, 'amount', CAST(m.price AS text), 'currency', m.currency))
  FROM (SELECT media_id FROM shown_media WHERE conversation_id = j.conversation_id ORDER BY at DESC LIMIT {_MOST}) s
  JOIN media_items m ON m.id = s.media_id LEFT JOIN albums a ON a.id = m.album_id
) AS media_shown, (
  SELECT count(*) FROM conversations wc JOIN conversations oc
    ON oc.contact_id = wc.contact_id AND oc.persona_id = wc.persona_id
  JOIN jobs oj ON oj.conversation_id = oc.id JOIN candidates ok ON ok.job_id = oj.id
  WHERE wc.id = j.conversation_id AND oj.kind <> 'delivery' AND oj.state IN ('held', 'sending') AND oj.id <> j.id
    AND ok.kind IN ('image', 'video') AND ok.state IN ('held', 'preparing')
) AS media_waiting"""
"""Columns beside the job `j` and its contact `ct`."""


def history(look: Row) -> MediaHistory:
    """Of a row with the columns `MEDIA`."""
    facts = tuple(_fact(item) for item in look.media_had or ())
    return MediaHistory(facts, tuple(_media(item) for item in look.media_shown or ()), look.media_waiting)


def _fact(item: Mapping[str, Any]) -> MediaFact:
    at = datetime.fromisoformat(item["at"])
    return MediaFact(Had(item["what"]), item["media"], at, item["album"], item["about"], _price(item))


def _media(item: Mapping[str, Any]) -> Media:
    price, kind = _price(item), MediaType(item["type"])
    return Media(item["media"], kind, item["url"], item["album"], price, item["about"])


def _price(item: Mapping[str, Any]) -> Price | None:
    return None if item["amount"] is None else Price(Decimal(item["amount"]), item["currency"])
