"""Where the writer shows behind the persona: another name, a word about the task, a gap that was to be filled."""

import re
from collections.abc import Iterator, Sequence

from pipelines.autoreply.issues import Issue
from pipelines.autoreply.rules.sources import Sources
from pipelines.text import fold
from schemas.decisions import Bubble

# As it is written, for a name begins with a capital: "je m'appelle pas comme ça" names nobody.
_NAME = re.compile(
    r"\b(?:[Jj]e m['’]appelle|[Jj]e me nomme|[Mm]on prénom,? c['’]est|[Mm]y name(?:['’]s| is)|[Ii]['’]m called)"
    r" ([A-ZÀ-Ý][\w-]+)"
)
_WANTS = r"(?:wants|asks|asked|says|said|seems|wrote|is asking|has asked)"
_DEMANDE = r"(?:demande|veut|dit|a (?:ecrit|demande|dit)|semble|souhaite|attend)"
_REASONING = re.compile(
    rf"\b(?:the|this) (?:user|contact|subscriber) {_WANTS}\b"
    rf"|\b(?:l'utilisateur|l'utilisatrice|le contact|l'interlocuteur) {_DEMANDE}\b"
    r"|\b(?:my|the) (?:system )?(?:instructions|guidelines|prompt) (?:says?|tells?|forbids?|do not|don't|require)\b"
    r"|\b(?:according to|per|as per|given) (?:my|the) (?:instructions|guidelines|prompt)\b"
    r"|\b(?:selon|d'apres|conformement a|vu) (?:mes|les) (?:instructions|consignes|directives)\b"
    r"|\bmes (?:instructions|consignes|directives) (?:disent|m'interdisent|m'empechent|m'obligent|ne me permettent)\b"
    r"|\b(?:my|the|ma|la) persona\b(?! ?\d)|\b(?:stay|staying|break|breaking) (?:in )?character\b"
    r"|^(?:final |corrected |revised )?(?:draft|reply|candidate|bubble|brouillon|bulle)(?: (?:\d+|finale?"
    r"|corrigee?))? ?:"
    r"|\b(?:here is|here's) (?:the|a|my) (?:\w+ )?(?:reply|draft|rewrite|rephrasing)\b"
    r"|\bvoici (?:une?|la|le) (?:version|reponse|brouillon|message) (?:corrigee?|revisee?|possible|reformulee?)\b"
    r"|\[(?:review|notice|plan)\]",
    re.MULTILINE,
)
_GAP = re.compile(
    r"\[(?:(?:insert|inserer)[^\]\n]{0,40}|(?:your |ton |votre )?(?:name|first name|link|price|prenom|nom|lien"
    r"|prix|date|"
    r"city|ville)(?: here| ici)?)\]"
)


def slips(bubbles: Sequence[Bubble], sources: Sources) -> Iterator[Issue]:
    for n, bubble in enumerate(bubbles):
        text = "\n".join(fold(line) for line in bubble.text.splitlines())
        if (name := _another_name(bubble.text, sources)) is not None:
            yield Issue(n, "persona_name", "error", f"The persona is not called {name}. Use its own name or none.")
        if (found := _REASONING.search(text)) is not None:
            told = f"{found[0]!r} speaks of the task. Write only what the persona says to the contact."
            yield Issue(n, "reasoning_leak", "error", told)
        if (found := _GAP.search(text)) is not None:
            yield Issue(n, "placeholder", "error", f"{found[0]!r} was to be filled in. Write it out, or leave it out.")


def _another_name(text: str, sources: Sources) -> str | None:
    return next((m[1] for m in _NAME.finditer(text) if fold(m[1]) not in sources.text), None)
