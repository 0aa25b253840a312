"""Media on the shelf of a test's persona, and replies that sell them."""

from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

from schemas.conversation import BubbleKind
from schemas.decisions import Bubble, Reply
from schemas.media import MediaRef
from schemas.money import Price

Run = Callable[..., Awaitable[Any]]
"""Runs one SQL statement with named values."""

STOCK = """
INSERT INTO media_items (org_id, persona_id, name, type, url, price, currency, description, tags, consent, model,
                         embedding)
SELECT p.org_id, p.id, :name, :type, :url, CAST(:price AS numeric), :currency, 'a media', '[]', '{"by": "maya"}',
       'none', CAST('[' || repeat('0,', 511) || '0]' AS vector)
FROM personas p JOIN organizations o ON o.id = p.org_id WHERE p.name = 'maya' AND o.name = :org
"""


async def stock(run: Run, org: str = "acme", **prices: str | None) -> None:
    """`v_1="10.00"` is the video v-1 for ten euros, `p_1=None` a free photo."""
    for key, price in prices.items():
        name = key.replace("_", "-")
        await run(STOCK, **on_shelf(name, price, org))


def on_shelf(name: str, price: str | None, org: str) -> dict[str, Any]:
    return {
        "org": org,
        "name": name,
        "type": kind(name),
        "url": f"https://cdn.example/{name}",
        "price": price,
        "currency": None if price is None else "EUR",
    }


def kind(name: str) -> str:
    return "video" if name.startswith("v") else "photo"


def an_offer(*media: str, price: str = "10.00", text: str = "pour toi") -> Bubble:
    sold = tuple(MediaRef(name, f"https://cdn.example/{name}", kind(name)) for name in media)
    return Bubble(BubbleKind.PAYMENT, text, sold, Price(Decimal(price), "EUR"))


def a_selling_reply(*bubbles: Bubble | str) -> Reply:
    """Texts by themselves are text bubbles."""
    return Reply(tuple(Bubble(BubbleKind.TEXT, item) if isinstance(item, str) else item for item in bubbles))
