"""Where settings come from."""

import pytest

from schemas.settings import SettingsRefused, read_settings


def test_a_given_mapping_is_all_that_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLIQUE_WORKER__THREADS", "7")
    monkeypatch.setenv("AI_MODEL_REPLY", "claude-opus-5-5")

    settings = read_settings({"REPLIQUE_QUEUE__LEASE_SECONDS": "20"})

    assert (settings.queue.lease_seconds, settings.worker.threads, settings.model_reply) == (
        20,
        64,
        "claude-haiku-5-5,gpt-6-luna",
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REPLIQUE_AGENT__MAX_ITERATIONS", "51"),
        ("REPLIQUE_AGENT__MAX_ITERATION", "5"),
        ("REPLIQUE_QEUE__LEASE_SECONDS", "5"),
        ("AI_MODEL_REPLIES", "x"),
        ("MAX_FREE_MEDIA", "-1"),
        ("MAX_FREE_MEDIA_WINDOW", "a day"),
    ],
)
def test_a_misspelt_or_out_of_range_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsRefused, match=name):
        read_settings({name: value})


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("AI_PROMPT_CACHNG_ENABLED", "AI_PROMPT_CACHING_ENABLED"),
        ("AI_MAX_TOKENS_PER_TRN", "AI_MAX_TOKENS_PER_TURN"),
        ("AI_MODEL_REPLIES", "AI_MODEL_REPLY"),
        ("MAX_FREE_MEDIAS", "MAX_FREE_MEDIA"),
        ("MAX_HISTORY_MESAGES", "MAX_HISTORY_MESSAGES"),
        ("DATABSE_URL", "DATABASE_URL"),
        ("REDIS_ULR", "REDIS_URL"),
        ("ANTROPIC_API_KEY", "ANTHROPIC_API_KEY"),
        ("OPENAI_BASE_ULR", "OPENAI_BASE_URL"),
        ("OPENAI_APIKEY", "OPENAI_API_KEY"),
        ("max_history_mesages", "MAX_HISTORY_MESSAGES"),
    ],
)
def test_a_slip_of_the_pen_is_told_what_was_meant(name: str, meant: str) -> None:
    with pytest.raises(SettingsRefused) as refused:
        read_settings({name: "1"})

    assert str(refused.value) == f"{name}: no such setting; did you mean {meant}?"


@pytest.mark.parametrize("name", ["AI_MODEL_SUMMARY", "MAX_FREE_PHOTOS", "MAX_HISTORY_DAYS"])
def test_an_unknown_name_of_our_families_is_refused_without_a_guess(name: str) -> None:
    with pytest.raises(SettingsRefused) as refused:
        read_settings({name: "1"})

    assert str(refused.value) == f"{name}: no such setting"


INNOCENT = """
AI_GATEWAY_API_KEY AI_PROVIDER AI_MODEL AI_API_KEY AI_AGENT AI_ENABLED ANTHROPIC_AUTH_TOKEN ANTHROPIC_MODEL
ANTHROPIC_LOG ANTHROPIC_CUSTOM_HEADERS OPENAI_API_BASE OPENAI_API_TYPE OPENAI_API_VERSION OPENAI_ORG_ID
OPENAI_API_KEY_2 OPENAI_API_KEY1 DATABASE_URL_REPLICA DATABASE_URL_RO DATABASE_HOST DATABASE_NAME DATABASE_USER
DATA_URL TEST_DATABASE_URL REDIS_TLS_URL REDIS_HOST REDIS_PORT REDIS_PASSWORD REDIS_URL_2 STORAGE_BUCKET STORAGE_DIR
PUBLIC_HOST PUBLIC_IP PUBLIC_KEY PUBLIC_PORT PATH HOME LANG LC_ALL TERM SHELL USER LOGNAME PWD OLDPWD HOSTNAME
EDITOR TZ TMPDIR DISPLAY MAIL MAX_JOBS MAX_WORKERS MAX_MEMORY MAKEFLAGS DEBUG DOCKER_HOST AWS_REGION
AWS_ACCESS_KEY_ID AZURE_OPENAI_API_KEY PGHOST PGDATABASE PYTHONPATH PIP_INDEX_URL PORT PROXY_URL SSH_AUTH_SOCK
XDG_RUNTIME_DIR VIRTUAL_ENV ANTHROPIC_API_URL DATABASE_SSL PUBLIC_URL_BASE OPENAI_MODEL
"""


def test_other_programs_names_stop_nothing() -> None:
    given = read_settings(dict.fromkeys(INNOCENT.split(), "x"))

    assert given == read_settings({})


def test_what_resembles_a_name_that_is_set_rightly_beside_it_is_anothers() -> None:
    settings = read_settings({"MAX_FREE_MEDIA": "3", "REDIS_URL": "redis://x", "REDIS_URI": "redis://y"})

    assert settings.redis_url is not None
    assert settings.redis_url.get_secret_value() == "redis://x"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("REPLIQUE_AGENT__MAX_ITERATION", "; did you mean REPLIQUE_AGENT__MAX_ITERATIONS?"),
        ("REPLIQUE_AGENT__TIMEOUT_SECOND", "; did you mean REPLIQUE_AGENT__TIMEOUT_SECONDS?"),
        ("REPLIQUE_AGENT__USE_REDACTION_VALIDATIONS", "; did you mean REPLIQUE_AGENT__USE_REDACTION_VALIDATION?"),
        ("REPLIQUE_QUEUE__LEASE_SECOND", "; did you mean REPLIQUE_QUEUE__LEASE_SECONDS?"),
        ("REPLIQUE_AGENT__PIGEONS", ""),
    ],
)
def test_a_slip_inside_a_group_is_told_what_was_meant(name: str, told: str) -> None:
    with pytest.raises(SettingsRefused) as refused:
        read_settings({name: "1"})

    assert str(refused.value) == f"{name}: no such setting{told}"
