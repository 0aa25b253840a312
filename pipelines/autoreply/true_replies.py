"""What may be said to who asks whether a machine writes: the truth, ready for a person to approve."""

from pipelines.autoreply.language import wanted
from schemas.conversation import BubbleKind, Case
from schemas.decisions import Bubble

_TEXTS = {
    "en": (
        "The messages you get here are written by an AI assistant on behalf of {name}.",
        "Somebody from the team has read your question.",
    ),
    "fr": (
        "Les messages que tu reçois ici sont écrits par un assistant IA au nom de {name}.",
        "Une personne de l'équipe a lu ta question.",
    ),
}


def true_replies(case: Case) -> tuple[Bubble, ...]:
    """Each is true by itself once somebody approves it, so either may be dropped. In English when it is not French."""
    language = wanted(case)
    name = case.persona.spec.display_name or case.persona.name
    texts = _TEXTS["fr" if language is not None and language.base == "fr" else "en"]
    return tuple(Bubble(BubbleKind.TEXT, text.format(name=name)) for text in texts)
