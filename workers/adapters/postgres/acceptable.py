"""What a document must be beyond its schema: names of models that can be read, notices that say something."""

from collections.abc import Iterator

from pipelines.delivery import notice
from pipelines.llm.models import UnknownModel, parse_route
from schemas.errors import Invalid
from schemas.resources import Document, Manifest, OrganizationDocument, PersonaDocument

Fault = tuple[str, str]
"""A field inside its document, and a sentence."""


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


def _routes(organization: OrganizationDocument) -> Iterator[Fault]:
    # A route nobody can read would be passed over at every call, and nobody would know.
    for task, route in organization.models.items():
        try:
            parse_route(route)
        except UnknownModel as error:
            yield f"models.{task}", str(error)


def _notices(persona: PersonaDocument) -> Iterator[Fault]:
    # A notice that says nothing is no notice, and that takes somebody who answers for it.
    for language, words in persona.disclosure.texts.items():
        if not notice.says_something(words):
            yield f"disclosure.texts.{language}", "says nothing: a notice tells contacts that an AI writes"
