"""The body of `POST /v1/apply`: documents of every kind."""

from typing import Annotated, get_args

from pydantic import Field

from schemas.documents import KnowledgeDocument
from schemas.resources import OrganizationDocument, PersonaDocument, Spec
from schemas.showcase import AlbumDocument, MediaDocument
from schemas.strategy import IntentDocument, RuleDocument
from schemas.users import UserDocument

Document = Annotated[
    OrganizationDocument
    | PersonaDocument
    | AlbumDocument
    | MediaDocument
    | KnowledgeDocument
    | RuleDocument
    | IntentDocument
    | UserDocument,
    Field(discriminator="kind"),
]

KINDS: tuple[str, ...] = tuple(
    get_args(each.model_fields["kind"].annotation)[0] for each in get_args(get_args(Document)[0])
)
"""What `kind` may be."""


class Manifest(Spec):
    """The body of `POST /v1/apply`."""

    resources: list[Document] = Field(min_length=1, max_length=1000)
