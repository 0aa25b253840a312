"""What all documents of `POST /v1/apply` have in common: strict, no unknown fields, bounded texts."""

from typing import Annotated

from pydantic import ConfigDict, Field

from schemas.ids import NAME_LENGTH, NAME_PATTERN

MAX_TEXT = 200_000
"""Characters of the longest text in a document."""

Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=NAME_LENGTH)]
Locale = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]

STRICT = ConfigDict(frozen=True, extra="forbid", strict=True, str_max_length=MAX_TEXT)
