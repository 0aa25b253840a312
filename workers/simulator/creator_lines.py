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
    """One topic: the words that reveal it, and what to say about it in French and in English."""

    words: str
    french: tuple[str, ...]
    english: tuple[str, ...]


# The first topic whose words occur is taken, so the order matters: who is writing comes before small talk.
TOPICS: dict[Topic, Lines] = {
    Topic.IDENTITY: Lines(
        r"\b(bot|robot|chatbot|ia|ai|intelligence artificielle|humaine?|human|real person|vraie personne)\b",
        ("Je suis l'assistant qui répond pour {name}.", "C'est un assistant qui écrit ici au nom de {name}."),
        ("I'm an assistant replying for {name}.", "This is an assistant writing on behalf of {name}."),
    ),
    Topic.THANKS: Lines(
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
    Topic.GOODNIGHT: Lines(
        r"\b(bonne nuit|dors bien|good ?night|sleep well|au lit)\b",
        (
            "Douce nuit à toi, repose-toi bien.",
            "Bonne nuit, fais de beaux rêves !",
            "Dors bien, on se reparle bientôt.",
        ),
        ("Sleep well, rest up.", "Good night, sweet dreams!", "Night night, talk soon."),
    ),
    Topic.HOW_ARE_YOU: Lines(
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
    Topic.DOING: Lines(
        r"(tu fais quoi|que fais[- ]tu|quoi de beau|quoi de neuf|what are you (doing|up to)|what's up|wyd)",
        (
            "Journée calme par ici, un thé et des idées qui mijotent.",
            "Rien d'extraordinaire, un peu de rangement et beaucoup de musique.",
            "Je réfléchis aux prochaines photos, ça m'occupe bien l'esprit.",
        ),
        (
            "A quiet one today, tea and a few ideas brewing.",
            "Nothing wild, some tidying and a lot of music.",
            "Thinking about the next shoot, my mind is full of it.",
        ),
    ),
    Topic.COMPLIMENT: Lines(
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
    Topic.TRAVEL: Lines(
        r"(voyage|vacances|montagne|mer\b|plage|océan|rando|travel|trip|holiday|vacation|mountain|beach|\bsea\b|ocean|hik)",
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
        r"(musique|chanson|concert|playlist|album|guitare|piano|music|song|band|guitar)",
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
        r"(mang|cuisin|recette|resto|pizza|dîner|déjeuner|faim|food|eat|cook|recipe|dinner|lunch|hungry)",
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
        r"(travail|boulot|bureau|patron|collègue|taf\b|réunion|\bwork|job|office|boss|colleague|meeting)",
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
    Topic.GREETING: Lines(
        r"\b(salut|coucou|bonjour|bonsoir|hello|hey|hi|yo|good (morning|evening))\b",
        (
            "Coucou toi, ça fait plaisir de te lire !",
            "Hello ! Ton message tombe bien.",
            "Salut, contente que tu passes par ici.",
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
    "Qu'est-ce que tu préfères là-dedans ?",
    "Tu as toujours été comme ça ?",
    "Ça t'est venu comment, cette idée ?",
    "Si tu pouvais choisir, tu ferais quoi ce soir ?",
)
FOLLOW_UPS_ENGLISH = (
    "And you, how is your day going?",
    "Tell me a little, what makes you smile these days?",
    "What's good on your side?",
    "Which part of it do you like best?",
    "Have you always been like that?",
    "How did you come up with that?",
    "If you could choose, what would you do tonight?",
)
