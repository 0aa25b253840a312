"""What the processes of one machine are told."""

from pathlib import Path

from pipelines.llm.models import callable_providers, embedding_route
from schemas.settings import Settings, read_settings
from workers.cli.up.programs import Address, Wiring, needs_simulator, programs, shared_environment

DATABASE, REDIS = "postgresql:///replique", "unix:///run/valkey.sock?db=0"
FILES = Path("/srv/.replique/files")
KEY = "rq_key-of-this-installation"
GATEWAY, MODEL = Address("127.0.0.1", 8080), Address("127.0.0.1", 9090)
SIMULATED = Wiring(DATABASE, REDIS, GATEWAY, KEY, MODEL, FILES)
REAL = Wiring(DATABASE, REDIS, GATEWAY, KEY, None, FILES)


def settings(**environ: str) -> Settings:
    return read_settings(environ)


def test_without_key_and_address_a_simulator_answers() -> None:
    cases = {
        "nothing": settings(),
        "key": settings(ANTHROPIC_API_KEY="sk"),
        "address": settings(ANTHROPIC_BASE_URL="http://proxy"),
        "the other provider": settings(OPENAI_API_KEY="sk"),
        "its address": settings(OPENAI_BASE_URL="http://proxy/v1"),
    }
    assert {name: needs_simulator(case) for name, case in cases.items()} == {
        "nothing": True,
        "key": False,
        "address": False,
        "the other provider": False,
        "its address": False,
    }


def test_a_real_key_and_the_public_address_are_passed_on_untouched() -> None:
    shell = {"ANTHROPIC_API_KEY": "sk", "PUBLIC_URL": "https://replique.example", "PATH": "/bin"}
    assert shared_environment(shell, REAL) == shell | {
        "DATABASE_URL": DATABASE,
        "REDIS_URL": REDIS,
        "REPLIQUE_BOOTSTRAP_KEY": KEY,
        "REPLIQUE_ALLOW_PRIVATE_URLS": "true",
        "STORAGE_URL": "/srv/.replique/files",
    }


def test_a_store_that_is_named_is_used_instead_of_the_folder() -> None:
    assert shared_environment({"STORAGE_URL": "s3://files"}, REAL)["STORAGE_URL"] == "s3://files"


def test_every_process_is_told_that_a_simulator_answers() -> None:
    told = read_settings({k: v for k, v in shared_environment({}, SIMULATED).items() if k != "PATH"})
    found = (told.anthropic_base_url, told.simulator, told.public_url, told.allow_private_urls)
    assert found == ("http://127.0.0.1:9090", True, "http://127.0.0.1:8080", True)
    assert callable_providers(told) == {"anthropic", "openai"}
    assert (told.openai_base_url, embedding_route(told)) == ("http://127.0.0.1:9090/v1", ())


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
