"""Which conditions are accepted, what each refusal says, and what an accepted one answers."""

import logging
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.autoreply.strategy.conditions import compiled, context
from pipelines.autoreply.strategy.tokens import CelFault
from pipelines.autoreply.strategy.variables import MAX_ITEMS, MAX_TEXT, MAX_VALUES, VARIABLES, values
from schemas.conversation import Attachment, Author
from tests.builders import NOON, a_case, a_turn

ROOTS = "contact, conversation, message, now, persona"

REFUSED = {
    "": "line 1, column 1: a value is missing before the end",
    "true ||": "line 1, column 8: a value is missing before the end",
    "contact.nam == 'x'": "line 1, column 9: contact has no field 'nam'; it has: id, locale, name, profile, timezone",
    "message.count > 1\n  && message.txt == ''": (
        "line 2, column 14: message has no field 'txt'; it has: at, attachments, count, text"
    ),
    "vip == true": f"line 1, column 1: there is no 'vip'; there are: {ROOTS}",
    "contact == null": "line 1, column 1: contact is used by its fields: id, locale, name, profile, timezone",
    "message.text == 3": "line 1, column 14: a string and a whole number cannot be compared with ==",
    "message.count > '3'": "line 1, column 15: a whole number and a string cannot be compared with >",
    "message.count": "line 1, column 1: a condition is true or false, and this is a whole number",
    "message.text && true": "line 1, column 1: && takes true or false, and this is a string",
    "!message.count": "line 1, column 2: ! takes true or false, and this is a whole number",
    "'a' in message.text": (
        "line 1, column 5: `in` looks into a list or a map, and this is a string; for a part of a text: "
        "text.contains(part)"
    ),
    "message.count + 1.5 > 2.0": (
        "line 1, column 15: + does not join a whole number and a number; convert one: double(x), int(x), string(x)"
    ),
    "message.text.size == 3": "line 1, column 14: a string has no field 'size'",
    "message.text.lower() == 'x'": (
        "line 1, column 14: there is no function 'lower' here; there are: all, contains, endsWith, exists, "
        "exists_one, filter, getDate, getDayOfWeek, getFullYear, getHours, getMinutes, getMonth, has, map, matches, "
        "size, startsWith"
    ),
    "message.text.contains(3)": "line 1, column 14: contains does not take string, int",
    "now.getHours('Mars') == 3": "line 1, column 14: 'Mars' is no IANA time zone, e.g. 'Europe/Paris'",
    "message.text.matches('(')": (
        "line 1, column 22: this pattern is no regular expression that can be used (RE2 syntax)"
    ),
    "message.text.matches(contact.name)": (
        "line 1, column 22: a pattern is written out here: it cannot come from elsewhere"
    ),
    "message.text.matches('(a{9}){9}')": (
        "line 1, column 22: the pattern is too large: at most 200 characters, counts up to 59, none of a group"
    ),
    "[1].exists(x, [2].exists(y, x == y))": (
        "line 1, column 19: exists stands inside another of its kind, which could take long"
    ),
    "[message.text]" + ".map(x,x+x)" * 20 + ".exists(x,size(x)>0)": (
        "line 1, column 23: + inside a comprehension adds numbers alone, as in double(x.a) + double(x.b)"
    ),
    "[1].map(x, x).exists(x, x == 1)": (
        "line 1, column 15: exists goes through what another of its kind made, which could take long"
    ),
    "(true ? [[1].map(x, x)] : []).exists(x, x == [1])": (
        "line 1, column 31: exists goes through what another of its kind made, which could take long"
    ),
    "dyn([1].map(x, x)).all(x, x == 1)": (
        "line 1, column 20: all goes through what another of its kind made, which could take long"
    ),
    "(contact.profile.a + contact.profile.b).exists(x, x == 1)": (
        "line 1, column 41: exists goes through what + joined, which could take long; ask each list on its own"
    ),
    " || ".join(["[1].exists(x, x == 1)"] * 3): ("line 1, column 55: too many comprehensions: at most 2"),
    "[1].exists(x, message.text.matches('a'))": (
        "line 1, column 28: matches stands inside a comprehension, which could take long; use contains or =="
    ),
    "has(message)": "line 1, column 5: message is used by its fields: at, attachments, count, text",
    "has(true)": "line 1, column 1: has takes one field, as in has(contact.profile.total_spent)",
    "'abc": 'line 1, column 1: "\'" cannot stand here: this string has no end',
    "true false": "line 1, column 6: 'false' cannot stand here: the expression was complete before it",
    "(true": "line 1, column 6: ')' is missing before the end",
    "loop == 1": "line 1, column 1: 'loop' is a word of the language and cannot be a name",
    "(" * 40 + "true" + ")" * 40: "line 1, column 21: the expression is nested too deeply: at most 24 levels",
    "||".join(["true"] * 300): "line 1, column 1201: the expression is too long: at most 400 words and signs",
}


