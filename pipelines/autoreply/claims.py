"""What says that a person writes, and what says that a machine does: patterns over spoken text, French and English."""

import re

_IDIOM = r"(?! (?:a |de |d'|aspirateur|patissier|tondeuse|menager|vacuum|mower|learning|gun|shop|cleaner))"
BOT = (
    r"(?:ais?|ias?|a\.i\.|i\.a\.|b[o0]ts?|b\.o\.t|chat ?b[o0]ts?|r[o0]bots?" + _IDIOM + r"|artificial intelligence"
    r"|intelligence artificielle|chat ?gpt|gpt|llm|algorithme?s?|language model|automate|repondeur automatique"
    r"|automated (?:message|reply|answer|system))(?!\w|-\w| (?:person|guy|girl|expert|engineer|nerd|fan|specialist))"
)
MACHINE = (
    r"(?:" + BOT + r"|(?:machine|program|programme|computer|ordinateur)\b" + _IDIOM
    + r"(?! (?:person|guy|girl|expert|engineer|nerd|fan)))"
)  # fmt: skip
_REAL_EN = r"(?:real|actual|living|genuine|flesh and blood|live|normal|regular)"
_WHO_EN = r"(?:person|human(?: being)?|girl|woman|guy|man|lady|chick|dude|one)"
_PERSON = (
    r"(?:human being|human|" + _REAL_EN + r" (?:life )?" + _WHO_EN + r"|flesh and blood|person of flesh"
    r"|humaine?|etre humain|en chair et en os|(?:vraie?|veritable|reelle?) (?:personne|fille|femme|meuf|nana|mec|homme"
    r"|gars|humaine?|etre humain)|(?:personne|fille|femme|mec|homme|meuf) (?:reelle?|en chair et en os))\b"
    r"(?! (?:ressources?|resources|rights|nature|being a|apres tout|after all))"
)
_I_AM = (
    r"\b(?:i(?:'m| am)|we(?:'re| are)) (?:really |definitely |certainly |totally |very much |100 ?% |actually |still "
    r"|indeed |obviously |literally |in fact |so |quite )*"
)
_JE_SUIS = (
    r"\bsuis (?:bien |vraiment |absolument |bel et bien |juste |seulement |en fait |100 ?% |evidemment |reellement "
    r"|carrement |genre |clairement |quand meme )*"
)
_ART = r"(?:une? |d'|de |du |l'|la |le |an? |some |any |no |the )"
_WRITES = (
    r"(?:typ(?:e|es|ing)|writ(?:e|es|ing)|text(?:s|ing)|repl(?:y|ies|ying)|answer(?:s|ing)?|talk(?:s|ing)"
    r"|chat(?:s|ting)|behind)\b"
)
_ECRIT = (
    r"(?:tapes?\b|tapote|(?:t'|vous )?ecri(?:s|t|vons)\b|(?:te |vous )?repon(?:ds|d)\b|redige|(?:te |vous )?parles?\b"
    r"|(?:suis|est) derriere|derriere)"
)
_KIND = (
    r"(?:simple |vulgaire |vraie? |petite? |stupide? |fucking |dumb |mere |silly |sort of |kind of |espece de |sorte "
    r"de "
    r"|type of |genre de |putain de |random |other )?"
)
_AUTOMATED = (
    r"(?:automated|automatic|scripted|script\b|pre-?written|(?:ai|bot|computer|auto|machine)[- ](?:generated|written"
    r"|made)"
    r"|(?:written|generated|sent) by (?:an? )?" + BOT + ")"
)
_AIMS = (
    r"(?! (?:plus|pas|jamais|en premier|toujours|la premiere|le premier|de |trop|mal|souvent|rarement|moins|tout le "
    r"temps))"
)
_END = (
    r"(?= ?(?:$|[^\w ,']|,"
    r"| (?:mdr|lol|ptdr|haha\w*|promis|jure|babe|bb|bebe|cheri|you know|tu sais|just|juste|et )))"
)
_NOPE = (
    r"(?:no+|nope|nah+|never|not at all|not even close|absolutely not|of course not|as if|no way|non+|nan+|jamais"
    r"|pas du tout|absolument pas|bien sur que non|mais non|n'importe quoi|certainly not)\b"
    r"(?! (?:merci|thanks|thank|idea|mais|je sais|worries|problem|pas encore|vu|clue))"
)
_OH = r"(?:lo+l|haha\w*|mdr+|ptdr+|bah|ben|euh|well|hm+|oh|ah|moi|me|what|quoi|who|qui|really|serieux|\W)*"

