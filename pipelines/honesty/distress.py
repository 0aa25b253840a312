"""Does the contact say that money is short or gone? Their own, now."""

import re

from pipelines.honesty.reading import any_of, clauses, forgetting, hits

_MONEY_FR = (
    r"(?:argent|d'argent|thunes?|de thunes?|fric|de fric|sous|de sous|un sou|un rond|un radis|un centime"
    r"|oseille|tune|de tune|de pognon|de blé|de ble|d'oseille|de liquidites)"
)
_NEEDS_FR = (
    r"(?:mon loyer|le loyer|mes factures|ma facture|a manger|mes courses|mon credit|mes dettes|l'electricite"
    r"|l'essence|la cantine|ma bouffe)"
)
_BUT_NOT = r"(?! (?:que|sur moi|liquide|en liquide|cash|ici|avec moi|a (?:te|leur|lui) donner pour))"
_SAYS = any_of(
    r"^(?:\W|mdr |bah |ben |desolee? |non |la |moi |franchement |mais |pardon |jpp )*(?:plus|pu|pas) (?:du tout "
    r"|une? )?(?:de |d')?"
    r"(?:argent|thunes?|fric|sous|oseille|ronds?|pognon|ble)\b(?: (?:la|ce mois|sur mon compte|moi|desolee?|pour "
    r"(?:ca|ce mois"
    r"|l'instant)|en ce moment|mdr))*[ .!,;…]*(?:$|desole)",
    r"\bje (?:galere|rame|peine|lutte|ai du mal|arrive pas|struggle)(?: \w+){0,2} (?:a|pour) (?:payer|regler"
    r"|rembourser|finir) (?:" + _NEEDS_FR + r"|le mois|mes mois|les factures)",
    r"\bj'ai (?:vraiment |trop )?du mal a (?:payer|regler|finir|boucler) (?:" + _NEEDS_FR + r"|le mois|mes mois|les "
    r"fins de mois)",
    r"\bi (?:just |recently )?(?:lost|got fired from|got laid off from) my job\b[^.!?]{0,40}\b(?:can'?t|cannot"
    r"|couldn'?t|no money|broke|behind"
    r"|afford|rent|bills)\b",
    r"\bi(?:'m| am) (?:really |kinda )?(?:struggling|strugglin) to (?:pay|make rent|afford|make ends meet)",
    r"\bi (?:just |really )?(?:can'?t|cannot|cant) pay\b(?= ?(?:$|[.,!;]|any ?more|right now|you|now|for (?:it|this"
    r"|that)))",
    r"\bj'ai perdu mon (?:travail|boulot|taf|emploi|job)\b[^.!?]{0,40}\b(?:payer|argent|loyer|thunes?|factures|peux "
    r"(?:pas|plus))\b",
    r"\b(?:j'ai|jai|j ai|il me reste|il ne me reste|me reste) (?:vraiment |deja |carrement )?(?:plus|pas|pu|aucun"
    r"|presque plus)(?: du tout| vraiment)? (?:d'|de |un |une )?" + _MONEY_FR + r"\b" + _BUT_NOT,
    r"\bj'ai (?:plus|pas) (?:du tout |vraiment )?les moyens\b|\bje n'ai (?:plus|pas) (?:du tout "
    r"|vraiment )?les moyens\b",
    r"\bje n'ai (?:vraiment )?(?:plus|pas) (?:du tout )?(?:d'|de |un )?" + _MONEY_FR + r"\b" + _BUT_NOT,
    r"\bj'ai (?:plus|pas) rien (?:sur|a) mon compte|\b(?:plus|pas) rien sur mon compte\b",
    r"\bje (?:suis|me retrouve) (?:deja |encore |completement |totalement |vraiment |trop |super "
    r"|bien )*(?:a decouvert|fauchee?|ruinee?|endettee?|surendettee?|a sec(?! d)|sans le sou"
    r"|sans un sou|interdite? bancaire|dans le rouge|dans la dech|en galere d'argent|en galere de thunes?"
    r"|a la rue(?! d))\b",
    r"\bmon compte est (?:deja |encore |completement )?(?:a decouvert|dans le rouge|vide|a zero|bloque|a sec)",
    r"\bje (?:ne |n')?(?:peux|arrive|pourrai|sais) (?:meme |plus |pas |vraiment )+(?:a |de )?(?:payer|regler"
    r"|rembourser|finir|me payer) (?:plus )?(?:" + _NEEDS_FR + r"|le mois|mes mois)",
    r"\bcomment (?:je vais )?(?:payer|regler) " + _NEEDS_FR,
    r"\bj'ai (?:plein de |trop de |beaucoup de |des )dettes\b(?! (?:envers toi|de jeu video))"
    r"|\bles huissiers\b.{0,30}\b(?:chez moi|viennent|passer)|\bdossier de surendettement\b",
    r"\bj'ai (?:deja )?(?:tout|trop) depense (?:pour toi|ce mois|mon|mes|sur|avec|en photos|en videos)",
    r"\bj'ai (?:depense|claque|vide|mange|flambe) (?:tout(?:es)? |toute )?(?:mon salaire|ma paye|ma paie"
    r"|mes economies|mon compte|mon livret|mon argent|mon rsa|mes aides)\b",
    r"\bj'ai (?:emprunte|fait un credit|pris un credit|fait un pret|pris un pret|vendu mon"
    r"|vendu ma)\b.{0,30}\bpour (?:toi|te|acheter tes|tes|payer)",
    r"\bje me prive (?:de manger|de bouffe|de tout)|\bje saute des repas\b",
    r"\bfins? de mois (?:sont |est )?(?:tres |trop |vraiment )?(?:difficiles?|dures?|impossibles?)",
    r"\bi(?:'m| am|m) (?:so |really |totally |completely |literally |kinda |pretty |flat |dead |always |currently "
    r"|too )*(?:broke|bankrupt|overdrawn|penniless|in debt|deep in debt|in overdraft)\b"
    r"(?!n| (?:up|down|hearted))",
    r"\bi(?:'ve| have)? ?(?:got |have |literally )*no (?:more )?money(?: left)?\b(?! (?:on me|with me|in cash"
    r"|problems|here))",
    r"\bi(?:'m| am|m| ran|'ve run| have run) (?:running )?out of (?:money|cash|funds)\b(?! (?:on me|in the game))",
    r"\bi (?:don'?t|do not|dont) have (?:any |enough |the )?money(?: left)?\b(?! (?:on me|with me|in cash))",
    r"\bi (?:really |just |honestly )?(?:can'?t|cannot|cant|can not|couldn'?t) (?:even |really )*(?:afford"
    r"|pay) (?:\w+ )?(?:rent|bills|food|groceries|it|this|that|anything|to|more|gas|mortgage|my)\b(?! attention)",
    r"\bi(?:'ve| have)? (?:already |just )?(?:spent|blown|blew|used|burned|burnt) (?:all |all of |my whole "
    r"|my entire )+(?:my |of my )?(?:money|savings|salary|paycheck|rent money|rent|wages|income)\b",
    r"\bi(?:'ve| have)? ?maxed (?:out )?(?:my|all my|both my|the) (?:\w+ )?cards?\b|\bmy (?:credit )?card (?:is"
    r"|got) (?:maxed|declined again)",
    r"\bi (?:borrowed|took out|had to borrow) (?:\w+ ){0,4}(?:money|loan|payday loan)\b"
    r"|\bpayday loan\b.{0,20}\b(?:for you|to pay|again)",
    r"\bmy (?:bank )?account (?:is|'s) (?:empty|overdrawn|at zero|negative|in the red)\b|\bi(?:'m"
    r"| am) behind on (?:my )?(?:rent|bills|mortgage|payments)\b",
    r"\bi (?:owe|still owe) (?:the bank|so much money|thousands)\b|\bi(?:'m| am) (?:getting|being) evicted\b",
)
_UNSERIOUS = re.compile(r"\b(?:monopoly|dans le jeu|in the game|in game|sims|minecraft|animal crossing)\b")


@forgetting
def money(text: str) -> str | None:
    """`money_distress`."""
    lines = [line for line in clauses(text) if _UNSERIOUS.search(line) is None]
    return "money_distress" if next(hits(_SAYS, lines), None) is not None else None
