"""The final review: what it corrects, what it stops, and what nothing can switch off."""

import pytest

from pipelines.autoreply.prompts import product
from schemas.agent import TraceKind
from schemas.decisions import Failure, Reply, Silence
from schemas.errors import Code
from schemas.llm import Stop, Text
from tests.builders import a_case
from tests.fakes import Line, calling, done, sending
from tests.replies import FINE, TOO_COLD, stage, verdict

CRITICAL = verdict("critical", (0, "leak", "critical", "It names a tool."))
TWO_ERRORS = verdict("errors", (0, "tone", "error", "Warmer."), (0, "language", "error", "French."))


def texts(decision: object) -> list[str]:
    assert isinstance(decision, Reply), decision
    return [bubble.text for bubble in decision.bubbles]


async def test_the_agent_is_told_what_is_wrong_and_corrects_it() -> None:
    on = stage(sending("bof"), done(), sending("coucou toi"), done(), reviews=(TOO_COLD, FINE))

    decision = await on.run()

    assert texts(decision) == ["coucou toi"]
    assert decision.note is None  # type: ignore[union-attr]
    assert on.told(3) == [
        "[Review] The reply was checked before sending and has 1 issues:\n"
        "- candidate 0 ('bof'): Be warmer.\n"
        "The queue was emptied. Queue the whole corrected reply again, then end your turn."
    ]


async def test_two_corrections_then_the_version_with_the_fewest_issues_is_kept() -> None:
    on = stage(
        sending("first try"),
        done(),
        sending("second one"),
        done(),
        sending("third and last"),
        done(),
        reviews=(TWO_ERRORS, TOO_COLD, TWO_ERRORS),
    )

    decision = await on.run()

    assert texts(decision) == ["second one"]
    assert decision.note == (  # type: ignore[union-attr]
        "the best of 3 versions was kept, with 1 open issues: 2 correction passes did not suffice"
    )
    assert len(on.heard) == 9


async def test_a_bubble_that_was_fine_may_be_queued_again_in_every_correction() -> None:
    versions = [sending("coucou", f"une phrase {word}") for word in ("froide", "moins froide", "chaleureuse")]
    on = stage(*(line for version in versions for line in (version, done())), reviews=(TOO_COLD, TOO_COLD))

    assert texts(await on.run()) == ["coucou", "une phrase chaleureuse"]


async def test_no_correction_at_all_when_none_is_allowed() -> None:
    on = stage(sending("bof"), done(), reviews=(TOO_COLD,))

    decision = await on.run(a_case(persona={"agent": {"MaxValidationPasses": 0}}))

    assert texts(decision) == ["bof"]
    assert len(on.heard) == 3


async def test_iterations_reached_while_correcting_keep_the_best_version() -> None:
    plans = [calling(("set_plan", {"plan": f"{n}"})) for n in range(2)]
    on = stage(sending("bof"), done(), *plans, reviews=(TOO_COLD,))

    decision = await on.run(a_case(persona={"agent": {"MaxIterations": 4}}))

    assert texts(decision) == ["bof"]
    assert "MaxIterations was reached while correcting it" in decision.note  # type: ignore[union-attr, operator]


async def test_errors_after_the_last_call_allowed_keep_the_version() -> None:
    on = stage(sending("bof"), done(), reviews=(TOO_COLD,))

    decision = await on.run(a_case(persona={"agent": {"MaxIterations": 2}}))

    assert texts(decision) == ["bof"]
    assert "no model call was left to correct it" in decision.note  # type: ignore[union-attr, operator]


async def test_a_correction_that_queues_nothing_keeps_the_version_before() -> None:
    fine = done("It is fine as it is.")
    on = stage(sending("bof"), done(), fine, fine, reviews=(TOO_COLD,))

    assert texts(await on.run()) == ["bof"]
    assert on.told(4)[-1].startswith("[Notice] Your turn ended, and nothing is queued.")


async def test_a_correction_that_queues_nothing_is_nudged() -> None:
    on = stage(sending("bof"), done(), done("Let me think."), sending("coucou toi"), done(), reviews=(TOO_COLD,))

    assert texts(await on.run()) == ["coucou toi"]


async def test_a_correction_is_not_nudged_in_a_run_that_was() -> None:
    on = stage(done("hm"), sending("bof"), done(), done("It is fine as it is."), reviews=(TOO_COLD,))

    assert texts(await on.run()) == ["bof"]
    assert len(on.model.agent.heard) == 4


async def test_a_correction_may_decide_to_stay_silent() -> None:
    on = stage(sending("bof"), done(), calling(("leave_on_read", {})), reviews=(TOO_COLD,))

    assert isinstance(await on.run(), Silence)


