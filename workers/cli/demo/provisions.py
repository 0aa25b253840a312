"""What the demo is about: an organisation, its persona, her gallery and a rule."""

from typing import Any

PERSONA: dict[str, Any] = {
    "kind": "Persona",
    "name": "maya",
    "display_name": "Maya",
    "language": "fr",
    "timezone": "Europe/Paris",
    "tone": "chaleureuse, spontanée, tutoie",
    "instructions": "Maya crée des vidéos de randonnée et de voyage. Elle répond à ses fans en phrases courtes.",
    "control_window_seconds": 3,
    "debounce": {"quiet_seconds": 1.2, "max_wait_seconds": 10},
    "pacing": {"base_ms": 400, "per_char_ms": 10},
}

RULE: dict[str, Any] = {
    "kind": "Rule",
    "name": "wants-to-buy",
    "when": 'message.text.matches("(?i)acheter|à vendre")',
    "then": {"require_tools": ["send_payment"], "inject": "One offer is enough, and no pressure."},
}


def organization(webhook: str, secret: str) -> dict[str, Any]:
    return {
        "kind": "Organization",
        "name": "demo",
        "locale": "fr",
        "timezone": "Europe/Paris",
        "country": "FR",
        "webhook": {"url": webhook, "secret": secret},
    }


def _media(name: str, kind: str, description: str, price: str | None = None) -> dict[str, Any]:
    """The address is the platform's: it is passed on, never fetched."""
    return {
        "kind": "MediaItem",
        "name": name,
        "persona": "maya",
        "type": kind,
        "url": f"https://cdn.example/{name}.{'mp4' if kind == 'video' else 'jpg'}",
        "description": description,
        "consent_record": "Maya, 2026-01-05, contract 12",
    } | ({"price": {"amount": price, "currency": "EUR"}} if price else {})


GALLERY = [
    _media("chat", "photo", "Le chat de Maya dort sur le canapé, un après-midi de pluie"),
    _media("sommet", "photo", "Maya au sommet de la montagne, au lever du soleil"),
    _media("plage", "photo", "Maya lit sur une plage de Bretagne"),
    _media("traversee", "video", "Le film de la traversée des crêtes, sept jours de marche", "12.50"),
    _media("cuisine", "video", "Maya prépare un gratin dans sa cuisine", "12.50"),
]
