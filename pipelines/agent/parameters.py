"""The guards and switches of one run: the installation's, then the organisation's, then the persona's."""

from schemas.agent import AgentParameters
from schemas.resources import AgentOverrides
from schemas.settings import Settings

FIELDS = {
    "Enable": "enable",
    "MaxIterations": "max_iterations",
    "TimeoutSeconds": "timeout_seconds",
    "MaxRefusedToolCalls": "max_refused_tool_calls",
    "MaxValidationPasses": "max_validation_passes",
    "UseRedactionValidation": "use_redaction_validation",
    "HardRemoveDisabledTools": "hard_remove_disabled_tools",
    "PreferAlbumContinuity": "prefer_album_continuity",
    "MAX_FREE_MEDIA": "max_free_media",
    "MAX_FREE_MEDIA_WINDOW": "max_free_media_window",
}
"""Operators' names to ours."""


def resolve(settings: Settings, *levels: AgentOverrides) -> AgentParameters:
    """Later levels win; what a level leaves out is inherited. An empty media window means the whole history."""
    values = settings.agent.model_dump()
    values["max_free_media"] = settings.max_free_media
    values["max_free_media_window"] = settings.max_free_media_window
    values["max_tokens_per_turn"] = settings.max_tokens_per_turn
    for level in levels:
        values |= {FIELDS[name]: value for name, value in level.model_dump(exclude_none=True).items()}
    values["max_free_media_window"] = values["max_free_media_window"] or None
    return AgentParameters(**values)
