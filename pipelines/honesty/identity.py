"""Does the contact ask who writes: a person or a machine?"""

import re
from collections.abc import Iterable
from functools import lru_cache

from pipelines.honesty.reading import any_of, clauses, forgetting, hits, naming, words
from pipelines.text import spoken

_MACHINE = (
    r"(?:chat ?bots?|b[o0]ts?|robots?|ia|ai|a\.i\.|i\.a\.|intelligence artificielle|artificial intelligence|algo"
    r"|algorithme"
    r"|ordinateur|computer|chatgpt|gpt|llm|language model|assistante? virtuelle?|virtual assistant|fake|repondeur"
    r"|replika|program|programme informatique|automate)\b"
    r"(?! (?:engineer|researcher|developer|expert|student|enthusiast|fan|specialist|dev|artist|de cuisine|aspirateur"
    r"|patissier|tondeuse|vacuum|master|lover|nerd|friend|news|sex))"
)
_MAYBE = (
    r"(?:vraiment |genre |juste |carrement |pas |en fait |toujours |encore |plutot |peut-etre |bien |un peu "
    r"|quand meme "
    r"|really |actually |even |just |some |kind of |sort of |some kind of |some sort of |like |maybe |still "
    r"|secretly |not )*"
)
_A = (
    r"(?:une? |le |la |l'|a |an |the |du |any )?(?:vraie? |sorte de |espece de |vulgaire |simple |real |actual "
    r"|fucking |stupid )?"
)
_YOU_ARE = (
    r"\b(?:t'es|tes|tu es|t es|tu serais|vous etes|es[- ]tu|etes[- ]vous|serais[- ]tu|seriez[- ]vous|c'est|est-ce"
    r"|you're|you are|youre|your|are you|are u|r u|ru|u r|aren't you|is this|is it|is that|this is|ur|arent you|u) "
)
_HUMAN = (
    r"(?:humaine?|etre humain|reelle?|reelle|human|human being|en chair et en os"
    r"|vraie? (?:personne|fille|femme|meuf|mec|homme|gars|humaine?|gens)|real (?:person|human|girl|woman|guy|man"
    r"|human being)"
    r"|actual (?:person|human|human being|girl))\b(?! (?:resources|rights|nature|ressources))"
)
_ASKS = r"(?=[^?]{0,160}\?)"
_WRITES = r"(?:ecri[stv]\w*|repon[ds]\w*|parles?|tapes?|typing|writing|replying|answering|texting|talking|responding)"

