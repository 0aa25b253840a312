"""What a contact is told as the AI stops: that it has, or where help is. Sent as a notice, without a window."""

from schemas.honesty import SELF_HARM, Alarm

_OPTED_OUT = {
    "en": "Understood: you will not get any more messages here.",
    "fr": "C'est noté : tu ne recevras plus de messages ici.",
}

_EMERGENCY = {
    "en": "It sounds as if you are going through something very hard. {lines} In immediate danger, call {emergency}.",
    "fr": "Ce que tu traverses a l'air très dur. {lines} En danger immédiat, appelle le {emergency}.",
}
# Public help lines against suicide, open day and night and free of charge, and the emergency number.
_LINES = {
    "FR": ("112", "You can call 3114, day and night, free.", "Tu peux appeler le 3114, jour et nuit, gratuitement."),
    "US": (
        "911",
        "You can call or text 988, day and night, free.",
        "Tu peux appeler le 988, ou lui écrire, jour et nuit.",
    ),
    "CA": (
        "911",
        "You can call or text 988, day and night, free.",
        "Tu peux appeler le 988, ou lui écrire, jour et nuit.",
    ),
    "GB": (
        "999",
        "You can call Samaritans on 116 123, day and night, free.",
        "Tu peux appeler le 116 123 (Samaritans).",
    ),
    "IE": (
        "112",
        "You can call Samaritans on 116 123, day and night, free.",
        "Tu peux appeler le 116 123 (Samaritans).",
    ),
    "CH": ("144", "You can call 143, day and night.", "Tu peux appeler le 143, jour et nuit."),
}
_ANYWHERE = (
    "112",
    "Please talk to somebody near you, or to a help line: findahelpline.com lists those of your country.",
    "Parle à quelqu'un de proche, ou à une ligne d'écoute : findahelpline.com donne celles de ton pays.",
)


def words_for(alarm: Alarm, country: str | None, language: str, *, crisis: bool) -> list[str]:
    """At most two texts: the crisis text where `crisis` allows it, then the one confirmation of an opt-out."""
    tongue = "fr" if language.lower().startswith("fr") else "en"
    found = [_crisis(country, tongue)] if crisis and alarm.danger == SELF_HARM else []
    return [*found, _OPTED_OUT[tongue]] if alarm.stop else found


def _crisis(country: str | None, tongue: str) -> str:
    emergency, english, french = _LINES.get(country or "", _ANYWHERE)
    return _EMERGENCY[tongue].format(lines=french if tongue == "fr" else english, emergency=emergency)
