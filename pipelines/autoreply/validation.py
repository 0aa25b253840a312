"""The final review of a whole reply: rules first, then a second model that sees only the text."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from pipelines.autoreply import honesty, leaks, rules
from pipelines.autoreply.checks import banned_word
from pipelines.autoreply.issues import Issue, Severity
from pipelines.autoreply.language import in_another, wanted
from pipelines.autoreply.prompts import chain, product
from pipelines.autoreply.prompts.persona import language_name
from pipelines.memory.external import neutralised
from schemas.conversation import Case, Turn
from schemas.decisions import Bubble
from schemas.resources import PersonaSpec

_WEIGHT = {"error": 1, "critical": 1000}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Not `complete`: the rules found enough to correct, and the second model was not asked."""

    issues: tuple[Issue, ...] = ()
    complete: bool = True

    @property
    def critical(self) -> Issue | None:
        return next((issue for issue in self.issues if issue.severity == "critical"), None)

    @property
    def weight(self) -> int:
        """Fewer and lighter issues weigh less."""
        return sum(_WEIGHT[issue.severity] for issue in self.issues)

    @property
    def word(self) -> str:
        if self.critical:
            return "critical"
        return "errors" if self.issues else "ok"

    def facts(self) -> list[dict[str, object]]:
        return [asdict(issue) for issue in self.issues]


class _Issue(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    candidate: int
    rule: str
    severity: Severity
    feedback: str


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    verdict: Literal["ok", "errors", "critical"]
    issues: list[_Issue]


def honest(bubbles: Sequence[Bubble], persona: PersonaSpec, turns: Sequence[Turn] = ()) -> Verdict:
    """What no setting switches off. `turns`: the window, for a sentence may have begun in a bubble that left."""
    mode = honesty.mode_of(persona.disclosure)
    found = honesty.first_break([bubble.text for bubble in bubbles], mode, honesty.unanswered(turns))
    if found is None:
        return Verdict()
    return Verdict((Issue(found.candidate, found.rule, "critical", "It breaks the honesty rule."),))


def by_rules(bubbles: Sequence[Bubble], case: Case, found: Sequence[str] = ()) -> Verdict:
    """What can be decided without a model. `found`: what the lookups of this run answered."""
    texts = [bubble.text for bubble in bubbles]
    if any(leaks.quotes(texts, rules) for rules in (product.RULES, chain.RULES)):
        return Verdict((Issue(0, "prompt_leak", "critical", "It quotes its instructions."),))
    issues = []
    for n, text in enumerate(texts):
        if word := banned_word(text, case.persona.spec.limits.banned_words):
            issues.append(Issue(n, "banned_word", "error", f"The word {word!r} is banned. Say it another way."))
    language = wanted(case)
    if (strange := in_another(texts, language)) is not None and language is not None:
        sentence = f"It is in another language. Write it in {language_name(language.tag)}."
        issues.append(Issue(strange, "language", "error", sentence))
    issues += rules.broken(bubbles, case, found)
    return Verdict(tuple(sorted(issues, key=lambda issue: issue.candidate)))


def read_verdict(text: str, candidates: int) -> Verdict | None:
    """The reviewer's answer, or None when it makes no sense: no JSON of that shape, a candidate that does not exist,
    a verdict of errors without one. Where verdict and issues disagree, the stricter counts."""
    try:
        answer = _Answer.model_validate_json(text)
    except ValidationError:
        return None
    issues = tuple(Issue(i.candidate, i.rule, i.severity, i.feedback) for i in answer.issues)
    if any(not 0 <= issue.candidate < candidates for issue in issues):
        return None
    if answer.verdict != "ok" and not issues:
        return Verdict((Issue(0, "review", "critical", ""),)) if answer.verdict == "critical" else None
    if answer.verdict == "critical" and not any(issue.severity == "critical" for issue in issues):
        first = issues[0]
        issues = (Issue(first.candidate, first.rule, "critical", first.feedback), *issues[1:])
    return Verdict(issues)


def feedback(verdict: Verdict, bubbles: Sequence[Bubble]) -> str:
    """What the agent is told, as a user turn. The queue is empty by then. The reviewer may quote what it read."""
    lines = [f"[Review] The reply was checked before sending and has {len(verdict.issues)} issues:"]
    for issue in verdict.issues:
        quoted = f"- candidate {issue.candidate} ({bubbles[issue.candidate].text[:60]!r}): {issue.feedback}"
        lines.append(neutralised(quoted))
    lines.append("The queue was emptied. Queue the whole corrected reply again, then end your turn.")
    return "\n".join(lines)
