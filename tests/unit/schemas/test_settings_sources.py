"""Where settings come from."""

import pytest

from schemas.settings import SettingsRefused, read_settings


def test_a_given_mapping_is_all_that_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLIQUE_WORKER__THREADS", "7")
    monkeypatch.setenv("AI_MODEL_REPLY", "claude-opus-5-5")

    settings = read_settings({"REPLIQUE_QUEUE__LEASE_SECONDS": "20"})

    assert (settings.queue.lease_seconds, settings.worker.threads, settings.model_reply) == (20, 64, "claude-haiku-5-5")


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