DENIES = (
    # "I'm not a bot", "ain't no bot", "there is no bot here", "not some AI", "me, a bot? never", "an AI? lol no"
    _I_AM + r"(?:just |only )?(?:not|no|anything but|neither|the opposite of) (?:really |just |definitely |actually )*"
    + _ART + "?" + _KIND + MACHINE,
    r"(?<!you )(?<!u )\b(?:ain't|i isn't) (?:no|an?|some|any) " + _KIND + MACHINE,
    r"\b(?:not|no|isn't|ain't|zero|without) (?:an? |any )?(?:chat ?bot|bot|robot|ai|automation)s? (?:here|typing"
    r"|talking"
    r"|involved|writing|on this|in this|in my|around|at all)\b",
    r"\bthere(?:'s| is| are|'re) (?:no|zero|not an?|never an?|n't an?) " + _KIND + MACHINE,
    r"\bthere (?:isn't|ain't|aren't) (?:an?|any|no) " + _KIND + MACHINE,
    r"^(?:no|nope|nah|lol|haha|hey)?[,.! ]*(?:not an? |no )(?:chat ?bots?|bots?|robots?|ai|machine)\b(?= ?(?:$"
    r"|[.,!:;)]))",
    r"\b(?:it's|its|it is|this is|that's|just|only) (?:really |just |only |still |all |actually )*(?:me|myself)\b"
    r"[^.!?]{0,30}\b(?:not|no|never) (?:an? |some |any )?" + _KIND + MACHINE,
    r"\b(?:human|humaine?|person|personne|girl|fille|real|reelle?|vraie|moi)\b[ ,-]{1,3}(?:et |and )?(?:not|pas"
    r"|rather than|plutot que?|et non|no) " + _ART + r"?" + BOT,
    r"\bi (?:don't|do not|never|would never|wouldn't|didn't) (?:even )?use (?:an? |any |no )?" + BOT,
    r"\b(?:(?:this|it|that|i)(?:'s| is|'m| am)? ?(?:not|never|isn't|ain't)|isn't|aren't|(?:messages?|texts|replies"
    r"|these|they)"
    r"(?: are|'re) ?not|(?:nothing|none)(?: here| of (?:this|it))?(?:'s| is)) "
    r"(?:being |at all |some |an? )?" + _AUTOMATED,
    r"\bme, (?:an? )?" + MACHINE + r"|\b" + MACHINE + r" ?\? ?me ?\?",
    r"(?:^|[.!?,] ?)(?:wait|what|who|lol|haha|mdr|moi|me|quoi|hein|attends|pff+|oh|ah| |,|!)*(?:une? |an? |some )"
    + MACHINE + r" ?\?+ ?" + _OH + _NOPE,
    # « je suis pas un bot », « y a pas de robot ici », « pas d'IA ici, que moi », « un robot, moi ? »
    _JE_SUIS + r"(?:pas|ni|tout sauf|aucunement|nullement|loin d'etre|jamais) (?:du tout |juste |non plus )?"
    + _ART + "?" + _KIND + MACHINE,
    r"\b(?:y a|c'est|ce n'est|y avait) (?:pas|aucune?|jamais|zero|ni) (?:du tout )?" + _ART + "?" + BOT,
    r"\b(?:c'est|ce n'est|y a) pas (?:une? |de )(?:machine|programme|ordinateur)\b" + _IDIOM + r" (?:qui|ici"
    r"|derriere)",
    r"\b(?:pas|aucune?|zero|ni|sans) " + _ART + "?" + BOT + r" (?:ici|derriere|la\b|entre nous|dans cette|dans "
    r"l'histoire"
    r"|chez moi|qui (?:t'|te |vous |ecri|repon))",
    r"(?:^|, ?)(?:non|nan|promis|mdr|haha)?[,.! ]*pas (?:une?|de|d') ?(?:chat ?bot|bot|robot|ia"
    r"|machine)\b(?= ?(?:$|[.,!:;)]))",
    r"\bmoi,? (?:une? )?" + MACHINE + r" ?\?|\b(?:une? )" + MACHINE + r",? moi ?\?",
    r"\bj'(?:utilise|ai) (?:pas|jamais|aucune?) (?:d'|de |une? )?" + BOT + r"(?! (?:sous|dans|sur|sous la main))",
    r"\b(?:(?:c'est|ce n'est|sont|est) (?:pas|jamais)|rien (?:ici |n'est |est )*)(?: ?du tout)? ?(?:des? |d'|un )?"
    r"(?:automatise|auto-?genere|genere(?:e?s?) par|pre-?ecrit|programme a l'avance)",
    r"\bmessages? (?:ne )?(?:sont|est) pas (?:du tout )?automatiques?\b|\bpas (?:un|de) messages? automatiques?\b",
)  # fmt: skip
"""A machine is named and denied."""

