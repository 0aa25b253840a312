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


@dataclass
class Everywhere:
    """What all gateways count; `away`: nobody can tell."""

    time: Time
    away: bool = False
    asked: int = 0
    until: float = 0.0
    counted: int = 0

    async def count(self, address: str) -> tuple[int, float] | None:
        self.asked += 1
        if self.away:
            return None
        if self.time.now >= self.until:
            self.until, self.counted = self.time.now + 60, 0
        self.counted += 1
        return self.counted, self.until - self.time.now


def several_guards(number: int, per_minute: int) -> tuple[list[Guard], Everywhere, FakeKeys]:
    keys, time = FakeKeys({}), Time()
    shared = Everywhere(time)
    own = GatewaySettings(failed_keys_per_minute=per_minute)
    return [Guard(keys, own, time, shared) for _ in range(number)], shared, keys


async def guessed(guards: list[Guard], times: int) -> list[str]:
    """What becomes of guesses from one address that a balancer deals out in turn."""
    found = []
    for n in range(times):
        try:
            await guards[n % len(guards)].admit(STEERING, f"Bearer guess-{n}", None, "a")
        except (Unauthenticated, RateLimited) as refused:
            found.append(type(refused).__name__)
    return found


async def test_gateways_count_wrong_keys_together_and_each_hears_of_it_by_one_of_its_own() -> None:
    guards, shared, keys = several_guards(3, per_minute=4)
    found = await guessed(guards, 30)

    assert found.count("Unauthenticated") == 6, "four, and one for each gateway that has yet to hear"
    assert (len(keys.asked), shared.asked) == (6, 6), "who is past the limit makes nobody work"
    shared.time.now = shared.until + 0.1
    assert (await guessed(guards, 1)) == ["Unauthenticated"]


async def test_gateways_that_cannot_count_together_count_each_for_itself() -> None:
    guards, shared, _ = several_guards(3, per_minute=4)
    shared.away = True

    assert (await guessed(guards, 30)).count("Unauthenticated") == 12


async def test_a_count_that_was_forgotten_does_not_forget_what_was_counted_here() -> None:
    guards, shared, _ = several_guards(1, per_minute=4)
    await guessed(guards, 3)
    shared.until = 0.0  # it was wiped
    found = await guessed(guards, 3)

    assert found == ["Unauthenticated", "RateLimited", "RateLimited"]


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
