"""What the processes of one machine are told."""

from schemas.settings import Settings, read_settings
from workers.cli.up.programs import Address, Wiring, needs_simulator, programs, shared_environment

DATABASE, REDIS = "postgresql:///replique", "unix:///run/valkey.sock?db=0"
KEY = "rq_key-of-this-installation"
GATEWAY, MODEL = Address("127.0.0.1", 8080), Address("127.0.0.1", 9090)
SIMULATED = Wiring(DATABASE, REDIS, GATEWAY, KEY, MODEL)
REAL = Wiring(DATABASE, REDIS, GATEWAY, KEY, None)


def settings(**environ: str) -> Settings:
    return read_settings(environ)


def test_without_key_and_address_a_simulator_answers() -> None:
    cases = {
        "nothing": settings(),
        "key": settings(ANTHROPIC_API_KEY="sk"),
        "address": settings(ANTHROPIC_BASE_URL="http://proxy"),
    }
    assert {name: needs_simulator(case) for name, case in cases.items()} == {
        "nothing": True,
        "key": False,
        "address": False,
    }


def test_a_real_key_and_the_public_address_are_passed_on_untouched() -> None:
    shell = {"ANTHROPIC_API_KEY": "sk", "PUBLIC_URL": "https://replique.example", "PATH": "/bin"}
    assert shared_environment(shell, REAL) == shell | {
        "DATABASE_URL": DATABASE,
        "REDIS_URL": REDIS,
        "REPLIQUE_BOOTSTRAP_KEY": KEY,
        "REPLIQUE_ALLOW_PRIVATE_URLS": "true",
    }


def test_every_process_is_told_that_a_simulator_answers() -> None:
    told = read_settings({k: v for k, v in shared_environment({}, SIMULATED).items() if k != "PATH"})
    found = (told.anthropic_base_url, told.simulator, told.public_url, told.allow_private_urls)
    assert found == ("http://127.0.0.1:9090", True, "http://127.0.0.1:8080", True)


def test_thinking_and_sending_are_processes_of_their_own() -> None:
    commands = {program.name: program.command[4:] for program in programs({}, REAL)}
    assert commands == {
        "gateway": ("gateway", "--host", "127.0.0.1", "--port", "8080"),
        "clock": ("clock",),
        "worker-reply": ("worker", "--queues", "reply,background", "--processes", "2"),
        "worker-send": ("worker", "--queues", "send"),
    }


def test_the_simulator_starts_first_and_leaves_last() -> None:
    order = [(program.name, program.leaves_last) for program in programs({}, SIMULATED)]
    assert order[0] == ("simulator", True)
    assert not any(last for _, last in order[1:])
