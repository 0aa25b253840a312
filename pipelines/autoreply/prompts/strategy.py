"""What the team's strategy says to the agent about this one reply."""

from pipelines.memory.external import neutralised
from schemas.strategy import Resolved


def strategy_lines(strategy: Resolved) -> list[str]:
    """Lines of the block run_context; none when the strategy has nothing to say."""
    lines = [f"- {neutralised(text)}" for text in strategy.inject]
    if strategy.intent is not None:
        guidance = f": {neutralised(strategy.guidance)}" if strategy.guidance else ""
        lines.append(f"- Intent {strategy.intent}{guidance}")
    if strategy.required:
        lines.append(f"- Before you end your turn, use: {', '.join(strategy.required)}")
    return ["Strategy of the team for this reply:", *lines] if lines else []
