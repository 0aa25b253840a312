"""Whatever a model gives a tool as arguments, it is told what is wrong or the tool is done: a run is never broken by
it, and nothing that the database or a wire refuses is queued."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.agent.tools import Done, Refused
from pipelines.autoreply.checks import LocalChecks
from pipelines.autoreply.draft import Draft
from pipelines.autoreply.gallery import Gallery
from pipelines.autoreply.tools import TOOLS
from schemas.memory import Found, Recalled
from schemas.resources import PersonaLimits
from tests.builders import NOON
from tests.builders_media import a_media
from tests.fuzz.hostile import TEXTS
from tests.unit.pipelines.autoreply.test_media_tools import Finds
from tests.unit.pipelines.autoreply.test_send_payment import shelf

NAMES = sorted({name for tool in TOOLS for name in tool.spec().schema["properties"]})
MOMENTS = [
    "2026-11-30T12:00:00+01:00",
    "2026-11-30T12:00:00",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "2026-12-01",
    "24:00",
    1e18,
    -1e18,
    1_800_000_000,
    "P1D",
]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(10**30), max_value=10**30)
    | st.floats()
    | st.text(alphabet=st.characters(codec=None, exclude_categories=[]), max_size=40)
    | st.sampled_from(TEXTS)
    | st.sampled_from(MOMENTS)
    | st.sampled_from(["ph-1", "v-1", "p-2", "paid", "free", "10.00", "10,00 €", "1e3", "-1", "NaN"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=12), VALUES, max_size=5)


async def recall(question: str, limit: int) -> list[Found]:
    return [Found(Recalled.KNOWLEDGE, "Les colis partent le vendredi.", title="Livraison")][:limit]


def a_draft() -> Draft:
    gallery = Gallery(look=Finds(a_media("ph-1")), shown={"ph-1": a_media("ph-1")})  # type: ignore[call-arg]
    return Draft(LocalChecks(PersonaLimits(), ()), NOON, recall, gallery, shelf)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@settings(max_examples=60, deadline=timedelta(seconds=5))
@given(data=st.data())
async def test_any_arguments_are_done_or_refused_in_words(tool: Any, data: st.DataObject) -> None:
    own = sorted(tool.spec().schema["properties"])
    given_names = st.fixed_dictionaries({}, optional={name: VALUES for name in own})
    draft = a_draft()
    for arguments in data.draw(st.lists(ARGUMENTS | given_names, min_size=1, max_size=3)):
        read = tool.read(arguments)
        outcome = read if isinstance(read, Refused) else await tool.call(read, draft)
        assert isinstance(outcome, Done | Refused)

    kept = [*draft.texts, draft.plan or "", getattr(draft.ending, "reason", None) or ""]
    assert [text for text in kept if "\x00" in text or not json.dumps(text, ensure_ascii=False).encode()] == []
