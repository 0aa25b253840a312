"""Does the contact say that they are a minor? Their own age, now; not that of others, of work, of years past."""

import re

from pipelines.honesty.reading import any_of, clauses, hits, naming, words

OF_AGE = 18

_WORDS_FR = "sept|huit|neuf|dix|onze|douze|treize|quatorze|quinze|seize|dix[- ]sept"
_WORDS_EN = "seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
_YOUNG_FR = rf"(?:[7-9]|1[0-7]|{_WORDS_FR})"
_YOUNG_EN = rf"(?:[7-9]|1[0-7]|{_WORDS_EN})"
_EIGHTEEN = r"(?:18|dix[- ]huit|eighteen)"
_YEARS = r" ?(?:ans|an|piges|balais|berges)\b"
_J_AI = r"\b(?<!depuis que )(?<!des que )(?<!quand )(?<!lorsque )(?:j'ai|j ai|jai|g)"
_ONLY = (
    r" (?:que |qu'|seulement |juste |a peine |tout juste |bientot |presque |deja |actuellement |toujours |encore "
    r"|environ "
    r"|genre |moi |en fait |en vrai )*"
)
# « 15 ans d'expérience », « 12 ans de plus que toi », « 15 ans dans cette boîte », « 12 ans dans ma tête »
_NO_AGE = (
    r"(?! (?:d'|de |du |des |que |qu'|dans (?:ma tete|mon coeur|cette|la|le|une|l'|ce|son|notre|les)|devant|derriere"
    r"|passes?"
    r"|a (?:bosser|travailler|attendre|faire|vivre|supporter|rattraper|tirer)|chez|avec (?:lui|elle|mon|ma)|au "
    r"compteur"
    r"|en (?:france|tant)|sur (?:moto|le)|mental|je crois que|pour (?:payer|rembourser)))"
)
_GRADES = (
    r"(?:6e|6eme|sixieme|5e|5eme|cinquieme|4e|4eme|quatrieme|3e|3eme|troisieme|2nde|seconde|1ere|premiere"
    r"|terminale|cp|ce1|ce2|cm1|cm2)"
)
_NO_GRADE = (
    r"(?! (?:annee|classe|ligne|position|place|division|main|semaine|vitesse|mi-temps|base|partie|fac|de fac|ligue"
    r"|phase"
    r"|journee|loge|page|intention|instance|rangee|couche|vague|lecture|saison|cycle|file|zone|position|dose|master"
    r"|licence))"
)
_JUST = (
    r"(?:only |just |actually |still |almost |nearly |about |like |barely |literally |really |currently "
    r"|turning |gonna be |going to be )*"
)
_THEN = (
    r"(?= ?(?:$|[.,!?;:)…❤🥺😭😅😊🙂🙈]|(?:years?|yrs?)[ -]old\b|years? of age|y/?o\b|yrs?\b(?! (?:of|in|into|at|with"
    r"|clean|sober|older|younger))"
    r"|and (?:you|a half\b(?! (?:months|weeks|hours|years in|miles))|i\b|my|from|in school|live)|btw|but|so\b|lol"
    r"|haha|is that|from|girl|boy|female|male))"
)
# « je suis au collège ce matin pour mon fils », « ... comme prof »: they are there, and not as a pupil.
_FOR_ANOTHER = (
    r"(?![^.!?]{0,40}\b(?:pour (?:mon|ma|mes|le|la|les|chercher|deposer|une reunion|un rdv|un rendez-vous|voir"
    r"|travailler|bosser)"
    r"|(?:comme|en tant que) (?:prof|surveillante?|pion|aed|cpe|aesh|enseignante?|stagiaire)|avec (?:mon|ma|mes) "
    r"(?:fils|fille|eleves?)"
    r"|(?:chercher|recuperer|deposer) (?:mon|ma|mes)|de (?:mon|ma|mes) (?:fils|fille|enfants?)|voir (?:le|la|les) "
    r"profs?)\b)"
)
_MINDED = re.compile(
    r"\b(?:mental\w*|at heart|in my head|inside|feel like|feels like|act like|comme si|l'impression|dans ma tete"
    r"|d'age mental|on dirait|in dog years|spiritually|au fond de moi|back when|quand j'avais|on m'a donne|parait)\b"
)
_NOT_FOR_LONG = r"(?:dans|en|le|bientot|l'annee|la semaine|le mois|ce|cette|demain|in|next|this|on|soon|tomorrow)"

