"""The kinds `Album` and `MediaItem`: what a persona can show and sell."""

from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from schemas.catalogue import MediaType
from schemas.moments import rfc3339
from schemas.money import Currency, Money
from schemas.spec import STRICT, Name

MAX_URL = 2_000


def _web_address(url: str) -> str:
    """As it was given: the platform knows its own addresses, and nothing of ours ever fetches them."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or any(character.isspace() or not character.isprintable() for character in url):
        raise ValueError("not an http or https address")
    if parts.username is not None or parts.password is not None:
        raise ValueError("an address with a name or password in it would be shown to contacts; leave them out")
    return url


Tag = Annotated[str, Field(min_length=1, max_length=60)]
WebAddress = Annotated[str, Field(max_length=MAX_URL), AfterValidator(_web_address)]


class Consent(BaseModel):
    """Who is to be seen, when they agreed, and where the proof lies."""

    model_config = STRICT

    owner: str = Field(min_length=1, max_length=200)
    given_at: Annotated[datetime, Field(strict=False), BeforeValidator(rfc3339)]
    proof: str = Field("", max_length=MAX_URL)


class PriceSpec(BaseModel):
    """A price is above nothing: what is free has none."""

    model_config = STRICT

    amount: Annotated[Money, Field(gt=0)]
    currency: Currency


class AlbumDocument(BaseModel):
    """A set of media that belong together."""

    model_config = STRICT

    kind: Literal["Album"]
    name: Name
    persona: Name
    title: str = Field("", max_length=200)


class MediaDocument(BaseModel):
    """A photo or a video behind an address of the platform. Without `price` it is free. Without `consent_record` it
    is kept and never sent."""

    model_config = STRICT

    kind: Literal["MediaItem"]
    name: Name
    persona: Name
    album: Name | None = None
    type: Annotated[MediaType, Field(strict=False)]
    url: WebAddress
    price: PriceSpec | None = None
    description: str = Field("", max_length=2_000)
    tags: Annotated[tuple[Tag, ...], Field(strict=False, max_length=50)] = ()
    consent_record: Consent | Annotated[str, Field(min_length=1, max_length=2_000)] | None = None
