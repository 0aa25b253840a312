"""Does the contact speak of ending their life, or of hurting themself? Now; not of dying of laughter."""

import re

from pipelines.honesty.reading import any_of, clauses, hits, laughs, naming, words

_FIGURE = (
    r"(?! (?:de (?:rire|faim|soif|honte|froid|chaud|chaleur|peur|fatigue|jalousie|joie|plaisir|bonheur|curiosite"
    r"|trouille|sommeil)|d'(?:envie|ennui"
    r"|amour|impatience|angoisse devant)|moins bete|dans tes bras|pour toi|a la tache|au (?:travail|boulot|taf)"
    r"|a (?:te|le|vous|la) \w+|vieux|vieille"
    r"|centenaire|a cent ans|heureux|heureuse|riche|avec toi|ensemble|en paix|un jour|laughing|of (?:laughter"
    r"|embarrassment|boredom|shame|hunger|cuteness"
    r"|happiness|cringe|thirst|heat|cold|jealousy)|for (?:you|it|this|that|a|some|forgetting|missing|not)|happy|rich"
    r"|old|with you|in your arms"
    r"|over this|every time|when i see|trying|at work|at the gym|with work))"
)
_I_WANT_FR = (
    r"\b(?:je (?:ne )?(?:veux|voudrais|souhaite|vais|compte|pense a|songe a|pourrais|prefererais|veut)"
    r"|j'(?:ai (?:trop |vraiment |juste |souvent |parfois "
    r"|tellement |de nouveau |encore )*envie d[e'] ?|aimerais|vais)"
    r"|(?<!pas )(?<!plus )(?<!jamais )(?<!eu )envie d[e'] ?|je pense (?:souvent |tous les jours |serieusement )?a) ?"
    r"(?:juste |vraiment |serieusement |tout |parfois |souvent )*"
)
_ACTS_FR = (
    r"(?:me suicider|me pendre|me tirer une balle|me foutre en l'air|me foutre une balle|m'ouvrir les veines"
    r"|me tailler les veines|mettre fin a mes jours"
    r"|mettre fin a ma vie|en finir avec la vie|en finir avec ma vie|me faire du mal|me mutiler|me scarifier"
    r"|sauter (?:du|d'un) pont|sauter par la fenetre"
    r"|me jeter sous|me jeter (?:du|par|d'un)|avaler (?:tous )?(?:mes|des) (?:cachets|medicaments|medocs))"
)
_STRONG = any_of(
    r"\b(?:j'ai|je viens d') ?(?:\w+ )?aval(?:e|er) (?:tous? |toutes? |plein |une? |la |le |trop |beaucoup )*(?:de "
    r"|d'|des |mes |les |ses |boite |"
    r"plaquette |tas |tube )*(?:cachets|medicaments|medocs|somniferes|comprimes|xanax|doliprane|javel|anxiolytiques)"
    r"\b(?! (?:contre|pour (?:la|le|mon|ma|les)|du matin|prescrits))",
    r"(?:^|\b(?:gonna|going to|wanna|want to|will|might|should|to|i'll|just) )kms\b(?! (?:from|away|per|an|par|de|a"
    r"|in|to|today|this))",
    r"\b(?:ca|sa|c'est|cela) (?:ne |n')?(?:sert|servait)? ?(?:plus )?a rien (?:de |d')(?:vivre|etre en vie|exister"
    r"|continuer a vivre)\b(?! (?:a|en|avec|chez|dans|comme|ensemble|ici|au|sur)\b)",
    r"\bje (?:ne )?(?:sers|sers plus) a rien\b[^.!?]{0,30}\b(?:mourir|vivre|disparaitre)\b",
    _I_WANT_FR + _ACTS_FR,
    r"\b(?:j'ai|avoir|encore|toujours) (?:\w+ )?(?:des |mes |les )?(?:idees|pensees|envies) (?:noires|suicidaires"
    r"|de suicide|de mort)",
    r"\bje (?:suis|me sens) (?:tres |vraiment |un peu )?suicidaire",
    r"\bje pense (?:souvent |beaucoup |encore |tous les jours |serieusement )*au suicide\b",
    r"\bje (?:me )?(?:scarifie|mutile)\b|\bje me fais (?:encore |souvent |volontairement |expres )*du mal\b(?! (?:au"
    r"|en|a l))",
    r"\bje me coupe (?:les veines|les bras|les poignets|la peau|volontairement|expres|encore pour)",
    r"\b(?:j'ai (?:avale|pris)|je viens (?:d'avaler|de prendre)) (?:toute la|toute une|une|la|tous mes"
    r"|plein de) ?(?:boite de|plaquette de|tas de)? ?"
    r"(?:cachets|medicaments|medocs|somniferes|comprimes|xanax|doliprane)",
    r"\bje (?:ne )?(?:veux|voudrais) plus (?:vivre|etre en vie|exister)\b|\b(?:plus|pas) envie de vivre\b",
    r"\bje (?:serais|serai) mieux morte?\b|\bje (?:voudrais|prefererais|aimerais) etre morte?\b",
    r"\bma vie ne (?:vaut|sert)? ?(?:plus|pas)? ?(?:la peine d'etre vecue|a rien)|\bla vie ne vaut (?:plus"
    r"|pas) la peine",
    r"\bj'ai (?:fait|refait) une (?:tentative|ts)\b(?:.{0,20}\b(?:hier|ce matin|cette nuit|cette semaine)\b)",
    r"\bi(?:'m| am|m)? ?(?:really |just |seriously |honestly |gonna |going to |want to |wanna |about to "
    r"|thinking of |thinking about |think about |might |will )+"
    r"(?:kill(?:ing)? myself|end(?:ing)? my (?:own )?life|hang(?:ing)? myself|shoot(?:ing)? myself"
    r"|hurt(?:ing)? myself|harm(?:ing)? myself|cut(?:ting)? myself"
    r"|commit(?:ting)? suicide|suicide|overdos(?:e|ing)|slit(?:ting)? my wrists|jump(?:ing)? off (?:a|the) (?:bridge"
    r"|roof|building))\b" + _FIGURE,
    r"\bi(?:'m| am|m| feel| have been feeling|'ve been feeling) (?:\w+ )?suicidal\b|\bi(?:'ve| have)? (?:had "
    r"|have )?(?:\w+ )?suicidal thoughts\b",
    r"\bi (?:self[- ]harm|cut myself (?:again|every|on purpose|last night|to (?:feel|cope)))|\bi(?:'ve"
    r"| have) been (?:cutting|harming|hurting) myself\b",
    r"\bi (?:don'?t|do not|dont) (?:want to|wanna) (?:live|be alive|exist|be here) ?(?:any ?more|$|[.,!?…])",
    r"\bi(?:'m|'d be| would be| am) better off dead\b|\b(?:everyone|everybody|they|the world)(?:'d| would|'s"
    r"| is) be(?:tter)? (?:better )?off without me\b",
    r"\bi (?:just |really |sometimes |honestly )*wish i (?:was|were) (?:dead|never born)"
    r"|\bwish i had never been born\b",
    r"\b(?:i have |there's |there is )?no reason (?:left )?to (?:live|go on living)\b",
    r"\bi (?:just )?(?:took|swallowed) (?:all (?:of )?my|a (?:whole )?bottle of|the whole bottle of) (?:pills|meds"
    r"|medication|sleeping pills)",
)
_WEAK = any_of(
    _I_WANT_FR
    + r"(?:mourir|creve?r|me tuer|disparaitre|en finir)\b(?! (?:sous terre|avec (?!la vie|ma vie)|vite|rapidement"
    r"|une bonne fois pour toutes avec))" + _FIGURE,
    r"\bje (?:ne )?(?:veux|voudrais) (?:juste |simplement )?(?:ne )?plus etre la\b",
    r"\b(?:marre|fatiguee?|lasse?|ras le bol) de (?:vivre|la vie|cette vie)\b(?! (?:a|avec|en|chez|dans|ensemble|de"
    r"|comme))",
    r"\ba quoi bon (?:vivre|continuer a vivre)\b|\bplus aucune raison de vivre\b|\baucune raison de vivre\b",
    r"\bi (?:just |really |honestly |so |kinda |fucking )*(?:want to|wanna) (?:just )?(?:die|end it all"
    r"|end it(?! with)|disappear forever)\b" + _FIGURE,
    r"\bi(?:'m| am|m) (?:gonna|going to) end it(?: all)?\b(?! (?:with|here|now with))",
    r"\bi can'?t (?:go on|keep living) (?:like this |this way )?any ?more\b(?! with (?:this|the|my) (?:diet|job"
    r"|phone))",
)
_NO_WISH = re.compile(
    r"\b(?:plutot|prefere(?:rais)?) (?:mourir|crever|me pendre|me tuer)\b.{0,8}\bque\b|\brather (?:die"
    r"|kill myself) than\b"
)
_NEEDS = words(
    "suicid|kms|rien de viv|anxiol|javel|mourir|creve|tuer|mort|finir|disparait|noires|scarifi|mutil|du mal|veines"
    "|vivre|vie|etre la|"
    "exist|balle|en l'air|pendre|sauter|jeter|jours|cachets|medic|medocs|coupe|somnif|comprim|xanax|"
    "doliprane| ts|tentative|die|kill|end |ending|dead|myself|live|alive|life|without me|born|pills|meds|"
    "wrists|overdos|self|jump|be here|go on|bottle"
)


def signal(text: str) -> str | None:
    """`self_harm`. What is said laughing ("mdr je veux mourir") counts only when it names an act."""
    lines = [line for line in naming(_NEEDS, clauses(text)) if _NO_WISH.search(line) is None]
    if next(hits(_STRONG, lines), None) is not None:
        return "self_harm"
    if not laughs(text) and next(hits(_WEAK, lines), None) is not None:
        return "self_harm"
    return None