@pytest.mark.parametrize(("expression", "sentence"), REFUSED.items(), ids=lambda text: text[:40])
def test_a_condition_that_makes_no_sense_is_refused_with_its_place(expression: str, sentence: str) -> None:
    with pytest.raises(CelFault) as fault:
        compiled(expression)

    assert str(fault.value) == sentence


def ask(expression: str, **case: Any) -> bool | str:
    return compiled(expression).holds(context(values(a_case("Tu as une photo ?", **case))))


PROFILE = {
    "total_spent": "35.00",
    "tags": ["vip", "night"],
    "big": 2**63 - 1,
    "orders": [{"sum": 3}, {"sum": 12.5}],
    "nick": None,
}
TRUE = [
    "contact.id == 'fan-7' && contact.name == 'Léo' && contact.locale.startsWith('fr')",
    "double(contact.profile.total_spent) > 30",
    "'vip' in contact.profile.tags",
    "contact.profile.orders.exists(order, order.sum > 10)",
    "!has(contact.profile.age) || contact.profile.age > 30",
    "message.text.matches('(?i)PHOTO') && message.count == 1",
    "conversation.trigger == 'message' && conversation.messages >= 1 && conversation.replies == 0",
    "persona.id == 'maya' && persona.autonomy == 'window' && persona.language == ''",
    "now.getHours() == 13 && now.getHours('America/New_York') == 7 && now.getHours('UTC') == 12",
    "now.getDayOfWeek() == 1 && now.getMonth() == 10 && now.getDate() == 30 && now.getFullYear() == 2026",
    "now - message.at > duration('50m') && now - message.at < duration('1h')",
    "now > timestamp('2026-11-30T00:00:00Z')",
    "contact.profile.nick == null",
    "message.attachments.size() == 0 ? true : false",
    "contact.profile.tags.filter(tag, tag.contains('ig')).size() == 1",
    "// a remark\ntrue",
]


@pytest.mark.parametrize("expression", TRUE)
def test_what_a_condition_may_ask(expression: str) -> None:
    assert ask(expression, contact={"profile": PROFILE}) is True


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("contact.profile.age > 30", "there is no 'age'; ask has(…) first"),
        (
            "contact.profile.total_spent > 30",
            "no such overload: the operation is not defined for the given operand types",
        ),
        ("contact.profile.tags", "it is neither true nor false but a list"),
        ("contact.profile.big + 2 > 1", "a number or a time in it is too large"),
        ("message.count / 0 == 1", "division by zero in CEL expression"),
    ],
)
def test_what_only_the_run_can_find_wrong_is_a_sentence_and_no_crash(expression: str, sentence: str) -> None:
    assert ask(expression, contact={"profile": PROFILE}) == sentence


def test_unanswered_messages_are_one_text_and_silence_is_measured() -> None:
    turns = [
        a_turn("hier", position=1, answered=True, at=NOON - timedelta(days=1)),
        a_turn("oui", position=2, author=Author.AI, at=NOON - timedelta(hours=20)),
        a_turn("coucou", position=3, at=NOON, attachments=(Attachment("image", "https://x.test/1"),)),
    ]
    seen = values(a_case(turns=turns))

    assert seen["message"] == {
        "text": "coucou",
        "count": 1,
        "attachments": ["image"],
        "at": datetime(2026, 11, 30, 11, 0, tzinfo=UTC),
    }
    assert (seen["conversation"]["silence_seconds"], seen["conversation"]["messages"]) == (72000, 3)


def test_every_field_that_is_documented_has_a_value_of_its_type() -> None:
    seen = values(a_case())
    types = {"string": str, "int": int, "map": dict, "list(string)": list, "timestamp": datetime}

    for name, fields in VARIABLES.items():
        if isinstance(fields, str):
            assert isinstance(seen[name], types[fields])
            continue
        assert {field: types[kind] for field, kind in fields.items()} == {
            field: datetime if isinstance(value, datetime) else type(value) for field, value in seen[name].items()
        }


def test_an_unknown_zone_out_of_a_profile_changes_nothing_and_nothing_is_logged(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG):
        assert ask("now.getHours(contact.profile.zone) == 13", contact={"profile": {"zone": "Mars"}}) is True

    assert (caplog.records, capfd.readouterr().err) == ([], "")


