"""People who sign in to the console: provisioned, listed, and who they are once they are in."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from schemas.access import Role
from schemas.http import Asked, Body
from schemas.ids import KeyId, OrgId, SessionId, UserId
from schemas.resources import Spec
from schemas.spec import Name

PASSWORD_CHARACTERS = (12, 200)
"""The fewest and the most. Length is what makes a password hard to guess; nothing else is asked of it."""


def _lower(email: str) -> str:
    return email.lower()


Email = Annotated[str, Field(pattern=r"^[^@\s]{1,64}@[^@\s]{1,190}$"), AfterValidator(_lower)]
UserRole = Literal["operator", "ops", "admin"]
ConsoleLocale = Literal["en", "fr"]


class UserSpec(Spec):
    """`name` is how jobs, refusals and the audit log call them. The password is theirs: a one-time link sets it."""

    email: Email
    role: UserRole = "operator"
    locale: ConsoleLocale = "en"


class UserDocument(UserSpec):
    kind: Literal["User"]
    name: Name


class UserIn(Asked):
    """`organization`: an operator belongs to one; others see all, and are kept under one only where it is named."""

    name: Name
    email: Email
    role: UserRole = "operator"
    locale: ConsoleLocale = "en"
    organization: Name | None = None


class UserOut(Body):
    id: str
    name: str
    email: str
    role: Role
    locale: str
    organization: str | None
    has_password: bool
    created_at: datetime
    disabled_at: datetime | None = None


class UserLinkOut(Body):
    """`url` sets the password, once, until `expires_at`. It is shown this once."""

    user: str
    url: str
    expires_at: datetime


class UserMade(UserOut):
    """A new user, and the link that lets them in."""

    link: UserLinkOut


@dataclass(frozen=True, slots=True)
class Session:
    """Who is signed in, and what they look at. `own` is the organisation that the role is bound to; `org` the one that
    pages show, None while somebody who sees several has chosen none."""

    id: SessionId
    user: UserId | None
    key: KeyId | None
    who: str
    role: Role
    locale: str | None
    own: OrgId | None
    org: OrgId | None
    organization: str | None
    timezone: str
    now: datetime
    """The database's clock."""