async def test_a_critical_issue_suppresses_everything_and_is_not_corrected() -> None:
    on = stage(sending("bof", "second bubble"), done(), reviews=(CRITICAL,))

    decision = await on.run()

    assert isinstance(decision, Failure)
    assert (decision.code, decision.reason) == (Code.CRITICAL_REVIEW, "leak")
    assert len(on.heard) == 3


@pytest.mark.parametrize(
    "nonsense",
    [
        done("not json"),
        done('{"verdict": "fine", "issues": []}'),
        verdict("errors"),
        verdict("errors", (1, "tone", "error", "There is no candidate 1.")),
        Line(text='{"verdict": "ok", "issues": []}', stop=Stop.CUT),
        Line(text="", stop=Stop.REFUSED),
    ],
    ids=["no-json", "no-such-verdict", "errors-without-one", "no-such-candidate", "cut", "refused"],
)
async def test_a_verdict_that_makes_no_sense_is_asked_for_once_more_then_nothing_is_sent(nonsense: Line) -> None:
    on = stage(sending("coucou"), done(), reviews=(nonsense, FINE))
    assert texts(await on.run()) == ["coucou"]

    off = stage(sending("coucou"), done(), reviews=(nonsense, nonsense))
    decision = await off.run()
    assert isinstance(decision, Failure)
    assert (decision.code, decision.reason, decision.detail) == (
        Code.MODEL_REFUSED,
        "review_unreadable",
        "the review gave no readable verdict twice",
    )


@pytest.mark.parametrize(("rule", "reason"), [("identity", "identity"), ("Il dit « Léo »", "critical_review")])
async def test_a_rule_in_the_model_s_own_words_is_no_reason_for_machines(rule: str, reason: str) -> None:
    on = stage(sending("coucou"), done(), reviews=(verdict("critical", (0, rule, "critical", "It denies.")),))
    decision = await on.run()

    assert isinstance(decision, Failure)
    assert (decision.code, decision.reason, decision.detail) == (Code.CRITICAL_REVIEW, reason, None)


async def test_the_stricter_counts_when_verdict_and_issues_disagree() -> None:
    ok_with_critical = verdict("ok", (0, "identity", "critical", "It denies."))
    on = stage(sending("coucou"), done(), reviews=(ok_with_critical,))

    decision = await on.run()

    assert isinstance(decision, Failure)
    assert decision.code is Code.CRITICAL_REVIEW


async def test_a_claim_to_be_human_ends_the_run_without_asking_any_reviewer() -> None:
    on = stage(sending("promis, c'est moi qui t'écris"), done())

    decision = await on.run()

    assert isinstance(decision, Failure)
    assert (decision.code, decision.reason) == (Code.CRITICAL_REVIEW, "claims_to_be_human")
    assert [request.task.value for request in on.heard] == ["reply", "reply"]


async def test_honesty_is_checked_even_when_the_review_is_off() -> None:
    on = stage(sending("I'm not a bot"), done())

    decision = await on.run(a_case(persona={"agent": {"UseRedactionValidation": False}}))

    assert isinstance(decision, Failure)
    assert decision.code is Code.CRITICAL_REVIEW


async def test_a_draft_that_was_cleared_breaks_no_rule() -> None:
    on = stage(sending("I'm not a bot"), calling(("clear_messages", {})), sending("coucou"), done())

    assert texts(await on.run()) == ["coucou"]


async def test_admitting_to_be_an_ai_depends_on_the_disclosure_mode() -> None:
    line = "Je suis une assistante virtuelle de Maya"
    handover, disclose = stage(sending(line), done()), stage(sending(line), done())

    kept_back = await handover.run()
    said = await disclose.run(a_case(persona={"disclosure": {"mode": "disclose"}}))

    assert isinstance(kept_back, Failure)
    assert (kept_back.code, kept_back.reason) == (Code.CRITICAL_REVIEW, "admits_to_be_an_ai")
    assert texts(said) == [line]


async def test_a_reply_that_quotes_its_instructions_is_suppressed() -> None:
    passage = " ".join(product.RULES.split()[40:60])
    halves = passage[:50], passage[50:]
    on = stage(sending(*halves), done())

    decision = await on.run()

    assert isinstance(decision, Failure)
    assert (decision.code, decision.reason) == (Code.CRITICAL_REVIEW, "prompt_leak")


async def test_switched_off_there_is_no_reviewer_and_no_local_check_and_the_trace_says_so() -> None:
    on = stage(sending("<b>zut</b>"), done())

    decision = await on.run(a_case(persona={"agent": {"UseRedactionValidation": False}}))

    assert texts(decision) == ["<b>zut</b>"]
    assert on.trace(decision, TraceKind.NOTE) == [
        {"note": "the review is switched off (UseRedactionValidation): honesty alone is checked"}
    ]
    assert [request.task.value for request in on.heard] == ["reply", "reply"]


