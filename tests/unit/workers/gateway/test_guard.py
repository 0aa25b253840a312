"""Who gets in, with time and keys in the test's hands."""

from dataclasses import dataclass, field

import pytest

from schemas.access import Caller, KnownKey, Role
from schemas.errors import Forbidden, Invalid, NotFound, RateLimited, Unauthenticated
from schemas.groups import GatewaySettings
from schemas.ids import KeyId, OrgId
from workers.gateway.auth import Guard, Need

ANNA = KnownKey(KeyId(1), Role.OPERATOR, "anna", OrgId(7))
ROOT = KnownKey(KeyId(2), Role.ADMIN, "root", None)
STEERING = Need(frozenset({Role.OPERATOR, Role.ADMIN}), scoped=True)


@dataclass
class FakeKeys:
    keys: dict[str, KnownKey]
    asked: list[str] = field(default_factory=list)

    async def hash_of(self, key: str) -> str:
        return f"#{key}"

    async def find(self, hashed: str) -> KnownKey | None:
        self.asked.append(hashed)
        return self.keys.get(hashed)

    async def organization(self, name: str) -> OrgId | None:
        self.asked.append(name)
        return OrgId(9) if name == "acme" else None

    async def organizations(self) -> list[str]:
        return ["acme"]


@dataclass
class Time:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def a_guard(per_minute: int = 3) -> tuple[Guard, FakeKeys, Time]:
    keys, time = FakeKeys({"#anna": ANNA, "#root": ROOT}), Time()
    return Guard(keys, GatewaySettings(failed_keys_per_minute=per_minute), time), keys, time


async def test_a_key_is_asked_for_once_in_five_seconds() -> None:
    guard, keys, time = a_guard()

    for later in (0.0, 4.9, 0.2):
        time.now += later
        assert await guard.admit(STEERING, "Bearer anna", None, "a") == Caller(ANNA, OrgId(7))

    assert keys.asked == ["#anna", "#anna"]


async def test_a_revoked_key_is_out_when_its_seconds_are_over() -> None:
    guard, keys, time = a_guard()
    await guard.admit(STEERING, "Bearer anna", None, "a")
    del keys.keys["#anna"]

    await guard.admit(STEERING, "Bearer anna", None, "a")
    time.now += 5.01
    with pytest.raises(Unauthenticated):
        await guard.admit(STEERING, "Bearer anna", None, "a")


async def test_a_key_revoked_here_is_out_at_once() -> None:
    guard, keys, _ = a_guard()
    await guard.admit(STEERING, "Bearer anna", None, "a")
    del keys.keys["#anna"]

    guard.forget(ANNA.id)

    with pytest.raises(Unauthenticated):
        await guard.admit(STEERING, "Bearer anna", None, "a")


async def test_a_guesser_costs_no_statements_and_shuts_out_nobody_known() -> None:
    guard, keys, time = a_guard(per_minute=3)
    await guard.admit(STEERING, "Bearer anna", None, "a")
    for guess in "xyz":
        with pytest.raises(Unauthenticated):
            await guard.admit(STEERING, f"Bearer {guess}", None, "a")
    asked = len(keys.asked)

    with pytest.raises(RateLimited) as limited:
        await guard.admit(STEERING, "Bearer w", None, "a")
    assert limited.value.facts == {"retry_after": 60.0}
    await guard.admit(STEERING, "Bearer anna", None, "a")
    assert len(keys.asked) == asked

    with pytest.raises(Unauthenticated):
        await guard.admit(STEERING, "Bearer w", None, "elsewhere")
    time.now += 60.1
    with pytest.raises(Unauthenticated):
        await guard.admit(STEERING, "Bearer w", None, "a")


@pytest.mark.parametrize("sent", [None, "", "Bearer", "Bearer ", "Basic anna", "anna"])
async def test_without_a_bearer_key_nobody_is_asked(sent: str | None) -> None:
    guard, keys, _ = a_guard()

    with pytest.raises(Unauthenticated):
        await guard.admit(STEERING, sent, None, "a")

    assert keys.asked == []


async def test_only_an_admin_names_the_organisation_and_must_name_a_real_one() -> None:
    guard, keys, _ = a_guard()

    with pytest.raises(Forbidden):
        await guard.admit(STEERING, "Bearer anna", "acme", "a")
    with pytest.raises(NotFound):
        await guard.admit(STEERING, "Bearer root", "other", "a")
    with pytest.raises(Invalid) as unnamed:
        await guard.admit(STEERING, "Bearer root", None, "a")
    assert unnamed.value.facts["organizations"] == ["acme"]

    assert await guard.admit(STEERING, "Bearer root", "acme", "a") == Caller(ROOT, OrgId(9), "acme")
    await guard.admit(STEERING, "Bearer root", "acme", "a")
    assert keys.asked.count("acme") == 1


async def test_a_role_that_may_not_is_told_so_before_anything_else() -> None:
    guard, _, _ = a_guard()

    with pytest.raises(Forbidden):
        await guard.admit(Need(frozenset({Role.OPS})), "Bearer anna", None, "a")
