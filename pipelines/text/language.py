"""Which language a chat message is in, when that is clear: by the small words that only one language uses.

Short texts are the rule here, and a wrong answer is worse than none: "ok", "lol", a name say nothing.
"""

import re

from pipelines.text.fold import fold

_WORD = re.compile(r"[^\W\d_]+(?:'(?=\w))?")

# Function words and the commonest words of chats, folded. A word of several languages counts for each a part.
_WORDS = {
    "fr": (
        "je j' me te le la les ne de en tu il elle nous vous ils elles c' d' l' m' n' s' t' qu' est suis es "
        "sommes etes sont ai avez ont avais etait etais avait un une des du au aux mon ton mes tes ses votre "
        "vos leur ce cette ces et ou mais donc que qui quoi quand comment pourquoi parce avec pour dans sur "
        "sans chez pas plus tres trop bien aussi alors oui non merci bonjour bonsoir salut coucou stp svp ca "
        "cela tout tous toute fais fait faire veux peux peut vais vas va aller aime adore moi toi lui rien "
        "jamais toujours encore ici demain hier aujourd'hui soir nuit jour etre avoir quel quelle mdr ouais "
        "beau belle jolie photo photos vraiment peu envie y a chuis t'es j'ai bisous cherie d'accord desole "
        "pense sais parle vie temps fois travaille deux"
    ),
    "en": (
        "i i'm i've i'll i'd you you're your yours he she it's we they my mine his her our their this that "
        "these those the an and but or so because what where when who why how is are was were be been am have "
        "has had do does did don't didn't can can't could would will won't should not no yes yeah yep hello "
        "hi hey thanks thank please with for from about just really very too like love want need know think "
        "get got going go see come here there tomorrow yesterday today tonight good morning night day work "
        "out up some any all of to in on at it if then than more much them him her us let's that's what's "
        "isn't nothing something never always still only"
    ),
    "es": (
        "me te se la el de en lo yo tu usted el ella nosotros ellos los las una unos unas del al mi mis tus "
        "su sus este esta estos eso pero porque que quien cuando como donde esta estoy eres soy somos son "
        "tengo tienes tiene quiero quieres puedo puedes hay muy mas tambien si gracias hola buenos buenas "
        "dias noches adios con para sin sobre hoy manana ayer aqui nada siempre nunca bien bueno hacer haces "
        "gusta amor guapa"
    ),
    "de": (
        "ich du er sie wir ihr mein meine dein deine sein ein eine einen einem der das den dem des und oder "
        "aber weil dass wie was wer wo wann warum ist bin bist sind war waren habe hast hat haben nicht kein "
        "keine ja nein danke bitte hallo guten morgen abend mit fur von aus nach bei zu zum zur auf uber sehr "
        "auch noch schon nur jetzt heute morgen gestern hier immer nie gut schon mag liebe kann"
    ),
    "it": (
        "mi ti si la le di io lui lei noi voi loro sono sei siamo ho hai ha abbiamo hanno il lo gli uno una "
        "del della dei delle al alla nel nella mio mia tuo tua questo questa quello ma perche che chi cosa "
        "quando come dove non molto anche si grazie ciao buongiorno buonasera con per senza oggi domani ieri "
        "qui niente sempre mai bene fare fai voglio puoi posso piace amore bella bello stai sto"
    ),
    "pt": (
        "me te se de eu voce ele ela nos eles meu minha teu tua seu sua um uma uns umas do da dos das ao no "
        "na nos nas isto isso este esta mas porque que quem quando como onde estou esta sou somos sao tenho "
        "tem quero quer posso pode nao muito tambem sim obrigado obrigada oi ola bom boa dia noite com para "
        "sem hoje amanha ontem aqui nada sempre nunca bem fazer gosto amor linda tudo"
    ),
}
# Words that tell a language nearly by themselves count twice.
_TELLING = {
    "fr": (
        "bonjour bonsoir salut coucou merci ouais oui mdr stp svp d'accord bisous pourquoi quoi j' j'ai qu' t'es chuis"
    ),
    "en": "hello hey hi thanks yeah yep please tonight yes what why i'm i'll i've you're don't can't it's",
    "es": "hola gracias adios guapa",
    "de": "hallo danke bitte nein",
    "it": "ciao grazie buongiorno buonasera",
    "pt": "obrigado obrigada oi voce",
}
_LISTED = {language: frozenset(listed.split()) for language, listed in _WORDS.items()}
_STRONG = {language: frozenset(listed.split()) for language, listed in _TELLING.items()}
_OWNERS = {
    word: tuple(language for language, listed in _LISTED.items() if word in listed)
    for word in frozenset().union(*_LISTED.values())
}
KNOWN_LANGUAGES = frozenset(_LISTED)
FEWEST = 1.5
LEAD = 1.8


def clear_language(text: str) -> str | None:
    """One of fr, en, es, de, it, pt; None when it is none of them, too short, or mixed."""
    scores = dict.fromkeys(_LISTED, 0.0)
    for word in _words(text):
        owners = _OWNERS.get(word, ())
        for language in owners:
            scores[language] += 1 / len(owners) + (word in _STRONG[language])
    (best, most), (_, second) = sorted(scores.items(), key=lambda item: -item[1])[:2]
    return best if most >= FEWEST and most >= LEAD * second else None


def _words(text: str) -> set[str]:
    """Folded, with elided words whole (`j'`, `ai`) and contractions as they are written (`i'm`)."""
    found: set[str] = set()
    for word in fold(text).split():
        bare = word.strip(".,;:!?()[]«»\"'*~-")
        found |= {bare} if bare in _OWNERS else set(_WORD.findall(bare))
    return found
