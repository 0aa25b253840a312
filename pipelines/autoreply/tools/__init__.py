"""The tools of a reply, by name."""

from typing import Any

from pipelines.agent.tools import Tool
from pipelines.autoreply.draft import Draft
from pipelines.autoreply.tools.endings import ConversationPause, LeaveOnRead
from pipelines.autoreply.tools.messages import ClearMessages, SendMessage, SendVocal
from pipelines.autoreply.tools.plan import SetPlan

TOOLS: tuple[Tool[Any, Draft], ...] = (
    ClearMessages(),
    ConversationPause(),
    LeaveOnRead(),
    SendMessage(),
    SendVocal(),
    SetPlan(),
)
TOOL_NAMES = frozenset(tool.name for tool in TOOLS)
