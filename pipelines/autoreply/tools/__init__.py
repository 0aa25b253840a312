"""The tools of a reply, by name."""

from typing import Any

from pipelines.agent.tools import Tool
from pipelines.autoreply.draft import Draft
from pipelines.autoreply.tools.endings import ConversationPause, LeaveOnRead
from pipelines.autoreply.tools.media import GetMedia, SendImage
from pipelines.autoreply.tools.messages import ClearMessages, SendMessage, SendVocal
from pipelines.autoreply.tools.plan import SetPlan
from pipelines.autoreply.tools.selling import SendPayment

TOOLS: tuple[Tool[Any, Draft], ...] = (
    ClearMessages(),
    ConversationPause(),
    GetMedia(),
    LeaveOnRead(),
    SendImage(),
    SendMessage(),
    SendPayment(),
    SendVocal(),
    SetPlan(),
)
