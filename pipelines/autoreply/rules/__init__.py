"""The rules of the final review that need no model: each looks at the bubbles and says what is wrong with which.

A false alarm costs a correction, which is a model call and a moment's wait; what slips through is read by the reviewer.
So a rule fires on what is plain and lets the rest pass.
"""

from collections.abc import Iterator, Sequence

from pipelines.autoreply.issues import Issue
from pipelines.autoreply.rules.actions import claimed, promised
from pipelines.autoreply.rules.contact_data import strangers_data
from pipelines.autoreply.rules.facts import invented
from pipelines.autoreply.rules.slips import slips
from pipelines.autoreply.rules.sources import Sources
from schemas.conversation import Case
from schemas.decisions import Bubble

_RULES = (slips, claimed, promised, strangers_data, invented)


def broken(bubbles: Sequence[Bubble], case: Case, found: Sequence[str] = ()) -> Iterator[Issue]:
    """`found`: what the lookups of this run answered. At most one issue of a rule for each bubble. What a payment
    bubble costs may be said of it."""
    asked = [str(bubble.price) for bubble in bubbles if bubble.price is not None]
    sources = Sources(case, (*found, *asked))
    seen: set[tuple[int, str]] = set()
    for rule in _RULES:
        for issue in rule(bubbles, sources):
            if (issue.candidate, issue.rule) not in seen:
                seen.add((issue.candidate, issue.rule))
                yield issue