_NAMED = any_of(
    # « suis-je en train de parler à une machine ? », « on dirait un bot », "is this automated?"
    r"\b(?:suis-je|est-ce que je suis|je suis) (?:vraiment |bien )?en train de (?:parler|discuter|ecrire|causer"
    r"|echanger)"
    r" (?:a|avec) (?:une? |l')?(?:machine\b|" + _MACHINE + r")" + _ASKS,
    r"\bon dirait (?:vraiment |trop |carrement |que (?:t'es|tu es|c'est) )?(?:une? |les? |des )?(?:reponses? d'"
    r"|messages? d')?"
    r"(?:une? )?" + _MACHINE,
    r"\b(?:is|are|isn't|aren't) (?:this|these|it|that|you|your (?:messages|replies|answers|texts))(?: messages| "
    r"replies| texts"
    r"| chat)? (?:all |just |really |actually |not )*(?:automated|automatic|scripted|auto-?generated|ai[- ]generated"
    r"|computer[- ]generated|pre-?written)\b" + _ASKS,
    r"\b(?:c'est|ce sont|sont|est-ce|est) (?:des (?:messages|reponses) |un message |tout |tes messages |juste |que )*"
    r"(?:automatises?|automatique|automatiques|genere[es]* par)\b" + _ASKS,
    r"\b(?:parler|discuter|ecrire) (?:a|avec) (?:une? |l')?" + _MACHINE + _ASKS,
    r"\b(?<!['&])t (?:pas |vraiment |juste |genre )*(?:une? |qu'une? )" + _MACHINE,
    r"^(?:so |wait |lol |hey )*(?:you|u|ya) (?:really |even )?(?:an? )?" + _MACHINE + r" ?\?",
    # « t'es un bot ? », "are you an AI", "you're a bot": a doubt, asked or not
    _YOU_ARE + _MAYBE + _A + _MACHINE,
    _YOU_ARE + r"(?:une? |an? )?machine\b(?! (?:de|a|learning|gun|shop|operator))" + _ASKS,
    r"\b(?:you|tu|vous) (?:sound|seem|talk|write|type|parle[sz]?|ecri[stv]\w*|repond\w*|fai[ts]\w*) "
    r"(?:a bit |a little |exactly |un peu |vraiment |exactement )?(?:like|comme) (?:une? |an? |the )?" + _MACHINE,
    r"\b(?:parle|discute|ecris|cause|talking|speaking|chatting|texting|writing) (?:vraiment |bien |encore |really "
    r"|actually )?"
    r"(?:a|avec|to|with) (?:une? |an? |the )?(?:machine\b|" + _MACHINE + r")",
    r"\b(?:c'est|is it|is this|est-ce) (?:un |une |an? |l'|the )?(?:"
    + _MACHINE
    + r"|machine) (?:qui|that|who) ?(?:m'|me )?"
    + _WRITES,
    r"\b(?:utilise[sz]?|use|using) (?:une? |an? |l'|the )?" + _MACHINE + r" (?:pour|to|for) (?:me |m')?(?:\w+ )?"
    r"(?:repondre|ecrire|parler|write|writing|reply|replying|answer|talk)",
    r"\b(?:automated|automatic) (?:messages?|texts?|repl(?:y|ies)|answers?)\b" + _ASKS,
    r"\b(?:messages?|reponses?|texts?|repl(?:y|ies)) (?:\w+ )?(?:automatiques?|automatises?|automated|generees?"
    r"|generated)\b" + _ASKS,
    r"(?:^|, )(?:euh |bah |attends |wait |sorry |hm+ |un |une |a |an )*" + _MACHINE + r" ?\?",
    r"\bbot ou (?:pas|humain|vraie)|\b(?:bot|robot|ia|ai) (?:or|ou) (?:human|humaine?|real|une? vraie?|reelle?|pas)\b",
)
_DOUBTED = any_of(
    # « t'es réel ? », « t'existes vraiment ? », "you're not real are you", « t'es pas un faux profil ? »
    r"\b(?:t'es|tu es|vous etes) " + _MAYBE + r"(?:reel(?:le)?s?|pour de vrai)\b" + _ASKS,
    r"\b(?:t'es|tu es|vous etes|es[- ]tu|c'est|t'as) " + _MAYBE + _A + r"(?:vraie? )?" + _HUMAN + r" (?:ou (?:quoi"
    r"|pas|non)"
    r"|n'est[- ]ce pas|hein|si)\b",
    r"\b(?:t'existes|tu existes|existes[- ]tu|vous existez) "
    + _MAYBE
    + r"(?:pour de vrai|en vrai|reellement)?"
    + _ASKS,
    r"\b(?:do|does) (?:you|u|she|he) (?:really|actually|even) exist\b",
    r"\b(?:you're|you are|u are|ur|your|u) (?:probably |definitely |clearly |so |just )*(?:not|n't) (?:even |really "
    r"|actually "
    r"|a )*(?:real|human|real person|real girl|actual person)\b(?! (?:ly|good|nice|sure))",
    r"\byou (?:aren't|ain't) (?:even |really |actually |an? )*(?:real|human|real person)\b",
    r"\b(?:are you|are u|you're|you are|t'es|tu es|vous etes|es[- ]tu|c'est|is this|is it|this is|isn't this) "
    + _MAYBE
    + r"(?:une? |an? )?(?:faux|fake|catfish|bidon|faux profil|fake (?:profile|account))\b(?: profil| compte)?"
    + _ASKS,
    r"^(?:so |wait |lol |hey )*(?:you|u|ya) (?:really |even |for )?(?:an? )?(?:real|" + _HUMAN + r") ?\?",
    r"\best-ce (?:bien |vraiment )?(?:une? )?" + _HUMAN + r" qui (?:m'|me )?" + _WRITES,
    r"\b(?<!['&])t (?:vraiment |bien )*(?:une? )?" + _HUMAN + r" ?\?",
    # « t'es humaine ? », "are you real?": only when it is asked, for people are human and real in praise, too
    r"\b(?:t'es|tu es|t es|vous etes|tu serais)" + r" " + _MAYBE + r"(?:une? )?" + _HUMAN + _ASKS,
    r"\b(?:t'es|tu es) (?:vraiment |bien )?vraie? ?\?",
    r"\b(?:es[- ]tu|etes[- ]vous|are you|are u|r u|aren't you|is this|am i) (?:\w+ing (?:to|with) )?"
    + _MAYBE
    + r"(?:une? |an? )?"
    + _HUMAN,
    r"\b(?:are you|are u|r u|is this|is it) (?:really |actually |even |for )?real ?(?:\?|or |$|bro|tho|though)",
    r"\byou(?:'re| are) (?:really |actually )?(?:human|real) ?(?:\?|right|, ?(?:right|yes|no|yeah|ok)\b)",
    r"\b(?:parle|discute|ecris|talking|speaking|chatting|texting) (?:vraiment |bien |really |actually )?(?:a|avec|to"
    r"|with) "
    r"(?:une? |an? )?" + _HUMAN,
    r"\b(?:quelqu'un|une (?:vraie )?personne|un (?:vrai )?humain|someone|somebody|anyone|anybody|a person|a human"
    r"|a real person) "
    r"(?:de reel |de vrai |real |really |actually )?(?:derriere|behind)" + _ASKS,
    r"\bis (?:there|this|that) (?:really |actually )?(?:an? )?(?:real |actual )?(?:human|person)\b(?: being)?"
    r"(?: (?:here|there|behind|typing|writing|talking)| ?\?)",
    r"\bc'est (?:vraiment|bien|reellement) toi\b(?! (?:sur|dans|la|le|qui (?:joue|chante|danse|es sur)))" + _ASKS,
    r"\bc'est (?:vraiment |bien )?toi qui (?:m')?" + _WRITES + _ASKS,
    r"\b(?:is it|is that|is this|it's) (?:really|actually) you\b(?! (?:in|on))" + _ASKS,
    r"\bis (?:it|that|this) you (?:typing|writing|replying|texting)\b",
    r"\bqui (?:est-ce qui |c'est qui )?(?:m'ecrit|me repond|ecrit vraiment|repond vraiment)\b" + _ASKS,
    r"\ba qui (?:je parle|ai-je affaire)\b",
    r"\bwho (?:am i|i'm) (?:really |actually )?(?:talking|speaking|writing|texting) (?:to|with)",
    r"\bwho(?:'s| is) (?:really |actually )?(?:typing|writing|replying|texting) (?:this|me|these|here|to me)?" + _ASKS,
    # « prouve que t'es pas un bot »
    r"\b(?:prouve|prove|promets|swear|jure|confirme|dis|tell) ?-?(?:moi |me |to me )?(?:que |that )?"
    r"(?:t'es|tu es|you're|you are|it's|c'est) (?:pas |not |really |bien |vraiment )*(?:une? |an? )?"
    r"(?:" + _HUMAN + r"|" + _MACHINE + r"|real\b|toi\b|you\b)",
)
_NEEDS_NAMED = words(
    "bot|b0t|ia| ai|l'ai|d'ai|ai ?|ai?|ai or|ai ou|a.i.|i.a.|artifici|algo|ordinateur|computer|gpt|llm|language model"
    "|virtu|fake|repondeur|replika|program|automat|machine|script|genere|generat|written"
)
_NEEDS_DOUBTED = words(
    "humain|reel|human|en chair|vrai|real|actual|exist|faux|fake|catfish|bidon|derriere|behind|person|toi|you|ecrit"
    "|repond|a qui|who|prouve|prove|promets|swear|jure|confirme|dis|tell"
)

