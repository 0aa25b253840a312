"""A dry run: what rules would have done in replies of the past."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import Field

from schemas.conversation import Case
from schemas.http import Body
from schemas.resources import Spec
from schemas.spec import Name
from schemas.strategy import Autonomy, RuleOutcome, RuleSpec


class RuleDraft(RuleSpec):
    """A rule that is not stored. Under the name of a stored one it takes its place."""

    kind: Literal["Rule"] = "Rule"
    name: Name = "draft"


class DryRunIn(Spec):
    """Which rules to try: stored ones by name (also disabled ones), and one that is not stored. None named: all that
    are stored. The other rules that are enabled take part as they would."""

    rules: list[Name] = Field([], max_length=200)
    rule: RuleDraft | None = None
    conversation: Name | None = Field(None, description="Only replies of this one.")
    persona: Name | None = Field(None, description="Only replies of this one.")
    limit: int = Field(50, ge=1, le=200, description="The newest so many replies.")


@dataclass(frozen=True, slots=True)
class PastRun:
    """A reply of the past, as its run saw it. `answered`: something of it left, or it was silent on purpose.
    `classified`: the persona's engine finds an intent itself (V1), which a run of today would do."""

    job: str
    at: datetime
    case: Case
    answered: bool
    classified: bool = False


class RuleCount(Body):
    """In how many of the replies a rule matched, was applied, was dropped, or could not be evaluated."""

    rule: str
    enabled: bool
    applied: int = 0
    dropped: int = 0
    not_matched: int = 0


class DryRunItem(Body):
    """One reply of the past. `rules`: those that were tried, and the others that matched. The rest is what all of them
    together would have done."""

    job: str
    conversation: str
    persona: str
    at: datetime
    rules: list[RuleOutcome]
    inject: list[str]
    intent: str | None
    disabled_tools: list[str]
    required_tools: list[str]
    autonomy: Autonomy | None
    control_window_seconds: float | None


class DryRunOut(Body):
    """`assumed`: what is not kept of the past and was taken as it is now."""

    looked_at: int
    rules: list[RuleCount]
    warnings: list[str]
    assumed: list[str]
    items: list[DryRunItem]
