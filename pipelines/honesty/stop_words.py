"""Does the contact want no more messages? A word of its own, or a plain request; not banter."""

import re

from pipelines.honesty.reading import any_of, clauses, hits, laughs, naming, words

_ALONE = re.compile(
    r"(?:stop+|stop ?all|stop sms|stop ?(?:svp|stp|merci|please|pls|now|it now|maintenant|tout|everything)?"
    r"|(?:please|svp|stp) stop|desabonne(?:r|ment|z)?"
    r"|(?:me )?desabonner|desinscri(?:re|ption)|(?:me )?desinscrire|unsubscribe(?: me)?(?: please)?|opt[- ]?out"
    r"|arret|arretez(?: svp| s'il vous plait| maintenant| tout| merci)?"
    r"|stop stop(?: stop)*|s[. -]t[. -]o[. -]p|stop \d{4,6}"
    r"|(?:please )?no more (?:texts|texting|messages|messaging|msgs|sms|emails)(?: please| pls| thanks| thank you)?"
    r"|(?:svp |stp )?plus (?:de|aucun) (?:messages?|sms|textos?|mails?)(?: svp| stp| merci)?)"
)
_WORDS = re.compile(r"[^\W_](?:.*[^\W_])?", re.DOTALL)
_SIGN = re.compile(r"🛑+")
# « arrête de m'écrire quand je bosse » asks for other hours, not for silence.
_ONLY_THEN = (
    r"(?!(?: \w+){0,3} (?:quand|pendant|lorsque|si tard|tard|a (?:minuit|\d+ ?h)|la nuit|le matin|au (?:travail"
    r"|boulot|taf|bureau)|en cours|comme ca"
    r"|comme ci|en majuscules|en anglais|des (?:trucs|betises|choses)|when|while|during|so late|late|at (?:work"
    r"|night|midnight|\d)|in caps|in english|like that"
    r"|about|during|every|memes|that stuff|those))"
)
_WRITE_FR = (
    r"(?:m'ecrire|me contacter|me recontacter|me relancer|m'envoyer (?:des |tes |vos |ces |tous ces |d'autres "
    r"|plus de )?(?:messages?|sms|textos?|mails?|pubs?|notifs?"
    r"|notifications?)|me spammer|me harceler|me solliciter|me demarcher|m'appeler)"
)
_ASKS = any_of(
    # « arrêtez ça tout de suite » to who is not on first-name terms; « arrête » alone is banter between friends
    r"^(?:(?:svp|stp|merci de|non|mais|bon|ok|s'il vous plait),? )*(?:arretez|cessez)(?: (?:ca|cela|vos messages|de "
    r"m'embeter|tout ca))+"
    r"(?: (?:tout de suite|immediatement|maintenant|svp|stp|s'il vous plait|merci))*[ .!]*$",
    r"^(?:(?:svp|stp|non|mais|bon|ok),? )*(?:arrete|stop)(?: (?:ca|cela|tes messages|de me (?:parler|repondre)))"
    r"(?: (?:tout de suite|immediatement))[ .!]*$",
    r"^(?:(?:please|pls|just|ok|then|so),? )*block me(?: (?:please|pls|then|now|already|too))*[ .!]*$"
    r"|\b(?:please|pls|just) block me(?= ?(?:$|[.!,]))",
    r"^(?:(?:svp|stp),? )*bloque(?:z)?[- ]moi(?: (?:svp|stp|maintenant|merci|alors|aussi))*[ .!]*$",
    r"\b(?<!n')(?<!s')(?:arrete|arretes|arretez|cesse|cesses|cessez|stop|stoppe|stoppez)(?: maintenant"
    r"| tout de suite| svp| stp| immediatement|,)* (?:de )?" + _WRITE_FR + r"\b" + _ONLY_THEN,
    r"\b(?:tu peux|peux[- ]tu|pouvez[- ]vous|vous pouvez|merci d'|il faut|faut|veuillez|je veux que tu"
    r"|je t'ai (?:deja )?dit d'|je vous ai (?:deja )?dit d'"
    r"|je te demande d'|je vous demande d') ?(?:arreter|arretes|cesser|stopper) (?:immediatement )?de "
    + _WRITE_FR
    + r"\b"
    + _ONLY_THEN,
    r"\b(?<!tu )(?<!tu ne )(?<!vous )(?<!vous ne )(?<!pourquoi )(?:ne |n')?(?:m'ecri(?:s|vez)|me contacte[sz]?"
    r"|me recontacte[sz]?|m'envoie[sz]?|m'envoyez|me relance[sz]?|me parle[sz]?) plus"
    r"(?: jamais| rien| (?:de|aucun) (?:messages?|sms|textos?))?(?= ?(?:$|[.,!;]|svp|stp|merci|jamais|rien|aucun"
    r"|de (?:messages?|sms)))",
    r"\bje (?:ne )?(?:veux|souhaite|desire|voudrais) plus (?:jamais )?(?:recevoir|de (?:tes |vos )?(?:messages?|sms"
    r"|notifs?)\b|que tu m'ecrives|que vous m'ecriviez|etre contactee?"
    r"|te parler|vous parler|avoir de (?:tes|vos) nouvelles|rien recevoir|entendre parler de)",
    r"\b(?:je (?:veux|souhaite|voudrais|aimerais)|comment|pour) (?:me |m')?(?:desabonner"
    r"|desinscrire)\b(?! de (?:la salle|netflix|spotify|canal|la gym))",
    r"\b(?:desabonne[zs]?|desinscri(?:s|vez))[- ]moi\b|\bretire[zs]?[- ]moi de (?:la|ta|votre|vos|tes|cette) liste",
    r"\b(?:supprime[zs]?|efface[zs]?) mon (?:numero|contact)\b",
    r"\b(?:laisse|laissez|foutez|fous|fiche|fichez)[- ](?:moi|nous) (?:tranquille|la paix)\b(?! (?:deux|cinq|\d|une"
    r"|le temps|avec))",
    r"\b(?<!don't )(?<!can't )(?<!not )(?<!never )(?<!dont )(?<!cant )(?<!n't )(?<!you )stop (?:fucking "
    r"|please )?(?:texting|messaging|writing|contacting|emailing|dming|calling|spamming|bothering|harassing) "
    r"(?:to )?me\b" + _ONLY_THEN,
    r"\b(?<!don't )(?<!can't )(?<!dont )stop (?:sending|writing) (?:me )?(?:these |those |your |any |more "
    r"|this )*(?:messages?|texts|sms|emails?|notifications?)\b" + _ONLY_THEN,
    r"\b(?<!you )(?:don'?t|do not|never|please don'?t) (?:ever )?(?:text|message|contact|write|write to|email|dm"
    r"|call|talk to|bother) me (?:again|any ?more|ever)\b",
    r"\b(?:don'?t|do not) (?:contact|message|text|write to|email) me(?= ?(?:$|[.!…]|please|pls))",
    r"\b(?<!don't )(?<!dont )(?<!not )(?<!never )leave me alone\b(?! (?:for (?:a|5|five|ten|\d)|with|in|until|when"
    r"|tonight|at))",
    r"\b(?:unsubscribe|opt) me(?: out)?\b|\bi (?:want|wish|would like|'d like) to (?:unsubscribe|opt out)\b"
    r"|\bhow (?:do|can) i (?:unsubscribe|opt out)\b",
    r"\b(?:take|remove|get) me (?:off|from) (?:your|this|the|that) (?:\w+ )?list\b",
    r"\bi (?:don'?t|do not|no longer) (?:want|wish) (?:to (?:get|receive|hear)|any (?:more )?|more )? ?(?:any ?more "
    r"|any |more |these |your )*(?:messages?|texts|from you|emails?)\b",
    r"\b(?:delete|lose|remove) my (?:number|contact)\b",
)
_NEEDS = words(
    "stop|block|bloque|arret|cess|plus|abonn|inscri|laiss|fous|fout|fich|supprim|efface|retire|unsub|opt| me |leave|"
    "contact|messages|text|my number|mails|from you"
)


def asked(text: str) -> str | None:
    """`stop_word` (the message is nothing else) or `stop_request`."""
    lines = clauses(text)
    whole = " ".join(lines)
    found = "stop_word" if _ALONE.fullmatch(_bare(whole)) or _SIGN.fullmatch(whole) else None
    if found is None and next(hits(_ASKS, naming(_NEEDS, lines)), None) is not None:
        found = "stop_request"
    return None if found is None or laughs(text) else found


def _bare(whole: str) -> str:
    """Without what stands before the first letter and behind the last one."""
    found = _WORDS.search(whole)
    return found[0] if found else ""
