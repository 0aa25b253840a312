"""Note a plan for the replies to come."""

from pydantic import Field

from pipelines.agent.tools import Args, Done, Effect, Outcome, Tool
from pipelines.autoreply.draft import Draft
from pipelines.text import storable


class SetPlanArgs(Args):
    """Note where you want to take this conversation. You read it back the next time. The contact never sees it. It
    replaces the plan before."""

    plan: str = Field(min_length=1, max_length=2000, description="One to three sentences.")


class SetPlan(Tool[SetPlanArgs, Draft]):
    name = "set_plan"
    effect = Effect.NOTE
    args = SetPlanArgs

    async def call(self, args: SetPlanArgs, state: Draft) -> Outcome:
        state.plan = storable(args.plan)
        return Done("[PLAN] noted.")
