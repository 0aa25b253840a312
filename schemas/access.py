"""Who calls, and what their key lets them do."""

from dataclasses import dataclass
from enum import StrEnum

from schemas.ids import KeyId, OrgId


class Role(StrEnum):
    """What a key is for. APP and OPERATOR belong to one organisation; OPS and ADMIN see all."""

    APP = "app"
    OPERATOR = "operator"
    OPS = "ops"
    ADMIN = "admin"

    @property
    def of_one_organization(self) -> bool:
        return self in {Role.APP, Role.OPERATOR}


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A key that is in force. `name` is how people see its holder: on jobs, in the audit log."""

    id: KeyId
    role: Role
    name: str
    org: OrgId | None


@dataclass(frozen=True, slots=True)
class Caller:
    """One authenticated call. `org` None: of no single organisation, or of one that does not exist yet.

    `named` is the organisation an admin named in the header, whether or not it exists.
    """

    key: KnownKey
    org: OrgId | None
    named: str | None = None

    @property
    def who(self) -> str:
        return self.key.name

    @property
    def role(self) -> Role:
        return self.key.role
