"""The port `Memory`: passages by meaning and by words, of what the asker may see."""

from sqlalchemy import text

from pipelines.memory.documents import CONFIGS, PLAIN
from pipelines.ports import Embedder
from pipelines.text import fold
from schemas.memory import Asker, Found, Recalled
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.vectors import as_vector

DEPTH = 20
"""How many of each kind are ranked together."""
MOST_COMPARED = 5_000
"""Passages that are compared one by one; beyond, the index of vectors is walked."""
SMOOTH = 60
"""Of reciprocal rank fusion: how little the first places differ."""

# Whom a passage is for is asked where it is searched: never filtered afterwards, never left to the caller.
_OWN = "c.org_id = :org AND c.persona_id IN (0, :persona) AND c.contact_id IN (0, :contact)"
_LANGUAGES = ", ".join(f"('{config}')" for config in sorted({*CONFIGS.values(), PLAIN}))

# The index of vectors knows nothing of owners: it walks to the nearest of all organisations, and a filter afterwards
# may leave none. So what one asker may see is compared one by one, found by its owner; the sum keeps the planner off
# the index. Only for a large library the index is walked, until enough of its own are met.
_SIZE = text(f"SELECT count(*) FROM (SELECT 1 FROM chunks c WHERE {_OWN} LIMIT {MOST_COMPARED + 1}) AS own")
_ONE_BY_ONE = "(c.embedding <=> CAST(:vector AS vector)) + 0"
_BY_INDEX = "c.embedding <=> CAST(:vector AS vector)"
_WALK = (
    "SET LOCAL hnsw.iterative_scan = strict_order",
    "SET LOCAL hnsw.max_scan_tuples = 100000",
    # A plan for whatever values come would compare them all.
    "SET LOCAL plan_cache_mode = force_custom_plan",
)

# By words all must be there: a common word alone says nothing, and PostgreSQL's rank does not know which are common.
_SEARCH = f"""
WITH near AS (
  SELECT id, row_number() OVER (ORDER BY distance, id) AS place FROM (
    SELECT c.id, {{distance}} AS distance FROM chunks c
    WHERE {_OWN} AND c.model = :model ORDER BY {{distance}} LIMIT {DEPTH}
  ) AS nearest
), asked AS (
  SELECT config, plainto_tsquery(CAST(config AS regconfig), :folded) AS query
  FROM (VALUES {_LANGUAGES}) AS languages (config)
), worded AS (
  SELECT id, row_number() OVER (ORDER BY rank DESC, id) AS place FROM (
    SELECT c.id, ts_rank_cd(c.words, asked.query) AS rank
    FROM asked JOIN chunks c ON c.config = asked.config AND c.words @@ asked.query
    WHERE {_OWN}
    ORDER BY rank DESC, c.id LIMIT {DEPTH}
  ) AS matching
), best AS (
  SELECT id, sum(1.0 / ({SMOOTH} + place)) AS score
  FROM (SELECT * FROM near UNION ALL SELECT * FROM worded) AS both_ways
  GROUP BY id ORDER BY score DESC, id LIMIT :limit
)
SELECT c.text, c.contact_id <> 0 AS of_contact, coalesce(d.title, '') AS title, c.said_at
FROM best JOIN chunks c ON c.id = best.id LEFT JOIN documents d ON d.id = c.document_id
ORDER BY best.score DESC, best.id
"""
_SEARCH_SMALL = text(_SEARCH.format(distance=_ONE_BY_ONE))
_SEARCH_LARGE = text(_SEARCH.format(distance=_BY_INDEX))


class StoredMemory:
    """`embedder` is the one that made the stored vectors; what another made is found by its words alone."""

    def __init__(self, database: Database, embedder: Embedder, most_compared: int = MOST_COMPARED) -> None:
        self._db = database
        self._embedder = embedder
        self._most_compared = most_compared

    async def search(self, question: str, asker: Asker, limit: int) -> list[Found]:
        (vector,) = await self._embedder.embed([" ".join(question.split())], asker.org)
        values = {
            "org": asker.org,
            "persona": asker.persona,
            "contact": asker.contact,
            "model": self._embedder.name,
            "vector": as_vector(vector),
            "folded": fold(question),
            "limit": limit,
        }
        async with self._db.transaction() as connection:
            size = await connection.scalar(_SIZE, values)
            if size <= self._most_compared:
                rows = (await connection.execute(_SEARCH_SMALL, values)).all()
            else:
                for setting in _WALK:
                    await connection.exec_driver_sql(setting)
                rows = (await connection.execute(_SEARCH_LARGE, values)).all()
        return [
            Found(Recalled.MEMORY if row.of_contact else Recalled.KNOWLEDGE, row.text, row.title, row.said_at)
            for row in rows
        ]
