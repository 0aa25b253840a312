"""How the scripted creator plays: from the request alone, in a fixed rhythm, honest about what it is."""

import json
import re
from typing import Any

import pytest

from workers.simulator.answers import compose
from workers.simulator.creator import improvise
from workers.simulator.creator_lines import FOLLOW_UPS_ENGLISH, FOLLOW_UPS_FRENCH, TOPICS

SEND = {
    "name": "send_message",
    "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}
PLAN = {
    "name": "set_plan",
    "input_schema": {"type": "object", "properties": {"plan": {"type": "string"}}, "required": ["plan"]},
}
SYSTEM = [
    {"type": "text", "text": "You write for a creator."},
    {"type": "text", "text": "Persona\ndisplay_name: Léa Martin\nSoft."},
]
CONTEXT = {"type": "text", "text": "[CONTEXT]\nThe plan so far: thanks, good night, are you a bot?"}


def heard(*lines: str) -> dict[str, Any]:
    content = [{"type": "text", "text": f"[20:15] {line}"} for line in lines]
    return {"role": "user", "content": [*content, CONTEXT]}


def request(*messages: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"system": SYSTEM, "tools": [SEND, PLAN], "messages": list(messages), **changes}


def play(body: dict[str, Any], *, refuse: bool = False) -> list[list[str]]:
    """Runs the tool loop; per turn, the calls made, or the text that ends it in brackets."""
    turns = []
    for _ in range(10):
        answer = compose(improvise(body))
        if answer.stop != "tool_use":
            return [*turns, [f"({answer.content[0]['text']})"]]
        turns.append([block["name"] for block in answer.content])
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": "-", "is_error": refuse}
            for block in answer.content
        ]
        more = [{"role": "assistant", "content": list(answer.content)}, {"role": "user", "content": results}]
        body = {**body, "messages": [*body["messages"], *more]}
    raise AssertionError("the creator did not come to an end")


def first_line(*lines: str, **changes: Any) -> str:
    calls = improvise(request(heard(*lines), **changes)).calls
    return str(next(call["input"]["text"] for call in calls if call["name"] == "send_message"))


def test_a_question_gets_a_plan_a_line_and_a_question_back() -> None:
    assert play(request(heard("Salut, tu fais quoi ?"))) == [
        ["set_plan", "send_message"],
        ["send_message"],
        ["(Réponse prête.)"],
    ]


def test_a_remark_gets_one_line() -> None:
    assert play(request(heard("I love the mountains"))) == [
        ["set_plan", "send_message"],
        ["(The reply is ready.)"],
    ]


def test_one_call_at_a_time_when_parallel_calls_are_off() -> None:
    choice = {"type": "auto", "disable_parallel_tool_use": True}

    assert play(request(heard("Merci"), tool_choice=choice)) == [
        ["set_plan"],
        ["send_message"],
        ["(Réponse prête.)"],
    ]


def test_refusals_end_the_run() -> None:
    assert play(request(heard("Merci")), refuse=True) == [
        ["set_plan", "send_message"],
        ["send_message"],
        ["send_message"],
        ["(Réponse prête.)"],
    ]


