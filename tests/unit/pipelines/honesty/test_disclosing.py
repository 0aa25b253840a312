"""What tells that an AI answers, and what only sounds like a notice."""

import pytest

from pipelines.delivery.notice import TEXTS
from pipelines.honesty.disclosing import discloses


@pytest.mark.parametrize(
    ("language", "words"),
    [
        *TEXTS.items(),
        ("fr", "Une IA vous répond."),
        ("fr", "Réponses écrites par une I.A."),
        ("fr", "Messages automatiques."),
        ("fr", "L'IA de {name} te répond."),
        ("fr", "Tu ne parles pas à un humain mais à une IA."),
        ("fr", "Réponses par IA, pas par {name} elle-même"),
        ("en", "You're not talking to a person but to an AI."),
        ("en", "AI-generated replies."),
        ("en", "Automated replies for {name}."),
        ("pt-BR", "Uma IA: {name}"),
        ("es", "Las respuestas las escribe una IA."),
        ("de", "Sie schreiben nicht mit einem Menschen, sondern mit einer KI."),
        ("de", "KI-Assistent antwortet hier."),
        ("pl", "Odpowiedzi pisze SI."),
        ("ru", "Ответы пишет ИИ."),
        ("ja", "返信はAIが書いています。"),
        ("zh", "回复由人工智能撰写。"),
        ("ko", "이 답장은 AI가 작성합니다"),
        ("ar", "هذه الردود من الذكاء الاصطناعي"),
        ("hi", "एआई लिखता है"),
    ],
)
def test_it_says_so(language: str, words: str) -> None:
    assert discloses(words, language)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("fr", "Bienvenue chez Maya !"),
        ("fr", "Tu parles avec la vraie Maya, en direct."),
        ("fr", "Pas d'IA ici."),
        ("fr", "{name} répond sans IA"),
        ("fr", "Ceci n'est pas un robot"),
        ("fr", "Aucune réponse automatique"),
        ("fr", "Une IA ? Jamais !"),
        ("fr", "{name} aime l'IA mais te répond elle-même"),
        ("fr", "J'ai dit bonjour, j'en ai marre, si tu veux"),
        ("en", "No AI here, just {name}."),
        ("en", "This is not an AI."),
        ("en", "There isn't any AI"),
        ("en", "Are these replies automated?"),
        ("en", "Chat with the real {name}, AI fan"),
        ("en", "I said hello to the maid"),
        ("de", "Keine KI"),
        ("es", "sin IA"),
        ("it", "Scrivi se vuoi, si risponde presto"),
    ],
)
def test_it_does_not(language: str, words: str) -> None:
    assert not discloses(words, language)
