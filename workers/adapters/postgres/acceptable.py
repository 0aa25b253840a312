"""What a document must be beyond its schema: names of models that can be read, notices that say something and fit,
rules whose condition compiles."""

from collections.abc import Iterator

from pipelines.autoreply.honesty import claims_to_be_human
from pipelines.autoreply.strategy.conditions import compiled
from pipelines.autoreply.strategy.tokens import CelFault
from pipelines.delivery import notice
from pipelines.llm.models import UnknownModel, parse_choice
from pipelines.text import fits_everywhere, is_blank
from schemas.documents import KnowledgeDocument
from schemas.dry_run import RuleDraft
from schemas.errors import Invalid
from schemas.llm import Task
from schemas.manifest import Document, Manifest
from schemas.resources import OrganizationDocument, PersonaDocument
from schemas.strategy import RuleDocument

Fault = tuple[str, str]
"""A field inside its document, and a sentence."""

# It counts as shown when its bubble is accepted, so it cannot be cut in two.
_SAYS_NO_AI = "does not say that an AI, or something automatic, answers: a notice says so plainly, and denies nothing"
_TOO_LONG = "a notice leaves in one piece and must fit every channel, Instagram's 1000 bytes too"
_ONE_INDEX = "one model makes the vectors of the whole installation: set AI_MODEL_EMBEDDINGS there, and leave this out"


def refuse_unacceptable(manifest: Manifest) -> None:
    """Raises Invalid, naming every field at fault."""
    errors = [
        {"field": f"resources.{n}.{field}", "message": message}
        for n, item in enumerate(manifest.resources)
        for field, message in _faults(item)
    ]
    if errors:
        raise Invalid(f"not accepted: {', '.join(error['field'] for error in errors)}", errors)


def _faults(item: Document) -> Iterator[Fault]:
    if isinstance(item, OrganizationDocument):
        yield from _routes(item)
    elif isinstance(item, PersonaDocument):
        yield from _notices(item)
    elif isinstance(item, KnowledgeDocument):
        if is_blank(item.text):
            yield "text", "says nothing: there is no character in it that is seen"
    elif isinstance(item, RuleDocument):
        yield from rule_faults(item)


def _routes(organization: OrganizationDocument) -> Iterator[Fault]:
    # A route nobody can read would be passed over at every call, and nobody would know.
    for task, route in organization.models.items():
        if task == Task.EMBEDDINGS:
            yield f"models.{task}", _ONE_INDEX
            continue
        try:
            parse_choice(route)
        except UnknownModel as error:
            yield f"models.{task}", str(error)


def _notices(persona: PersonaDocument) -> Iterator[Fault]:
    # A notice that says nothing is no notice, and that takes somebody who answers for it.
    for language, words in persona.disclosure.texts.items():
        if not notice.says_something(words):
            yield f"disclosure.texts.{language}", "says nothing: a notice tells contacts that an AI writes"
        elif claims_to_be_human(words):
            yield f"disclosure.texts.{language}", "says that a human writes: a notice tells contacts that an AI does"
        elif not notice.tells(words, language):
            yield f"disclosure.texts.{language}", _SAYS_NO_AI
        elif not _fits(words, persona):
            yield f"disclosure.texts.{language}", f"{_TOO_LONG}, the persona's name filled in"
    if not all(_fits(words, persona) for words in notice.TEXTS.values()):
        yield "display_name", f"{_TOO_LONG}, and with this name it would not"


def _fits(words: str, persona: PersonaDocument) -> bool:
    return fits_everywhere(notice.shown(words, persona.display_name or persona.name))


def rule_faults(rule: RuleDocument | RuleDraft) -> Iterator[Fault]:
    try:
        compiled(rule.when)
    except CelFault as fault:
        yield "when", str(fault)
    then = rule.then
    for tool in sorted(set(then.disable_tools) & set(then.require_tools)):
        yield "then.require_tools", f"{tool} is disabled by this very rule"
    for name in sorted(set(rule.excludes) & set(rule.requires)):
        yield "requires", f"it excludes rule {name!r} too"
    for field, names in (("excludes", rule.excludes), ("requires", rule.requires)):
        if rule.name in names:
            yield field, "a rule cannot name itself"