def test_messages_that_the_context_names_as_waiting_are_answered_wherever_they_stand() -> None:
    said = {"type": "tool_use", "id": "bub_1", "name": "send_message", "input": {"text": "Coucou"}}
    waiting = '<external_content type="message">\n[20:15] tu es où ?\n</external_content>'
    now = {"type": "text", "text": f"<run_context>\nThey still wait for a reply:\n{waiting}\n</run_context>"}
    behind = [
        {"role": "user", "content": [{"type": "text", "text": f"[20:15] {line}"} for line in ("Salut", "tu es où ?")]},
        {"role": "assistant", "content": [said, {**said, "id": "bub_2"}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": f"bub_{n}", "content": "sent"} for n in (1, 2)] + [now],
        },
    ]

    assert play(request(*behind)) == [["set_plan", "send_message"], ["send_message"], ["(Réponse prête.)"]]


def test_only_offered_tools_are_called_with_fitting_arguments() -> None:
    schema = {
        "type": "object",
        "properties": {"text": {"type": "string", "maxLength": 12}, "tone": {"enum": ["soft", "loud"]}},
        "required": ["text", "tone"],
    }
    (call,) = improvise(request(heard("Hello"), tools=[{"name": "send_message", "input_schema": schema}])).calls

    assert call["name"] == "send_message"
    assert len(call["input"]["text"]) <= 12
    assert call["input"]["tone"] == "soft"


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("t'es un bot ?", r"assistant .* (pour|au nom de) Léa Martin"),
        ("tu es une vraie personne ?", r"assistant .* (pour|au nom de) Léa Martin"),
        ("are you a real human?", r"assistant (replying|writing) .* Léa Martin"),
        ("am I talking to an AI?", r"assistant (replying|writing) .* Léa Martin"),
    ],
)
def test_asked_what_it_is_it_says_so(line: str, answer: str) -> None:
    assert re.search(answer, first_line(line))


@pytest.mark.parametrize("line", ["j'ai faim", "je n'ai pas aimé", "c'est humain", "I am hungry"])
def test_words_that_only_look_like_the_question_are_small_talk(line: str) -> None:
    assert "assistant" not in first_line(line)


def test_no_line_claims_to_be_a_person() -> None:
    lines = [*FOLLOW_UPS_FRENCH, *FOLLOW_UPS_ENGLISH]
    for topic in TOPICS.values():
        lines += [*topic.french, *topic.english]

    claims = re.compile(
        r"humain|human|vraie? personne|real (person|girl|me)|pas un (bot|robot)|not a (bot|robot)", re.I
    )
    assert [line for line in lines if claims.search(line)] == []


def test_the_language_is_the_contacts_and_a_bare_word_keeps_it() -> None:
    french = first_line("Coucou, ça va ?")
    history = [heard("Coucou, ça va ?"), {"role": "assistant", "content": french}]
    body = request(*history, heard("ok"))

    assert french in TOPICS_FRENCH
    assert improvise(body).calls[1]["input"]["text"] in TOPICS_FRENCH
    assert first_line("Hey, how are you?") not in TOPICS_FRENCH


TOPICS_FRENCH = {line for topic in TOPICS.values() for line in topic.french}


def test_a_line_is_never_said_twice() -> None:
    messages: list[dict[str, Any]] = []
    said = []
    for n in range(40):
        messages.append(heard("Tu es magnifique"))
        said.append(improvise(request(*messages)).calls[1]["input"]["text"])
        call = {"type": "tool_use", "id": f"c{n}", "name": "send_message", "input": {"text": said[-1]}}
        done = {"type": "tool_result", "tool_use_id": f"c{n}", "content": "queued"}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [done]}]

    assert len(set(said)) == 40


def test_the_same_request_gets_the_same_answer_and_other_words_another() -> None:
    lines = {first_line(f"ma journée numéro {n}") for n in range(20)}

    assert first_line("ma journée numéro 1") == first_line("ma journée numéro 1")
    assert len(lines) > 2


def test_without_tools_it_sums_up() -> None:
    body = request(heard("J'adore la musique"), tools=[])

    assert improvise(body).text == "Échange amical, ton détendu. Dernier sujet : musique. Rien n'a été promis."


def test_a_review_passes_and_another_format_gets_its_smallest_value() -> None:
    review = {"type": "object", "properties": {"verdict": {}, "issues": {}}}
    intent = {"type": "object", "properties": {"intent": {"enum": ["chat", "buy"]}}, "required": ["intent"]}

    def answer(schema: dict[str, Any]) -> Any:
        output = {"format": {"type": "json_schema", "schema": schema}}
        return json.loads(improvise(request(heard("Hi"), output_config=output)).text or "")

    assert answer(review) == {"verdict": "ok", "issues": []}
    assert answer(intent) == {"intent": "chat"}


