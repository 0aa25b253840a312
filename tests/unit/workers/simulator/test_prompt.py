"""Blocks are keyed by the characters that were sent, wherever the marker stands."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from workers.simulator.prompt import Block, PromptReader
from workers.simulator.spans import array_parts, object_parts

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
LAYOUTS = st.sampled_from([{"separators": (",", ":")}, {"indent": 2}, {"ensure_ascii": False}])


@given(st.dictionaries(st.text(), VALUES), LAYOUTS)
def test_the_members_of_an_object_are_found_where_they_stand(
    value: dict[str, Any], layout: dict[str, Any]
) -> None:
    text = json.dumps(value, **layout)

    parts = list(object_parts(text))

    assert {part.name: part.value for part in parts} == value
    assert [json.loads(text[part.start : part.end]) for part in parts] == list(value.values())
    assert [json.loads("{" + text[part.named_at : part.end] + "}") for part in parts] == [
        {name: member} for name, member in value.items()
    ]


@given(st.lists(VALUES), LAYOUTS)
def test_the_items_of_an_array_are_found_where_they_stand(value: list[Any], layout: dict[str, Any]) -> None:
    text = json.dumps(value, **layout)

    assert [json.loads(text[part.start : part.end]) for part in array_parts(text)] == value


def only_block(content: str) -> Block:
    """The block of one user message whose `content` is the given JSON."""
    text = f'{{"model":"m","messages":[{{"role":"user","content":{content}}}]}}'
    (block,) = PromptReader().read(text, json.loads(text)).blocks
    return block


PLAIN = '[{"type":"text","text":"é"}]'


def test_a_string_is_the_text_block_it_stands_for() -> None:
    assert only_block('"é"') == only_block(PLAIN)


def test_the_marker_is_not_part_of_the_key() -> None:
    for marked in (
        '[{"type":"text","text":"é","cache_control":{"type":"ephemeral","ttl":"1h"}}]',
        '[{"cache_control":{"type":"ephemeral","ttl":"1h"},"type":"text","text":"é"}]',
    ):
        assert only_block(marked).digest == only_block(PLAIN).digest
        assert only_block(marked).ttl == "1h"


def test_other_bytes_are_another_key_though_the_value_is_equal() -> None:
    digests = {
        only_block(content).digest
        for content in (PLAIN, '[{"text":"é","type":"text"}]', r'[{"type":"text","text":"\u00e9"}]')
    }

    assert len(digests) == 3


def test_a_deferred_tool_is_not_in_the_prompt() -> None:
    text = '{"model":"m","tools":[{"name":"a","defer_loading":true},{"name":"b"}],"messages":[]}'

    assert len(PromptReader().read(text, json.loads(text)).blocks) == 1