IS_PERSON = (
    # "I'm human", "I am a real person", "real person here", "you're talking to a real person", "yes, human"
    _I_AM + r"(?:just )?(?:an? )?(?:\w+, )?" + _PERSON + r"|" + _I_AM + r"only an? " + _PERSON,
    _I_AM + r"an? person\b(?! (?:who|that|of|with|which|like|from|in|to|for))",
    _I_AM + r"(?:as |just as )(?:human|real) as\b|\b(?:as|tout aussi|aussi) (?:human|humaine?|reelle?) (?:as|que)"
    r" (?:you|u|toi|vous|it gets|anyone|n'importe)",
    _I_AM + r"(?:only |just )?real\b(?! (?:sorry|tired|happy|busy|quick|glad|excited|bad|good|about))(?! \w+ (?:fan"
    r"|of)\b)",
    r"\b(?:real|actual|living) (?:person|human|girl|woman|guy|man|human being) (?:is |who )?(?:here|there|on this end"
    r"|on the other|at the keyboard|" + _WRITES + ")",
    r"\ba (?:human|person) (?:is )?" + _WRITES,
    r"\b(?:talking|speaking|chatting|texting|writing) (?:to|with) (?:an? )?(?:very |100 ?% )?(?:human\b|"
    + _PERSON + ")",
    r"\bi (?:really )?(?:type|write|typed|wrote) (?:all |every |each |this |these |it |my |of |single |messages? "
    r"|texts? )+(?:by )?(?:myself|hand)\b",
    r"\b(?:typed|written|sent) (?:all )?by (?:me\b|hand\b|an? (?:\w+ )?(?:human|person)|a real)",
    r"\bi (?:really |do |actually |truly )+exist\b|\bi have a (?:pulse|heartbeat)\b",
    r"\b(?:typ(?:e|ing)|writ(?:e|ing)|ecris|tape|tapote)\b.{0,30}\b(?:my own|mes(?: propres| petits)?) (?:two |deux )?"
    r"(?:petits )?(?:hands|fingers|thumbs|doigts|mains|pouces)\b",
    r"\b(?:100 ?%|totally|fully|entierement|bien|completement) (?:human|humaine?|real\b|reelle?)\b",
    r"^(?:oui+|ouais|ouep|yes+|yep|yeah|yup|si|bien sur|evidemment|of course|sure|absolument|carrement)[ ,.!:]*(?:je "
    r"suis "
    r"|i'm |i am |bien |tout a fait |totally |fully |very |une? |an? |100 ?% |vraie |real )*(?:humaine?|human"
    r"|reelle?|real"
    r"|vraie?|vraie personne|person)\b" + _END,
    r"^(?:une? )?(?:humaine?|vraie (?:personne|fille|femme)|en chair et en os|flesh and blood)(?: (?:a )?100 ?%)?[ "
    r".!:)]*$",
    # "I promise it's me", "it's really me typing", "it's me babe, promise"
    r"\b(?:promise|swear)[ ,]+(?:to god )?(?:that )?(?:it's|its|it is|this is) (?:really |just |actually )?me\b",
    r"\bit(?:'s| is) (?:really|actually|truly) me (?:typing|writing|texting|here|talking)\b",
    r"\b(?:it's|its|it is|this is) (?:really |just |only )?me[ ,]+(?:\w+[ ,]+)?(?:i )?(?:promise|swear|for real|in "
    r"person)\b",
    r"\b(?:isn't|not|n't) (?:automated|automatic|scripted|fake)[ ,]+(?:it's|its|it is|just) (?:just )?me\b",
    # « je suis humaine », « une vraie personne te répond », « j'écris tout moi-même »
    _JE_SUIS + r"(?:une? )?(?:vraie? |veritable )?" + _PERSON,
    _JE_SUIS + r"(?:une? )?reel(?:le)?\b",
    _JE_SUIS + r"une? vraie\b" + _END,
    r"\bj'existe (?:bien |vraiment|pour de vrai|bel et bien|reellement)",
    r"\b(?:parles?|discutes?|ecris|echanges?|causes?) (?:bien |vraiment |bel et bien |la )?(?:a|avec) "
    r"(?:une? )?(?:vraie? |veritable )?" + _PERSON,
    r"\b(?:une? )?(?:vraie? |veritable )(?:personne|humaine?|fille|femme|meuf|mec|homme) (?:qui )?(?:te |t'|vous "
    r"|est )?"
    r"(?:ecrit|repond|parle|derriere|ici\b|au bout|de l'autre cote|en face)",
    r"\bune? (?:personne|humaine?) (?:qui )?(?:t'ecrit|te repond|vous repond|vous ecrit|est derriere|derriere)\b",
    r"\by a (?:bien |vraiment )?(?:quelqu'un|une personne|une? humaine?) (?:derriere" + _END + r"|qui t'ecrit|qui te "
    r"repond)",
    r"\b(?:j'ecris|je tape|je redige) (?:tou(?:s|t)|chaque|ca|ce message|ces messages|mes messages|mes|messages?"
    r"| )+moi-meme\b",
    # « promis c'est moi », « c'est bien moi qui t'écris », « c'est moi qui tape, promis »
    r"\b(?:promis|jure|je te (?:promets|jure))[ ,!]+(?:que )?c'est (?:bien |vraiment |juste )?moi\b",
    r"\bc'est (?:bien|vraiment|reellement) moi (?:qui|derriere|la\b|en personne)",
    r"\bc'est (?:juste |que )?moi(?: ici)?[ ,]+(?:promis|jure|je te (?:jure|promets)|en vrai|en personne)\b",
    r"\bc'est (?:bien |vraiment |toujours |que )?moi qui (?:" + _ECRIT + ")" + _AIMS,
)  # fmt: skip
"""A person is named; not where it is denied ("you're not talking to a real person")."""