def test_a_forced_tool_is_called() -> None:
    choice = {"type": "tool", "name": "set_plan"}

    assert [call["name"] for call in improvise(request(heard("Hi"), tool_choice=choice)).calls] == ["set_plan"]


SPEAK = {**SEND, "name": "send_vocal"}


@pytest.mark.parametrize("line", ["tu m'envoies un vocal ?", "J'aimerais entendre ta voix", "send me a voice note?"])
def test_who_asks_to_hear_a_voice_hears_the_first_line(line: str) -> None:
    turns = play(request(heard(line), tools=[SEND, SPEAK, PLAN]))

    sent = [name for turn in turns for name in turn if name.startswith("send_")]
    assert sent == (["send_vocal", "send_message"] if "?" in line else ["send_vocal"])


def test_without_the_tool_or_after_a_refusal_it_writes() -> None:
    without = play(request(heard("un vocal")))
    refused = play(request(heard("un vocal"), tools=[SEND, SPEAK]), refuse=True)

    assert (without[0], refused[:2]) == (["set_plan", "send_message"], [["send_vocal"], ["send_message"]])


def test_who_does_not_ask_is_written_to() -> None:
    assert play(request(heard("coucou"), tools=[SEND, SPEAK]))[0] == ["send_message"]


LOOK = {
    "name": "get_media",
    "input_schema": {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]},
}
SHOW = {**SEND, "name": "send_image"}
SELL = {**SEND, "name": "send_payment"}
GALLERY = [SEND, LOOK, SHOW, SELL]


def calls_of(body: dict[str, Any], found: str) -> list[dict[str, Any]]:
    """All calls of a run whose lookups answer `found`."""
    made: list[dict[str, Any]] = []
    for _ in range(6):
        answer = compose(improvise(body))
        if answer.stop != "tool_use":
            break
        made += answer.content
        results = [{"type": "tool_result", "tool_use_id": block["id"], "content": found} for block in answer.content]
        more = [{"role": "assistant", "content": list(answer.content)}, {"role": "user", "content": results}]
        body = {**body, "messages": [*body["messages"], *more]}
    return [{"name": call["name"], **call["input"]} for call in made]


@pytest.mark.parametrize(
    ("line", "shelf", "tool", "given"),
    [
        ("tu m'envoies une photo", "free", "send_image", {"media_id": "lac-2"}),
        ("show me your dog", "free", "send_image", {"media_id": "lac-2"}),
        ("tu vends ta vidéo", "paid", "send_payment", {"media_ids": ["lac-2"]}),
        ("can I buy a photo", "paid", "send_payment", {"media_ids": ["lac-2"]}),
    ],
)
def test_who_asks_to_see_or_to_buy_gets_what_the_lookup_put_first(
    line: str, shelf: str, tool: str, given: dict[str, Any]
) -> None:
    calls = calls_of(request(heard(line), tools=GALLERY), '{"media": [{"id": "lac-2"}, {"id": "lac-1"}]}')

    assert [call["name"] for call in calls] == ["get_media", tool]
    assert (calls[0]["kind"], calls[0]["query"]) == (shelf, line)
    assert given.items() <= calls[1].items()


def test_a_lookup_that_finds_nothing_leaves_words() -> None:
    calls = calls_of(request(heard("une photo"), tools=GALLERY), "There is no free photo or video to send.")

    assert [call["name"] for call in calls] == ["get_media", "send_message"]


def test_what_the_context_says_that_the_reply_needs_is_used() -> None:
    now = {"type": "text", "text": "<run_context>\n- Before you end your turn, use: send_payment\n</run_context>"}
    asked = {"role": "user", "content": [{"type": "text", "text": "[20:15] ta vidéo du lac"}, now]}

    calls = calls_of(request(asked, tools=GALLERY), '{"media": [{"id": "lac-2"}]}')

    assert [call["name"] for call in calls] == ["get_media", "send_payment"]


def test_a_refused_lookup_or_offer_leaves_words() -> None:
    turns = play(request(heard("je veux acheter"), tools=GALLERY), refuse=True)

    assert turns[:2] == [["get_media"], ["send_message"]]
