"""What the team's strategy says to the agent about this one reply."""

from pipelines.memory.external import neutralised
from schemas.strategy import Resolved


def strategy_lines(strategy: Resolved, *, for_agent: bool = True) -> list[str]:
    """None when the strategy has nothing to say. The reviewer need not know of tools."""
    lines = [f"- {neutralised(text)}" for text in strategy.inject]
    if strategy.intent is not None:
        guidance = f": {neutralised(strategy.guidance)}" if strategy.guidance else ""
        lines.append(f"- Intent {strategy.intent}{guidance}")
    if strategy.required and for_agent:
        lines.append(f"- Before you end your turn, use: {', '.join(strategy.required)}")
    return ["Strategy of the team for this reply:", *lines] if lines else []
