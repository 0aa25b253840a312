"""Tool calls and their results: each call answered once, first thing in the next user message."""

from typing import Any

from workers.simulator.refusals import Refused


def check_pairing(messages: list[dict[str, Any]]) -> None:
    """Consecutive messages of one role count as one, as the API merges them."""
    open_calls: list[str] = []
    seen: set[str] = set()
    for n, (role, blocks) in _merged(messages):
        if role == "user":
            _check_answers(n, blocks, open_calls)
            open_calls = []
        elif role == "assistant":
            _refuse_unanswered(n, open_calls)
            open_calls = _calls(n, blocks, seen)
    _refuse_unanswered(len(messages), open_calls)


def _merged(messages: list[dict[str, Any]]) -> list[tuple[int, tuple[str, list[dict[str, Any]]]]]:
    turns: list[tuple[int, tuple[str, list[dict[str, Any]]]]] = []
    for n, message in enumerate(messages):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if turns and turns[-1][1][0] == message["role"]:
            turns[-1][1][1].extend(blocks)
        else:
            turns.append((n, (message["role"], list(blocks))))
    return turns


def _calls(n: int, blocks: list[dict[str, Any]], seen: set[str]) -> list[str]:
    ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
    for call_id in ids:
        if call_id in seen:
            raise Refused(f"messages.{n}: `tool_use` ids must be unique")
        seen.add(call_id)
    return ids


def _check_answers(n: int, blocks: list[dict[str, Any]], open_calls: list[str]) -> None:
    answered: list[str] = []
    leading = True
    for at, block in enumerate(blocks):
        if block["type"] != "tool_result":
            leading = False
            continue
        call_id = block["tool_use_id"]
        if call_id not in open_calls:
            raise Refused(
                f"messages.{n}.content.{at}: unexpected `tool_use_id` found in `tool_result` blocks: "
                f"{call_id}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        if call_id in answered:
            raise Refused(
                f"messages.{n}.content.{at}: each tool_use must have a single result. "
                f"Found multiple `tool_result` blocks with id: {call_id}"
            )
        if leading:
            answered.append(call_id)
    # A result behind other content does not count as an answer.
    _refuse_unanswered(n, [call_id for call_id in open_calls if call_id not in answered])


def _refuse_unanswered(n: int, ids: list[str]) -> None:
    if ids:
        raise Refused(
            f"messages.{n}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(ids)}. "
            "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
        )
