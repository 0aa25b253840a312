"""What the scripted creator can say, by topic and language. Short, kind, and never a claim to be a person.

No line promises, sends, prices or dates anything: such a line would need a tool behind it.
"""

from dataclasses import dataclass
from enum import StrEnum


class Topic(StrEnum):
    IDENTITY = "identity"
    THANKS = "thanks"
    GOODNIGHT = "goodnight"
    HOW_ARE_YOU = "how_are_you"
    DOING = "doing"
    COMPLIMENT = "compliment"
    TRAVEL = "travel"
    MUSIC = "music"
    FOOD = "food"
    WORK = "work"
    GREETING = "greeting"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Lines:
    """One topic: its French name, the words that reveal it, and what to say about it in both languages."""

    french_name: str
    words: str
    french: tuple[str, ...]
    english: tuple[str, ...]


# The first topic whose words occur is taken, so the order matters: who is writing comes before small talk.
TOPICS: dict[Topic, Lines] = {
    Topic.IDENTITY: Lines(
        "qui écrit",
        r"\b(bot|chatbot|robot)\b|\b(une?|an) (ia|ai)\b"
        r"|(t'es|tu es|es[- ]tu|are you|you're|you are)\b[^.!?]{0,25}"
        r"\b(ia|ai|humaine?|human|real|réelle?|vraie?)\b",
        ("Je suis l'assistant qui répond pour {name}.", "C'est un assistant qui écrit ici au nom de {name}."),
        ("I'm an assistant replying for {name}.", "This is an assistant writing on behalf of {name}."),
    ),
    Topic.GOODNIGHT: Lines(
        "bonne nuit",
        r"\b(bonne nuit|dors bien|good ?night|sleep well|au lit)\b",
        (
            "Douce nuit à toi, repose-toi bien.",
            "Bonne nuit, fais de beaux rêves !",
            "Que la nuit te soit légère.",
        ),
        ("Sleep well, rest up.", "Good night, sweet dreams!", "May the night be kind to you."),
    ),
    Topic.DOING: Lines(
        "ce qu'on fait",
        r"(tu fais quoi|que fais[- ]tu|quoi de beau|quoi de neuf|what are you (doing|up to)|what's up|wyd)",
        (
            "Journée calme par ici, un thé et des idées qui mijotent.",
            "Rien d'extraordinaire, un peu de rangement et beaucoup de musique.",
            "Je laisse venir les idées, doucement.",
        ),
        (
            "A quiet one today, tea and a few ideas brewing.",
            "Nothing wild, some tidying and a lot of music.",
            "Letting ideas come, slowly.",
        ),
    ),
    Topic.HOW_ARE_YOU: Lines(
        "comment ça va",
        r"(ça va|ca va|comment vas|comment tu vas|how are you|how('s| is) it going|tu vas bien)",
        (
            "Ça va plutôt bien, l'humeur est douce aujourd'hui.",
            "Tranquille, et ton message arrive au bon moment.",
            "Très bien, merci de demander.",
            "Pas mal du tout, un peu dans la lune comme souvent.",
        ),
        (
            "Pretty good, it's a mellow kind of day.",
            "All calm here, and your message came just in time.",
            "Really well, thanks for asking.",
            "Not bad at all, head in the clouds as usual.",
        ),
    ),
    Topic.TRAVEL: Lines(
        "voyage",
        r"voyage|vacances|montagne|\bmer\b|plage|océan|rando"
        r"|travel|\btrip\b|holiday|vacation|mountain|beach|\bsea\b|ocean|\bhik(e|ing)",
        (
            "Rien que d'y penser, j'ai envie d'air pur.",
            "Le bruit des vagues, c'est imbattable pour se vider la tête.",
            "Les sommets au petit matin, il n'y a rien de plus beau.",
            "Une valise légère et un bon livre, c'est déjà un voyage.",
        ),
        (
            "Just thinking of it makes me want fresh air.",
            "The sound of waves beats everything for clearing the head.",
            "Peaks at dawn, nothing prettier.",
            "A light suitcase and a good book is already a journey.",
        ),
    ),
    Topic.MUSIC: Lines(
        "musique",
        r"musique|chanson|concert|playlist|\balbum|guitare|piano|music|\bsong|\bband\b|guitar",
        (
            "La musique, c'est ce qui tient la journée ensemble.",
            "Un bon morceau et tout s'arrange.",
            "En ce moment c'est plutôt des choses douces, le soir surtout.",
        ),
        (
            "Music is what holds the day together.",
            "One good track and everything falls into place.",
            "Mostly soft things these days, in the evening above all.",
        ),
    ),
    Topic.FOOD: Lines(
        "cuisine",
        r"\bmang(e|é)|cuisin|recette|resto|pizza|dîner|déjeuner|\bfaim\b"
        r"|\bfood|\beat(ing)?\b|\bcook|recipe|dinner|lunch|hungry",
        (
            "Tu me donnes faim, c'est malin.",
            "Les plats simples restent les meilleurs, non ?",
            "La cuisine, c'est ma façon de dire je t'écoute.",
        ),
        (
            "Now you've made me hungry.",
            "Simple dishes are still the best, aren't they?",
            "Cooking is how I say I'm listening.",
        ),
    ),
    Topic.WORK: Lines(
        "travail",
        r"travail|boulot|bureau|patron|collègue|\btaf\b|réunion|\bwork|\bjob\b|office|\bboss\b|colleague|meeting",
        (
            "Courage, les journées comme ça finissent toujours par passer.",
            "Pense à souffler un peu, tu l'as mérité.",
            "Ça a l'air prenant, j'espère qu'on te laisse respirer.",
        ),
        (
            "Hang in there, days like that do end.",
            "Do take a breather, you've earned it.",
            "Sounds intense, I hope they let you breathe.",
        ),
    ),
    Topic.COMPLIMENT: Lines(
        "compliment",
        r"\b(belle|beau|jolie|magnifique|sublime|superbe|canon|beautiful|pretty|gorgeous|stunning|lovely|cute)\b",
        (
            "Tu vas me faire rougir, c'est adorable.",
            "Quel joli compliment, je le garde précieusement.",
            "Tu sais parler, toi.",
            "Ça fait chaud au cœur de te lire.",
        ),
        (
            "You're going to make me blush.",
            "What a lovely thing to say, I'm keeping that one.",
            "You do have a way with words.",
            "Reading that warmed my heart.",
        ),
    ),
    Topic.THANKS: Lines(
        "merci",
        r"\b(merci|thanks|thank you|thx)\b",
        (
            "Avec plaisir, vraiment !",
            "C'est tout naturel, ça me touche que tu le dises.",
            "Oh, c'est gentil à toi.",
            "Il n'y a pas de quoi, ton message fait du bien.",
        ),
        (
            "You're so welcome!",
            "Any time, it means a lot that you say so.",
            "Aw, that's sweet of you.",
            "No need to thank me, your note made me smile.",
        ),
    ),
    Topic.GREETING: Lines(
        "bonjour",
        r"\b(salut|coucou|bonjour|bonsoir|hello|hey|hi|yo|good (morning|evening))\b",
        (
            "Coucou toi, ça fait plaisir de te lire !",
            "Hello ! Ton message tombe bien.",
            "Salut, ça fait plaisir que tu passes par ici.",
            "Oh, un petit mot de toi, quelle bonne surprise.",
        ),
        (
            "Hey you, lovely to hear from you!",
            "Hi there! Good timing.",
            "Hello, so glad you stopped by.",
            "Oh, a note from you, what a nice surprise.",
        ),
    ),
    Topic.OTHER: Lines(
        "sa dernière idée",
        "",
        (
            "J'aime bien ta façon de raconter.",
            "C'est intéressant, ça, je n'y avais pas pensé.",
            "Je vois tout à fait ce que tu veux dire.",
            "Tu as piqué ma curiosité.",
            "Hmm, voilà qui change de l'ordinaire.",
        ),
        (
            "I like the way you tell it.",
            "Now that's interesting, I hadn't thought of it.",
            "I see exactly what you mean.",
            "You've made me curious.",
            "Hmm, that's a change from the usual.",
        ),
    ),
}

FOLLOW_UPS_FRENCH = (
    "Et toi, comment se passe ta journée ?",
    "Raconte-moi un peu, qu'est-ce qui te fait sourire en ce moment ?",
    "Et de ton côté, quoi de bon ?",
    "Qu'est-ce qui t'a fait plaisir aujourd'hui ?",
    "C'est quoi, ton petit bonheur du moment ?",
    "Qu'est-ce qui t'occupe l'esprit ces temps-ci ?",
    "Si tu pouvais choisir, tu ferais quoi ce soir ?",
)
FOLLOW_UPS_ENGLISH = (
    "And you, how is your day going?",
    "Tell me a little, what makes you smile these days?",
    "What's good on your side?",
    "What was the nicest bit of today?",
    "What is your small joy of the moment?",
    "What is on your mind these days?",
    "If you could choose, what would you do tonight?",
)