HUGE = {
    "zeros": [0] * MAX_ITEMS,
    "list": ["x" * 50] * 50_000,
    "text": "y" * 1_000_000,
    "long": ["x" * 9_000 + str(n) for n in range(MAX_ITEMS)],
    "deep": [[[[[[[[["z"]]]]]]]]],
    "map": {str(n): n for n in range(999)},
    "n": 10**30,
}
LISTS = ["contact.profile.list", "contact.profile.long", "contact.profile.grid", "contact.profile.map"]
COSTLY = [
    "+".join(["contact.profile.list"] * 60) + " == []",
    "+".join(["contact.profile.text"] * 60) + " == ''",
    " || ".join(["message.text.matches('(?i)(a|b|ab)*[yz]{50}$')"] * 5),
    *[f"{one}.exists(x, {' || '.join([part] * 40)})" for one in LISTS for part in ("x == 'z'", "message.text == 'z'")],
    *[f"[{one}].exists(x, {one} != {one})" for one in LISTS],
    *[
        f"contact.profile.zeros.exists(x, {other} != {other}) || "
        f"contact.profile.zeros.exists(x, {' || '.join(['message.text.contains(string(x))'] * 30)})"
        for other in LISTS[1:3]
    ],
    *[f"{one}.map(x, string({size})) == {one}.filter(x, true)" for one in LISTS[:2] for size in ("x", "message.text")],
    f"{LISTS[1]}.exists(x, !(x in {LISTS[1]}) || !(x in {LISTS[1]}))",
    f"[{','.join(['message.text'] * 90)}].exists(x, x != message.text)",
]
TOO_COSTLY = [
    "(" + "+".join(["contact.profile.list"] * 60) + ").exists(x, x == 'none' || x.contains('yz'))",
    "[message.text]" + ".map(x,x+x)" * 15 + ".exists(x,size(x)>0)",
    "contact.profile.list.exists(x, " + " || ".join(["contact.profile.list != contact.profile.list"] * 30) + ")",
    "contact.profile.list.exists(x, " + " || ".join(["'z' in contact.profile.list"] * 45) + ")",
    "contact.profile.list.map(x, [" + ",".join(["contact.profile.list"] * 60) + "]) == []",
    "contact.profile.list.map(x, contact.profile.list) == []",
    "contact.profile.list.map(x, {'a': message.text}) == []",
]


@pytest.mark.parametrize("expression", TOO_COSTLY, ids=lambda text: text[:30])
def test_what_could_take_long_is_not_accepted(expression: str) -> None:
    with pytest.raises(CelFault):
        compiled(expression)


@pytest.mark.parametrize("expression", COSTLY, ids=lambda text: text[:30])
def test_the_costliest_that_is_accepted_is_over_in_a_moment(expression: str) -> None:
    condition = compiled(expression)
    profile = {"grid": [[0] * 30] * 30, "zeros": HUGE["zeros"]} if "grid" in expression else HUGE
    seen = context(values(a_case("x" * 60_000, contact={"profile": profile})))
    start = time.perf_counter()

    assert isinstance(condition.holds(seen), bool)

    assert time.perf_counter() - start < 2.0


def test_a_profile_is_seen_by_its_beginning() -> None:
    profile = values(a_case(contact={"profile": HUGE}))["contact"]["profile"]

    assert (len(profile["list"]), len(profile["text"]), profile["n"]) == (MAX_ITEMS, MAX_TEXT, 2**63 - 1)
    assert len(profile["map"]) == MAX_ITEMS
    assert "z" not in str(profile["deep"])


def test_a_profile_of_many_small_values_is_seen_to_a_thousand() -> None:
    grid = values(a_case(contact={"profile": {"grid": [[0] * MAX_ITEMS] * MAX_ITEMS}}))["contact"]["profile"]["grid"]

    assert 1 + len(grid) + sum(map(len, grid)) == MAX_VALUES


PIECES = ["contact", ".name", ".profile", ".x", "(", ")", "[", "]", "{", "}", "==", "+", "-", "!", "&&", "?", ":", ","]
PIECES += [
    "1",
    "2.5",
    "'a'",
    "true",
    "null",
    "in",
    ".exists(",
    "x",
    "has(",
    ".size()",
    ".matches('a')",
    "now",
    " ",
    '"',
]


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=60))
def test_whatever_is_written_is_a_condition_or_a_fault(text: str) -> None:
    try:
        condition = compiled(text)
    except CelFault:
        return
    assert isinstance(condition.holds(context(values(a_case()))), bool | str)
