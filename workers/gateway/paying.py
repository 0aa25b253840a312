"""The pages a payer may see here: one on which no money moves, and says so, and a word of thanks."""

from html import escape

from fastapi.responses import Response

from schemas.payments import PaymentState
from workers.adapters.postgres.views.payments import Bill

_FRAME = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>{title}</title>
<style>body{{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:3rem auto;padding:0 1rem}}
.test{{background:#b00020;color:#fff;padding:.8rem 1rem;font-weight:700}}
button{{font:inherit;padding:.7rem 1.4rem}}</style></head><body>
{content}
</body></html>
"""
_TEST = """<p class="test" role="note">TEST: aucun argent ne circule ici · no money moves here</p>
<h1>{seller}</h1><p>{media} média · <strong>{price}</strong></p>
{action}"""
_BUTTON = '<form method="post"><button>Simuler le paiement · Pretend to pay</button></form>'
_STATES = {
    PaymentState.PAID: "Payé (test) · Paid (test)",
    PaymentState.EXPIRED: "Ce lien a expiré · This link has expired",
    PaymentState.REFUNDED: "Remboursé (test) · Refunded (test)",
}
_THANKS = "<h1>Merci</h1><p>Retournez à la conversation. · Thank you, please return to the conversation.</p>"

# Nothing on these pages loads, runs or is framed.
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def test_page(bill: Bill) -> Response:
    ended = _STATES.get(bill.state)
    action = _BUTTON if ended is None else f"<p>{ended}</p>"
    content = _TEST.format(seller=escape(bill.seller), media=bill.media, price=escape(str(bill.price)), action=action)
    return _page("TEST", content)


def thanks() -> Response:
    return _page("Merci", _THANKS)


def _page(title: str, content: str) -> Response:
    html = _FRAME.format(language="fr", title=title, content=content)
    return Response(html, media_type="text/html; charset=utf-8", headers=_HEADERS)