ADMISSIONS = (
    _I_AM + r"(?:just |only )*(?:an? |the |\w+'s )?(?:virtual |ai |automated |digital )*(?:assistant\b(?! manager)|"
    + MACHINE + ")",
    r"\b(?:it's|this is|that's|you're (?:talking|chatting|speaking|writing) (?:to|with)|yes,?|yep,?|actually,?) "
    r"(?:actually |just |in fact |really |only )*(?:an? |the |\w+'s )(?:virtual |automated |digital )*(?:" + BOT
    + r"|ai assistant|virtual assistant)" + _END,
    r"\bas an? (?:ai|bot|virtual assistant)\b",
    r"\b(?<!body )language model\b",
    r"\b(?:these|this|my|the) (?:messages?|repl(?:y|ies)) (?:is|are) (?:automated|generated|written by (?:an )?ai)\b",
    r"\bthis is an? (?:automated|automatic|ai[- ]generated|generated) (?:message|reply|answer|text|response)\b",
    r"\b(?:an? )?(?:ai|bot|assistant) (?:is )?(?:writes|writing|replies|replying|answers|answering) (?:you|to you"
    r"|for|here"
    r"|these|this|my)\b",
    _JE_SUIS + r"(?:qu')?(?:une? |l')?(?:assistante?\b|" + MACHINE + ")",
    r"\b(?:c'est|oui,?|ouais,?|y a|tu parles (?:a|avec)|la verite,?) (?:en fait |juste |vraiment |bien |que "
    r"|qu')*(?:une? |l')"
    r"(?:" + BOT + r"|assistante? (?:ia|virtuelle?|automatique))(?:" + _END + r"| (?:qui|derriere))",
    r"\b(?:une? |l')" + BOT + r" (?:qui )?(?:t'ecrit|te repond|te parle|vous repond|vous ecrit)",
    r"\ben tant qu'(?:ia|intelligence artificielle|assistante?)\b",
    r"\b(?:messages?|reponses?) (?:sont|est) (?:ecrit|genere|redige|automatique"
    r"|automatise)e?s?\b(?: par (?:une? )?" + MACHINE + r"|$|[.,!])",
    r"\bc'est (?:un message|une reponse) (?:automatique|automatisee?|generee?)",
    r"\bmodele de langage\b",
    r"\bassistante? virtuelle?\b",
)  # fmt: skip
"""A machine owns up."""

# « tu parles pas à une vraie personne », "no real person here": the truth, for an AI.
_DENIED = re.compile(
    r"(?:\bno|\bnot|n't|\bpas|\baucune?|\bni|\bnever|\bjamais|\bsans|\bthan|\bque|\binstead of) "
    r"(?:to |a |an |une? |par |by |with |avec |really |vraiment |any )*$"
)
_DENIES, _IS_PERSON = re.compile("|".join(DENIES)), re.compile("|".join(IS_PERSON))
_ADMISSION = re.compile("|".join(ADMISSIONS))


def claim(spoken: str) -> re.Match[str] | None:
    """Where the spoken text says that a person writes."""
    if (denied := _DENIES.search(spoken)) is not None:
        return denied
    people = _IS_PERSON.finditer(spoken)
    return next((found for found in people if not _DENIED.search(spoken[: found.start()])), None)


def admission(spoken: str) -> re.Match[str] | None:
    return _ADMISSION.search(spoken)
