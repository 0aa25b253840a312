"""Parameters of a run, from the installation down to the persona."""

from pipelines.agent.parameters import resolve
from schemas.agent import AgentParameters
from schemas.resources import AgentOverrides
from tests.builders import settings


def test_without_overrides_the_defaults_hold() -> None:
    assert resolve(settings()) == AgentParameters()


def test_the_persona_wins_over_the_organisation_over_the_installation() -> None:
    installation = settings(
        REPLIQUE_AGENT__MAX_ITERATIONS="5", REPLIQUE_AGENT__TIMEOUT_SECONDS="60", MAX_FREE_MEDIA="7"
    )
    organisation = AgentOverrides(MaxIterations=6, MaxValidationPasses=0, Enable=False)
    persona = AgentOverrides(MaxIterations=7, MAX_FREE_MEDIA_WINDOW="")

    resolved = resolve(installation, organisation, persona)

    assert resolved == AgentParameters(
        enable=False,
        max_iterations=7,
        timeout_seconds=60,
        max_validation_passes=0,
        max_free_media=7,
        max_free_media_window=None,
    )
