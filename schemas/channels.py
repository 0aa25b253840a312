"""The platforms on which a receiver shows what we send."""

from enum import StrEnum


class Channel(StrEnum):
    """`webhook`: a platform we do not know."""

    WEBHOOK = "webhook"
    WHATSAPP = "whatsapp"
    TELEGRAM = "telegram"
    MESSENGER = "messenger"
    INSTAGRAM = "instagram"