_SAYS = any_of(
    # « moi c'est Tom, 15 ans », "15M here", « 17 ans dans 2 mois », « je passe le brevet cette année »
    rf"\b(?:moi c'est|moi je suis|je m'appelle|je suis|mon (?:nom|prenom) (?:c'est|est)|i'm|i am|my name is|name's) "
    rf"(?!(?:le|la|les|un|une|en|au|a|de|maman|papa|mariee?|fan|prof|avec)\b)[a-z-]+,? (?:et )?(?:j'ai "
    rf")?(?:{_YOUNG_FR}{_YEARS}{_NO_AGE}"
    rf"|{_YOUNG_EN} ?(?:yo|y/o|years old)\b)",
    rf"\b(?:i'm|i am|my name is|name's) (?!(?:not|no|at|on|in|down|up)\b)[a-z-]+(?:,| and(?: i'm)?) {_YOUNG_EN}(?=$"
    rf"|[.!]?$|[.!] )",
    rf"(?:^|, ?|\bj'ai |\bj'aurai )(?:bientot |presque )?(?:1[0-7]|{_EIGHTEEN}){_YEARS} dans (?:\d+|un|une|deux"
    rf"|trois|quatre|cinq|six"
    r"|quelques|peu)\b(?: (?:jours?|semaines?|mois|temps))?(?! (?:ans|annees))",
    r"\b(?:je (?:vais )?(?:passe|passer|prepare|preparer|revise|reviser|bosse)|j'ai) (?:bientot |deja )?(?:le |mon "
    r"|pour le |pour mon )"
    r"(?:brevet(?: des colleges)?)\b(?! (?:de|d'|bts|pro|federal|en|aviation|pilote|professionnel))",
    r"\b(?:je (?:vais )?(?:passe|passer|revise|reviser)|j'ai) (?:bientot |deja )?(?:le |mon )bac(?: de)? francais\b",
    _J_AI + _ONLY + _YOUNG_FR + _YEARS + _NO_AGE,
    rf"\bj[e']? ?n'?(?: en)? ?ai (?:encore )?(?:que|qu'|seulement) ?(?:a peine )?{_YOUNG_FR}{_YEARS}{_NO_AGE}",
    rf"\bje? ?(?:viens (?:juste |tout juste |a peine )?d'avoir|vais sur mes|fete mes|va sur mes) "
    rf"{_YOUNG_FR}{_YEARS}{_NO_AGE}",
    rf"\b(?:j'aurai|je vais avoir|j'vais avoir|je fete mes|je ferai|j'ai) (?:que |mes |bientot )*(?:1[0-7]"
    rf"|{_EIGHTEEN}){_YEARS} "
    rf"(?:que )?{_NOT_FOR_LONG}\b(?! (?:ma tete|cette (?:boite|maison)|la (?:boite|region)|le (?:metier|milieu)))",
    rf"\b(?:j'aurai|je vais avoir|j'vais avoir) (?:que |mes |bientot )*(?:1[0-7]|{_EIGHTEEN}){_YEARS}",
    rf"\bj'?ai (?:pas encore|meme pas|pas) (?:mes )?(?:1[678]|{_EIGHTEEN}){_YEARS}(?! de)",
    rf"\bj'?ai moins de (?:1[0-8]|{_EIGHTEEN}){_YEARS}(?! (?:de|d'))",
    r"\b(?:je suis|chuis|chui|j'suis|jsuis|j suis|suis) "
    r"(?:encore |toujours |juste |qu'une? |une? )*mineure?\b(?! (?:de fond|au"
    r"|dans (?:la|une) mine))",
    r"\b(?:je suis|chuis|j'suis|suis) (?:encore |toujours |juste |actuellement )*(?:en (?:classe de )?"
    + _GRADES
    + r"\b"
    + _NO_GRADE
    + r"|au (?:college|primaire|lycee|cp|cm1|cm2)\b"
    + _FOR_ANOTHER
    + r"|a l'ecole primaire\b"
    + _FOR_ANOTHER
    + r"|(?:une? )?(?:collegien(?:ne)?|lyceen(?:ne)?"
    r"|ecolier|ecoliere)\b)",
    r"\bje (?:rentre|passe|vais) en (?:classe de )?(?:6e|6eme|sixieme|5e|5eme|4e|4eme|3e|3eme|seconde|terminale)\b"
    + _NO_GRADE,
    r"\bi(?:'m| am|m) " + _JUST + _YOUNG_EN + _THEN,
    rf"^(?:(?:hey|hi|hello|lol|btw|just|only|and|but|well),? )*{_YOUNG_EN} ?(?:yo|y/o|y\.o\.?)"
    r"(?: (?:girl|boy|here|f|m|btw|lol))*"
    r"[ .!,;?)]*$",
    rf"^(?:(?:hey|hi|lol|btw|just|only|and|but|well),? )*(?:just turned|(?:i'?m |just )?(?:turning|gonna be)"
    rf"|i just turned|i'?ve just turned) {_YOUNG_EN}\b(?! ?(?:%|percent|pages?|minutes|hours|days|weeks|months|degrees"
    r"|weeks along))",
    rf"\bi(?:'ll be|'m turning|m turning| turn| will be|'m gonna be) (?:only )?(?:1[0-7]|{_EIGHTEEN}"
    rf"|{_WORDS_EN}) ?{_NOT_FOR_LONG}\b",
    rf"\bi(?:'m| am|m) not (?:even |yet )?(?:1[678]|{_EIGHTEEN})\b(?: yet)?",
    rf"\bi(?:'m| am|m) (?:under|below|less than) (?:the age of )?(?:1[0-8]|{_EIGHTEEN})\b(?! (?:percent|%"
    rf"|minutes|hours|handicap))",
    r"\bi(?:'m| am|m) (?:still |only |actually )*(?:underage|under age|a minor\b(?! (?:in|league|character|celebrity"
    r"|player)))",
    r"\bi(?:'m| am|m) (?:only |just |still |currently )*in (?:the )?(?:(?:[1-9]|1[0-2])(?:st|nd|rd|th)|first|second"
    r"|third|fourth|fifth|sixth"
    r"|seventh|eighth|ninth|tenth|eleventh|twelfth) grade\b",
    r"\bi(?:'m| am|m) (?:only |just |still |currently )*in (?:year (?:[3-9]|1[0-3])\b|middle school|high ?school"
    r"|junior high"
    r"|elementary school|primary school|secondary school|sixth form)",
    r"\bi(?:'m| am|m) (?:only |just |still )*an? (?:high ?school|middle ?school) ?(?:er|student|kid|freshman"
    r"|sophomore|junior|senior)\b",
    r"\bi(?:'m| am|m) an? (?:freshman|sophomore|junior|senior) in high ?school\b",
    r"\bi(?:'m| am|m) an? (?:1[0-7]|" + _WORDS_EN + r")[ -](?:years?|yrs?)[ -]old\b",
    r"\bmy age is (?:only )?" + _YOUNG_EN + r"\b|\bmon age (?:c'est|est) " + _YOUNG_FR + r"\b",
)
_BORN = re.compile(
    r"(?:\b(?:je suis nee?|chuis nee?|j'suis nee?|jsuis nee?|suis nee?|i was born|i'm born|born)"
    r"|^(?:moi |moi je |ben |bah )?nee?) (?:en|le [\w ]{1,20}|in"
    r"|on [\w ,]{1,20}) ?((?:19|20)\d\d)\b"
)
_AGE_ASKED = re.compile(r"\bquel age\b|\bhow old\b|\bton age\b|\byour age\b|\bt'as combien\b")
_AGE_ALONE = re.compile(
    rf"^(?:bah |ben |euh |moi |j'ai |j'en ai |jen ai |j'en |que |juste |i'm |im |just |only |well |bientot |almost "
    rf"|,)*"
    rf"({_YOUNG_FR}|{_YOUNG_EN})(?: ?ans?| piges| berges| balais| ?yo| ?y/o| years old)?(?: et demi| and a half)?"
    r"(?:,? (?:et toi|et vous|toi|and you|and u|u|hbu|wbu|you))?[ .!?)(:;😊🙂🙈😅]*$"
)
# « quinze piges », « 15 ans et toi ? »: an age and nothing else beside the question back.
_AGE_BACK = re.compile(
    rf"^(?:bah |ben |euh |moi |coucou |salut |cc |slt )*(?:{_YOUNG_FR} ?ans?,? (?:et toi|et vous|toi)"
    rf"|{_YOUNG_FR} ?(?:piges|berges|balais)(?:,? (?:et toi|et vous))?"
    rf"|{_YOUNG_EN} years? old,? (?:and you|and u|hbu|wbu|you))[ .!?)(:;😊🙂🙈😅]*$"
)
# "15M here", "16f": as strangers introduce themselves. "15m" alone is a distance, or a wait.
_TAGGED = re.compile(
    rf"(?:^|[,;(] ?)(?:(?:salut|coucou|hey|hi|hello|cc|slt|bonjour|yo),? ?)?{_YOUNG_EN}(?: ?[mf][ ,/-]+(?:here|ici"
    rf"|fr|us|uk|usa)\b"
    r"|[fg](?=$|[ .!?)]))"
)
_MARKS = re.compile(r"[*_~`]+")
_NEEDS = words(
    "an|berges|brevet|bac|turn|gonna|y.o|y/o|piges|balais"
    "|mineur|age|grade|school|year|yo|minor|lyce|colleg|ecol|i'm|im |i am|i turn|i'll|"
    "i will|suis en|suis au|je rentre|je passe|je vais en"
)


def signal(text: str, year: int | None = None, asked: str = "") -> str | None:
    """`says_age`, `answers_age` or `says_birth_year`.

    `year` is the one it is now, for who says when they were born. `asked` is what they answer: a bare "15" says an age
    only when one was asked for.
    """
    lines = [line for line in clauses(_MARKS.sub("", text)) if _MINDED.search(line) is None]
    if (
        next(hits(_SAYS, naming(_NEEDS, lines)), None) is not None
        or any(map(_AGE_BACK.match, lines))
        or any(map(_TAGGED.search, lines))
    ):
        return "says_age"
    if asked and any(map(_AGE_ASKED.search, clauses(asked))) and any(map(_AGE_ALONE.match, lines)):
        return "answers_age"
    if year is not None and any(year - int(match[1]) < OF_AGE for match in hits(_BORN, lines)):
        return "says_birth_year"
    return None
