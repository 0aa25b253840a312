"""Deeds that nobody did and deeds that nobody planned: "je t'envoie la vidéo" without one, "I'll text you tomorrow".

The candidates are all that a reply does, and no tool comes back later by itself.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.autoreply.issues import Issue
from pipelines.autoreply.rules.links import links
from pipelines.autoreply.rules.sources import Sources
from pipelines.text import fold, spoken
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble

_SHOWN = r"photos?|videos?|selfies?|pics?|pictures?|vids?|cliches?|albums?|extraits?|clips?"
_HEARD = r"vocal|vocaux|notes? vocales?|messages? vocaux|audios?|voice (?:notes?|messages?|memos?)"
_LINKED = r"liens?|links?"
_THING = rf"(?P<thing>{_SHOWN}|{_HEARD}|{_LINKED})\b"
_GAP = r"(?:(?!\b(?:pas|jamais|not|never|sur|about|of)\b)[^.!?;\n]){0,30}?\b"

_PICTURE = frozenset({BubbleKind.IMAGE, BubbleKind.VIDEO, BubbleKind.PAYMENT})
_KINDS = (
    (re.compile(_SHOWN), _PICTURE),
    (re.compile(_HEARD), frozenset({BubbleKind.VOICE})),
    (re.compile(_LINKED), frozenset({BubbleKind.PAYMENT})),
)

_LATER = (
    r"\b(?:demain|ce soir|cette nuit|cet aprem|cet apres-midi|dans la soiree|dans la journee|plus tard|tout a "
    r"l'heure|tantot|bientot|apres-demain|la semaine prochaine|cette semaine"
    r"|ce week-?end|"
    r"dans (?:\d+|une?|deux|trois|quelques) (?:minutes?|heures?|jours?|semaines?)|"
    r"(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)(?: prochain)?|later|tomorrow|tmrw|soon|tonight|next "
    r"week|"
    r"in (?:a|an|\d+|two|few|a few) (?:minutes?|hours?|days?|weeks?)|this weekend|"
    r"on (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
)
_GIVE = r"envoie|envoi|partage|balance|file|glisse|poste|transfere"
_SENDS = (
    rf"\bje (?:t'|te |vous )(?:en )?(?:(?:{_GIVE})\b|mets (?:la|les?|une?|ta|ton|tes)\b){_GAP}{_THING}",
    rf"\b{_THING}[^.!?;\n]{{0,20}}\bje (?:te |vous )(?:l'|la |le |les )(?:{_GIVE}|mets)\b",
    r"\b(?:voila|voici|tiens,?) (?:donc |juste |enfin )?(?:la|le|les|ta|ton|tes|une|un|l') ?"
    rf"(?:petite? |belle |jolie |nouvelle |derniere |fameuse )*{_THING}",
    rf"\b(?:i'm|i am|im) (?:just )?(?:sending|attaching|dropping|sharing)\b{_GAP}{_THING}",
    rf"\bhere (?:you|u) (?:go|are)\b{_GAP}{_THING}",
    rf"\b(?:check(?: out)?|look at|peep|have a look at) (?:this|these)\b{_GAP}{_THING}",
    rf"\b(?:regarde|mate|admire|checke?)[sz]? (?:un peu |moi )?(?:cette|ces|ce)\b{_GAP}{_THING}",
    rf"\bhere(?:'s| is| are|s) (?:your|the|a|an|that|some|another) (?:\w+ )?{_THING}",
)
_HAS_SENT = (
    rf"\bje (?P<now>viens) (?:juste )?de (?:t'|te |vous )(?:en )?(?:envoyer|mettre|poster|partager)\b{_GAP}{_THING}",
    rf"\bje (?:t'|vous )ai (?:(?P<now>juste) |deja |bien )?(?:envoye|transfere|partage|poste|glisse|balance"
    rf"|laisse)e?s?\b{_GAP}{_THING}",
    rf"\bje (?:t'|vous )ai (?:juste |deja |bien )?mis(?:e?s)? (?:la|le|les|une?|ta|ton|tes|des|mon|ma"
    rf"|mes)\b{_GAP}{_THING}"
    r"(?:[^.!?;\n]{0,15}\b(?P<now>au-dessus|ci-dessus|ci-dessous|dessous|ici)\b)?",
    rf"\b{_THING}[^.!?;\n]{{0,15}}\b(?P<now>juste au-dessus|juste en dessous|ci-dessus|ci-dessous|right above|just "
    rf"above|right below)",
    rf"\bi(?:'ve| have)? (?:(?P<now>just) |already )?(?:sent|attached|shared)\b{_GAP}{_THING}",
)
_BUSINESS_FR = r"commande|abonnement|reservation|paiement|rendez-vous|rdv|acces|compte|forfait|inscription"
_BUSINESS_EN = r"orders?|subscription|booking|reservation|payment|appointment|access|account|plan|membership"
_HAS_DONE = (
    r"\bje (?:t'|vous )ai (?:deja |bien |donc )?(?:remboursee?|creditee?|desabonnee?|debloque (?:l'acces|la|le))\b",
    r"\bj'ai (?:deja |bien |donc )?(?:annule|modifie|change|rembourse|valide|active|prolonge|reserve)e?s? "
    rf"(?:ta|ton|tes|votre|vos) (?:{_BUSINESS_FR})s?\b",
    r"\bj'ai (?:deja |bien |donc )?(?:prevenu|contacte|transmis|signale)\b[^.!?;\n]{0,30}\b(?:l'equipe"
    r"|au support|le support|"
    r"service client)\b",
    r"\bi(?:'ve| have)? (?:just |already )?(?:refunded|credited|unsubscribed|upgraded) (?:you|your)\b",
    r"\bi(?:'ve| have)? (?:just |already )?(?:cancell?ed|changed|updated|extended|booked|activated|confirmed) your "
    rf"(?:{_BUSINESS_EN})\b",
    r"\bi(?:'ve| have)? (?:just |already )?(?:told|informed|notified|contacted|alerted) (?:the|our"
    r"|my) (?:\w+ )?(?:team|support)\b",
)
_WILL_SEND = (
    rf"\bje (?:t'|te |vous )(?:en )?(?:enverrai|montrerai|preparerai|partagerai|posterai|ferai)\b{_GAP}{_THING}",
    rf"\b{_THING}[^.!?;\n]{{0,20}}\bje (?:te |vous )(?:l'|la |le |les )(?:enverrai|montrerai|ferai)\b",
    rf"\bje vais (?:t'|te |vous )(?:en )?(?:envoyer|montrer|preparer|tourner|filmer|faire"
    rf"|enregistrer)\b{_GAP}{_THING}",
    r"\bi(?:'ll|ll| will|'m going to|'m gonna| am going to) (?:definitely |totally |also |just |then )?"
    rf"(?:send|show|share|film|record|shoot|prepare|drop|make) (?:you|u)\b{_GAP}{_THING}",
    rf"\b(?:tu|vous) (?:recevras|recevrez|auras|aurez|vas recevoir|vas avoir|allez recevoir|allez "
    rf"avoir)\b{_GAP}{_THING}",
    rf"\byou(?:'ll| will|'re going to|'re gonna) (?:get|receive|have)\b{_GAP}{_THING}",
    r"\bi(?:'ll|ll| will|'m going to|'m gonna| am going to) (?:definitely |totally |also |just |then )?"
    rf"(?:send|share|post|drop) (?:a|an|the|that|my|some|another|your)\b{_GAP}{_THING}",
)
# « je te l'envoie », "I'll send it": whatever it is, something would have to be there.
_IT = r"(?:l'|la |le |les )"
_SENDS_IT = (
    rf"\bje (?:t'|te |vous ){_IT}(?:envoie|envoi|balance|transfere|partage|file)\b(?! (?:a |un mot|en mille|par la "
    rf"tete))",
    r"\b(?:i'm|i am) (?:just )?(?:sending|attaching|sharing) (?:it|them|one)\b",
    r"\b(?:sending|dropping) (?:it|them) (?:now|over|right now|rn|to you)\b",
)
_WILL_SEND_IT = (
    rf"\bje (?:t'|te |vous ){_IT}(?:enverrai|transfererai|partagerai|posterai)\b",
    rf"\bje vais (?:t'|te |vous ){_IT}(?:envoyer|transferer|partager)\b",
    rf"\b(?:tu|vous) {_IT}(?:recevras|recevrez|(?:auras|aurez)(?= ?(?:$|[.,!;]|demain|ce soir|bientot|dans|apres"
    rf"|tout a)))\b",
    r"\bi(?:'ll|ll| will|'m going to|'m gonna| am going to) (?:definitely |totally |also |just |then )?(?:send|share"
    r"|film|record"
    r"|shoot|drop|forward) (?:it|them|that|one|you one|you it|you that|it over)\b",
    r"\byou(?:'ll| will|'re going to|'re gonna) (?:get|receive|have) (?:it|them)\b",
)
_WILL_COME_BACK = (
    rf"\bje (?:t'|te |vous )(?:reecris|ecris|rappelle(?! qu)|recontacte|renvoie"
    rf"|envoie un message)\b[^.!?;\n]{{0,25}}{_LATER}",
    r"\bje (?:te |vous )(?:reecrirai|ecrirai|rappellerai|recontacterai)\b",
    r"\bje (?:reviens|reviendrai) (?:vite |tres vite )?vers (?:toi|vous)\b",
    r"\bje (?:te|vous) (?:tiens|tiendrai) (?:au courant|informee?s?)\b",
    r"\bi(?:'ll|ll| will) (?:get|come) back to you\b",
    r"\bi(?:'ll|ll| will) (?:text|message|write|call|dm|email) (?:to )?(?:you|u)\b",
    r"\bi(?:'ll|ll| will) (?:let you know|keep you (?:posted|updated|informed))\b",
)
# An offer, a wish, a question or a thing that hangs on the contact: nothing was said to be so.
_OPEN = re.compile(
    r"\b(?:si|s'il|if|unless|veux que|veux-tu|want me to|dois-je|should i|shall i|j'aimerais|je voudrais"
    r"|peut-etre|maybe|"
    r"could|might|would|pourrais|imagine|comme si|as if)\b|\bque je (?:t'|te |vous )"
)
_SENTENCE = re.compile(r"[^.!?;\n…]+[.!?;\n…]*")


def _patterns(*groups: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for group in groups for pattern in group)


_NOW, _BEFORE, _DONE = _patterns(_SENDS), _patterns(_HAS_SENT), _patterns(_HAS_DONE)
_NOW_IT, _SOME_DAY_IT = _patterns(_SENDS_IT), _patterns(_WILL_SEND_IT)
_SOME_DAY, _BACK = _patterns(_WILL_SEND), _patterns(_WILL_COME_BACK)
_LATER_ON = re.compile(_LATER)


@dataclass(frozen=True, slots=True)
class _Reply:
    kinds: frozenset[BubbleKind]
    has_link: bool

    @classmethod
    def of(cls, bubbles: Sequence[Bubble]) -> "_Reply":
        return cls(frozenset(bubble.kind for bubble in bubbles), any(any(links(fold(b.text))) for b in bubbles))

    @property
    def holds_anything(self) -> bool:
        return self.has_link or any(self.kinds & kinds for _, kinds in _KINDS)

    def holds(self, thing: str) -> bool:
        return bool(self.kinds & _kinds(thing)) or (self.has_link and re.fullmatch(_LINKED, thing) is not None)


def claimed(bubbles: Sequence[Bubble], sources: Sources) -> Iterator[Issue]:
    """Something is said to be sent, booked or done that neither this reply nor anybody before did."""
    reply = _Reply.of(bubbles)
    for n, bubble in enumerate(bubbles):
        for sentence in _plain_sentences(bubble.text):
            if (said := _sent_by_nobody(sentence, reply, sources)) is not None:
                told = f"It says {said!r}, and the reply does not do so. Queue what it speaks of, or do not say it."
                yield Issue(n, "claimed_action", "error", told)


def promised(bubbles: Sequence[Bubble], sources: Sources) -> Iterator[Issue]:
    """Something is said to come later, and nobody has planned it. What the team asked for, it will see to."""
    if sources.case.instruction:
        return
    reply = _Reply.of(bubbles)
    for n, bubble in enumerate(bubbles):
        for sentence in _plain_sentences(bubble.text):
            if (said := _planned_by_nobody(sentence, reply, sources)) is not None:
                yield Issue(n, "promise", "error", f"{said!r} promises what nobody has planned. Promise nothing.")


def _sent_by_nobody(sentence: str, reply: _Reply, sources: Sources) -> str | None:
    for pattern in _NOW:
        found = pattern.search(sentence)
        if found and not reply.holds(found["thing"]) and not _LATER_ON.search(sentence):
            return found[0]
    if not reply.holds_anything and not _LATER_ON.search(sentence) and (said := _first(_NOW_IT, sentence)):
        return said
    for pattern in _BEFORE:
        found = pattern.search(sentence)
        if found is None or reply.holds(found["thing"]):
            continue
        if not sources.may_have_sent(_kinds(found["thing"]), just_now=bool(found["now"])):
            return found[0]
    if sources.a_person_spoke:
        return None
    return _first(_DONE, sentence)


def _planned_by_nobody(sentence: str, reply: _Reply, sources: Sources) -> str | None:
    later = _NOW if _LATER_ON.search(sentence) else ()
    for pattern in (*_SOME_DAY, *later):
        found = pattern.search(sentence)
        if found and not reply.holds(found["thing"]):
            return found[0]
    some_day = (*_SOME_DAY_IT, *(_NOW_IT if later else ()))
    if not reply.holds_anything and (said := _first(some_day, sentence)) is not None:
        return said
    return None if sources.writes_again else _first(_BACK, sentence)


def _first(patterns: Sequence[re.Pattern[str]], sentence: str) -> str | None:
    return next((found[0] for pattern in patterns if (found := pattern.search(sentence))), None)


def _plain_sentences(text: str) -> Iterator[str]:
    """Folded, without questions and what is only imagined or offered."""
    for found in _SENTENCE.finditer("\n".join(spoken(line) for line in text.splitlines())):
        sentence = found[0].strip()
        if not sentence.endswith("?") and not _OPEN.search(sentence):
            yield sentence


def _kinds(thing: str) -> frozenset[BubbleKind]:
    return next(kinds for pattern, kinds in _KINDS if pattern.fullmatch(thing))