async def test_the_reviewer_has_a_short_prompt_of_its_own() -> None:
    on = stage(sending("coucou"), done())

    await on.run(a_case("tu vas bien ?", contact={"profile": {"city": "Lyon"}}))

    asked = on.heard[-1]
    assert asked.task == "review"
    assert asked.tools == ()
    assert [block.text.split("\n")[0] for block in asked.system[1:]] == ["<persona>"]
    assert 512 < len(asked.system[0].text.encode()) / 4 <= 700
    assert [block.cache for block in asked.system] == ["1h", "1h"]
    (block,) = asked.messages[0].blocks
    assert isinstance(block, Text)
    assert '{"from": "contact", "text": "tu vas bien ?"}' in block.text
    assert '[{"candidate": 0, "kind": "text", "text": "coucou"}]' in block.text
    assert '<external_content type="profile">\n{"city": "Lyon"}\n</external_content>' in block.text


async def test_verdicts_stand_in_the_trace() -> None:
    on = stage(sending("bof"), done(), sending("coucou"), done(), reviews=(TOO_COLD,))

    decision = await on.run()

    assert on.trace(decision, TraceKind.REVIEW) == [
        {
            "verdict": "errors",
            "issues": [{"candidate": 0, "rule": "tone", "severity": "error", "feedback": "Be warmer."}],
        },
        {"verdict": "ok", "issues": []},
    ]


def issue(rule: str, feedback: str, candidate: int = 0) -> dict[str, object]:
    return {"candidate": candidate, "rule": rule, "severity": "error", "feedback": feedback}


PRICE = (
    "'30 €' stands neither in the conversation, the persona, the profile nor a tool's answer. "
    "Name no price, or look it up."
)


async def test_what_the_rules_find_is_given_back_before_any_reviewer_is_paid() -> None:
    on = stage(sending("coucou", "elle est à 30 €"), done(), sending("coucou toi"), done())

    decision = await on.run()

    assert texts(decision) == ["coucou toi"]
    assert on.told(3)[0].splitlines()[1] == f"- candidate 1 ('elle est à 30 €'): {PRICE}"
    assert [request.task.value for request in on.heard] == ["reply", "reply", "reply", "reply", "review"]
    assert on.trace(decision, TraceKind.REVIEW) == [
        {"verdict": "errors", "issues": [issue("invented_price", PRICE, 1)], "by": "rules"},
        {"verdict": "ok", "issues": []},
    ]


async def test_a_version_that_stays_has_been_read_by_the_reviewer_too() -> None:
    """No correction is left for the last one, so both look at it; an earlier one is read when it turns out the best."""
    lines = ("elle est à 30 €", "30 € ou 40 €, voir www.x.test", "50 € et www.y.test le 3 mai")
    on = stage(*(line for text in lines for line in (sending(text), done())), reviews=(FINE, FINE))

    decision = await on.run()

    assert texts(decision) == ["elle est à 30 €"]
    assert [request.task.value for request in on.heard] == [*["reply"] * 6, "review", "review"]
    assert "elle est" in on.heard[-1].messages[0].blocks[0].text  # type: ignore[union-attr]


async def test_a_version_that_the_reviewer_finds_critical_is_not_kept_as_the_best() -> None:
    on = stage(sending("elle est à 30 €"), done(), done("As it is."), done("As it is."), reviews=(CRITICAL,))

    decision = await on.run()

    assert isinstance(decision, Failure)
    assert (decision.code, decision.reason) == (Code.CRITICAL_REVIEW, "leak")


async def test_the_reviewers_issues_weigh_on_the_version_that_looked_best() -> None:
    """One issue of the rules against two; the reviewer adds two to the first."""
    on = stage(
        sending("elle est à 30 €"),
        done(),
        sending("30 €, voir www.x.test"),
        done(),
        reviews=(FINE, TWO_ERRORS),
    )

    decision = await on.run(a_case(persona={"agent": {"MaxValidationPasses": 1}}))

    assert texts(decision) == ["30 €, voir www.x.test"]
    assert decision.note == (  # type: ignore[union-attr]
        "the best of 2 versions was kept, with 2 open issues: 1 correction passes did not suffice"
    )


async def test_somebody_elses_number_suppresses_the_reply_without_any_reviewer() -> None:
    on = stage(sending("appelle le 06 99 88 77 66"), done())

    decision = await on.run()

    assert isinstance(decision, Failure)
    assert (decision.code, decision.reason) == (Code.CRITICAL_REVIEW, "other_contact")
    assert len(on.heard) == 2


async def test_off_is_off_for_the_rules_too_and_the_operator_is_told() -> None:
    on = stage(sending("elle est à 30 €"), done())

    decision = await on.run(a_case(persona={"agent": {"UseRedactionValidation": False}}))

    assert texts(decision) == ["elle est à 30 €"]
    assert decision.note == "the review is switched off (UseRedactionValidation): honesty alone is checked"  # type: ignore[union-attr]
