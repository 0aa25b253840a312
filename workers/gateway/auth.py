"""Who calls, and whether they may: Bearer keys, roles, and the organisation that everything is scoped to."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from schemas.access import Caller, KnownKey, Role
from schemas.errors import Forbidden, Invalid, NotFound, RateLimited, Unauthenticated
from schemas.groups import GatewaySettings
from schemas.ids import KeyId, OrgId

ORGANIZATION = "X-Organization"
_MANY = 10_000

Endpoint = TypeVar("Endpoint", bound=Callable[..., Coroutine[Any, Any, Any]])


class KeyStore(Protocol):
    """Where keys are looked up. Raises `Unavailable`."""

    async def hash_of(self, key: str) -> str: ...

    async def find(self, hashed: str) -> KnownKey | None: ...

    async def organization(self, name: str) -> OrgId | None: ...

    async def organizations(self) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Need:
    """What a route asks of its caller. `scoped`: an admin must name an existing organisation."""

    roles: frozenset[Role]
    scoped: bool = False
    may_create: bool = False
    """The organisation named may not exist yet: the call itself makes it."""


def allows(*roles: Role, scoped: bool = False, may_create: bool = False) -> Callable[[Endpoint], Endpoint]:
    """Marks an endpoint with its Need. An admin may call every route."""

    def mark(endpoint: Endpoint) -> Endpoint:
        endpoint.need = Need(frozenset({*roles, Role.ADMIN}), scoped, may_create)  # type: ignore[attr-defined]
        return endpoint

    return mark


def need_of(endpoint: Callable[..., Any]) -> Need | None:
    """None: the route is open."""
    found = getattr(endpoint, "need", None)
    return found if isinstance(found, Need) else None


class WrongKeys(Protocol):
    """What all gateways have counted of an address."""

    async def count(self, address: str) -> tuple[int, float] | None:
        """One more: how many there are now, and in how many seconds they are forgotten. None: nobody can tell."""


class NobodyElse:
    """One gateway alone, or no Redis: what is counted is counted here."""

    async def count(self, address: str) -> tuple[int, float] | None:
        return None


class FailedKeys:
    """Wrong keys per client address, in windows of a minute: a guesser costs no statements.

    Each gateway counts; where there is Redis it hears with each wrong key what the others have counted. Past the
    limit it asks nobody any more, so a guesser makes neither the database nor Redis work.
    """

    def __init__(self, per_minute: int, now: Callable[[], float], everywhere: WrongKeys) -> None:
        self._per_minute = per_minute
        self._now = now
        self._everywhere = everywhere
        self._windows: dict[str, tuple[float, int]] = {}
        """When it is over, and how many there were."""

    def check(self, address: str) -> None:
        until, count = self._windows.get(address, (0.0, 0))
        rest = until - self._now()
        if count >= self._per_minute and rest > 0:
            raise RateLimited("too many wrong keys from this address", retry_after=rest)

    async def note(self, address: str) -> None:
        self._count(address)
        shared = await self._everywhere.count(address)
        if shared is not None and shared[0] >= self._windows.get(address, (0.0, 0))[1]:
            self._windows[address] = (self._now() + shared[1], shared[0])

    def _count(self, address: str) -> None:
        now = self._now()
        if len(self._windows) >= _MANY:
            self._windows = {who: window for who, window in self._windows.items() if window[0] > now}
        until, count = self._windows.get(address, (0.0, 0))
        self._windows[address] = (until, count + 1) if until > now else (now + 60, 1)


class Guard:
    """Lets callers in. What it has seen in the last seconds it believes, so that a message costs no statement more;
    a revoked key is therefore out after `known_key_seconds` at the latest."""

    def __init__(
        self, keys: KeyStore, settings: GatewaySettings, now: Callable[[], float], everywhere: WrongKeys | None = None
    ) -> None:
        self._keys = keys
        self._seconds = settings.known_key_seconds
        self._now = now
        self._failed = FailedKeys(settings.failed_keys_per_minute, now, everywhere or NobodyElse())
        self._known: dict[str, tuple[float, KnownKey]] = {}
        self._organizations: dict[str, OrgId] = {}

    async def admit(self, need: Need, authorization: str | None, named: str | None, address: str) -> Caller:
        """Raises Unauthenticated, RateLimited, Forbidden, Invalid (an admin names no organisation), NotFound."""
        key = await self._key(authorization, address)
        if key.role not in need.roles:
            raise Forbidden(f"a key of the role {key.role} may not do this")
        if key.role is not Role.ADMIN:
            if named is not None:
                raise Forbidden(f"only an admin names the organisation by {ORGANIZATION}")
            return Caller(key, key.org)
        if named is None:
            if need.scoped:
                raise await self.unnamed()
            return Caller(key, None)
        return Caller(key, None if need.may_create else await self._organization(named), named)

    def forget(self, key: KeyId) -> None:
        """It was revoked here: in this process at once."""
        self._known = {hashed: entry for hashed, entry in self._known.items() if entry[1].id != key}

    async def _key(self, authorization: str | None, address: str) -> KnownKey:
        scheme, _, presented = (authorization or "").partition(" ")
        presented = presented.strip()
        if scheme.lower() != "bearer" or not presented:
            raise Unauthenticated("send a key: `Authorization: Bearer …`")
        hashed = await self._keys.hash_of(presented)
        until, known = self._known.get(hashed, (0.0, None))
        if known is not None and until > self._now():
            return known
        if known is None:  # a key that was good before is looked up again, whatever others try from its address
            self._failed.check(address)
        known = await self._keys.find(hashed)
        if known is None:
            self._known.pop(hashed, None)
            await self._failed.note(address)
            raise Unauthenticated("this key is unknown or revoked")
        self._remember(hashed, known)
        return known

    def _remember(self, hashed: str, known: KnownKey) -> None:
        now = self._now()
        if len(self._known) >= _MANY:
            self._known = {name: entry for name, entry in self._known.items() if entry[0] > now}
        self._known[hashed] = (now + self._seconds, known)

    async def _organization(self, name: str) -> OrgId:
        """Names are never given to another organisation, so what was found once stays true."""
        if (known := self._organizations.get(name)) is not None:
            return known
        found = await self._keys.organization(name)
        if found is None:
            raise NotFound("no such organisation")
        self._organizations[name] = found
        return found

    async def unnamed(self) -> Invalid:
        """What to raise: it lists the organisations there are, so that a client with one of one need not ask."""
        errors = [{"field": ORGANIZATION, "message": "missing: an admin names the organisation"}]
        return Invalid("which organisation?", errors, organizations=await self._keys.organizations())
