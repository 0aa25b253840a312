"""The tools of a reply, by name."""

from typing import Any

from pipelines.agent.tools import Tool
from pipelines.autoreply.draft import Draft
from pipelines.autoreply.tools.endings import ConversationPause, LeaveOnRead
from pipelines.autoreply.tools.media import GetMedia, SendImage
from pipelines.autoreply.tools.memory import SearchRag
from pipelines.autoreply.tools.messages import ClearMessages, SendMessage, SendVocal
from pipelines.autoreply.tools.plan import SetPlan
from pipelines.autoreply.tools.selling import SendPayment

TOOLS: tuple[Tool[Any, Draft], ...] = (
    ClearMessages(),
    ConversationPause(),
    GetMedia(),
    LeaveOnRead(),
    SearchRag(),
    SendImage(),
    SendMessage(),
    SendPayment(),
    SendVocal(),
    SetPlan(),
)
TOOL_NAMES = frozenset(tool.name for tool in TOOLS)


def palette(*, recalls: bool) -> tuple[Tool[Any, Draft], ...]:
    """The tools of a reply; `recalls`: its organisation lets it look things up. The same for all its replies, so that
    their prompts begin with the same bytes."""
    return tuple(tool for tool in TOOLS if recalls or tool.name != SearchRag.name)
