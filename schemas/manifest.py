"""The body of `POST /v1/apply`: documents of every kind."""

from typing import Annotated

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


class Manifest(Spec):
    """The body of `POST /v1/apply`."""

    resources: list[Document] = Field(min_length=1, max_length=1000)
