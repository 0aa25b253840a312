"""The kind `Document`: a text that replies can look things up in."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

from schemas.memory import Scope
from schemas.spec import STRICT, Locale, Name

_NEEDS = {
    Scope.ORGANIZATION: (set(), set()),
    Scope.PERSONA: ({"persona"}, set()),
    Scope.CONTACT: ({"contact"}, {"persona"}),
}
"""By scope: the fields that must name somebody, and those that may besides."""


class DocumentSpec(BaseModel):
    """`scope` says who may look it up: every persona of the organisation, one persona, or replies to one contact (of
    every persona, or of the one that is named). The contact may be one not seen yet. `language` is that of the text;
    absent, the organisation's."""

    model_config = STRICT

    scope: Annotated[Scope, Field(strict=False)]
    persona: Name | None = None
    contact: Name | None = None
    title: str = Field("", max_length=200)
    language: Locale | None = None
    text: str = Field(pattern=r"\S")

    @model_validator(mode="after")
    def _names_whom_it_is_for(self) -> Self:
        must, may = _NEEDS[self.scope]
        named = {field for field in ("persona", "contact") if getattr(self, field) is not None}
        if missing := must - named:
            raise ValueError(f"a document of scope {self.scope} needs {', '.join(sorted(missing))}")
        if strange := named - must - may:
            raise ValueError(f"a document of scope {self.scope} has no {', '.join(sorted(strange))}")
        return self


class KnowledgeDocument(DocumentSpec):
    kind: Literal["Document"]
    name: Name
