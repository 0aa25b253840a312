"""The servers' addresses out of the settings, for processes that cannot do without."""

from pydantic import SecretStr

from schemas.settings import Settings, SettingsRefused


def database_address(settings: Settings) -> str:
    """Raises SettingsRefused."""
    return _given(settings.database_url, "DATABASE_URL")


def redis_address(settings: Settings) -> str:
    """Raises SettingsRefused."""
    return _given(settings.redis_url, "REDIS_URL")


def _given(value: SecretStr | None, name: str) -> str:
    if value is None:
        raise SettingsRefused(f"{name}: not set")
    return value.get_secret_value()