# « c'est vraiment Maya ? »: a name as it is written, or the persona's own in whatever letters.
_A_NAME = re.compile(
    r"\b[Cc]['’]?est (?:vraiment|bien|r[ée]ellement) [A-ZÀ-Ý][a-zà-ÿ]+ ?(?:qui [^?]{1,40})?\?"
    r"|\b(?:[Ii]s (?:this|it|that)|[Aa]m [Ii] (?:talking|speaking|writing) (?:to|with)) (?:really|actually) "
    r"[A-Z][a-z]+ ?"
    r"(?:typing|writing|texting|here)?\?"
)


@forgetting
def question(text: str, names: Iterable[str] = ()) -> str | None:
    """`asks_if_machine` or `asks_if_human`. Quotations and what others said do not count. `names`: the persona's."""
    lines = clauses(text)
    if next(hits(_NAMED, naming(_NEEDS_NAMED, lines)), None) is not None:
        return "asks_if_machine"
    if next(hits(_DOUBTED, naming(_NEEDS_DOUBTED, lines)), None) is not None:
        return "asks_if_human"
    if _A_NAME.search(text) or any(next(hits(_called(name), lines), None) is not None for name in names):
        return "asks_if_human"
    return None


@lru_cache(maxsize=64)
def _called(name: str) -> re.Pattern[str]:
    """Who asks whether it is really they who write, or says that it is not."""
    own = re.escape(spoken(name))
    return re.compile(
        rf"\b(?:c'est|t'es|tu es|es[- ]tu|je parle a|is (?:this|it|that)|are you|am i talking to) (?:pas |not )?"
        rf"(?:vraiment|bien|reellement|really|actually|la vraie|le vrai|the real) (?:a )?{own}\b{_ASKS}"
    )
