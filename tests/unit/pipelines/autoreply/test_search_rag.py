"""search_rag: what it shows is wrapped and bounded, a refusal says why, and whom it asks for is not the model's."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.agent.tools import Done, Outcome, Refused
from pipelines.autoreply.checks import LocalChecks
from pipelines.autoreply.draft import Draft
from pipelines.autoreply.tools.memory import MOST_CHARACTERS, NOTHING, SearchRag
from pipelines.memory.switch import may_recall
from schemas.agent import Resume, TraceKind
from schemas.errors import Unavailable
from schemas.memory import Asker, Found, Recalled
from schemas.resources import PersonaLimits
from tests.builders import NOON, a_case
from tests.fakes import RUN, calling, done, sending
from tests.replies import stage, verdict

NEW = Resume(RUN, 1)


@dataclass
class Shelf:
    """A memory that finds what it was given."""

    found: Sequence[Found] = ()
    away: bool = False
    asked: list[tuple[str, Asker, int]] = field(default_factory=list)

    async def search(self, question: str, asker: Asker, limit: int) -> list[Found]:
        self.asked.append((question, asker, limit))
        if self.away:
            raise Unavailable("the database does not answer")
        return list(self.found)[:limit]


async def looked_up(shelf: Shelf | None, **args: object) -> Outcome:
    tool = SearchRag()
    read = tool.read(args)
    if isinstance(read, Refused):
        return read
    recall = None if shelf is None else lambda question, limit: shelf.search(question, Asker(1, 2, 3), limit)  # type: ignore[arg-type]
    return await tool.call(read, Draft(LocalChecks(PersonaLimits(), ()), NOON, recall))


async def test_each_passage_is_wrapped_with_its_title_or_its_date() -> None:
    told = datetime(2026, 11, 3, 12, tzinfo=UTC)
    shelf = Shelf(
        [
            Found(Recalled.KNOWLEDGE, "Les colis partent le vendredi.", title="Livraison"),
            Found(Recalled.MEMORY, "Son chien s'appelle Rex.", said_at=told),
        ]
    )
    assert await looked_up(shelf, query="quand ?") == Done(
        '<external_content type="knowledge">\nLivraison\nLes colis partent le vendredi.\n</external_content>\n'
        '<external_content type="memory">\n[said on 2026-11-03] Son chien s\'appelle Rex.\n</external_content>'
    )


@pytest.mark.parametrize(
    ("shelf", "args", "sentence"),
    [
        (Shelf(), {"query": "  "}, "query: it is blank. Say what you want to know, and call search_rag again."),
        (None, {"query": "x"}, "Nothing can be looked up in this organisation. Reply without it."),
        (
            Shelf(away=True),
            {"query": "x"},
            "Nothing can be looked up at this moment. Reply without it, and do not guess.",
        ),
        (
            Shelf(),
            {"query": "x" * 501},
            "query: String should have at most 500 characters. Correct the arguments and call search_rag again.",
        ),
        (
            Shelf(),
            {"query": "x", "limit": 21},
            "limit: Input should be less than or equal to 20. Correct the arguments and call search_rag again.",
        ),
        (
            Shelf(),
            {"query": "x", "contact": "fan-8"},
            "contact: Extra inputs are not permitted. Correct the arguments and call search_rag again.",
        ),
    ],
)
async def test_a_refusal_says_what_was_wrong(shelf: Shelf | None, args: dict[str, object], sentence: str) -> None:
    assert await looked_up(shelf, **args) == Refused(sentence)


async def test_nothing_found_says_so() -> None:
    assert await looked_up(Shelf(), query="x") == Done(NOTHING)


async def test_a_result_is_bounded() -> None:
    outcome = await looked_up(Shelf([Found(Recalled.KNOWLEDGE, "a" * 900)] * 20), query="x", limit=20)
    assert isinstance(outcome, Done)
    assert MOST_CHARACTERS * 0.8 < len(outcome.text) <= MOST_CHARACTERS + 100


PIECES = ("<", "/", "external_content", "EXTERNAL_content", "&lt;", "&#60;", "＜", "\u200b", " ", "\n", ">", "a", '"')


@given(st.lists(st.sampled_from(PIECES), max_size=14), st.lists(st.sampled_from(PIECES), max_size=14))
async def test_whatever_a_passage_holds_there_is_one_end_for_one_beginning(title: list[str], text: list[str]) -> None:
    outcome = await looked_up(Shelf([Found(Recalled.KNOWLEDGE, "".join(text) or "x", title="".join(title))]), query="x")
    assert isinstance(outcome, Done)
    seen = "".join(outcome.text.replace("&lt;", "<").replace("&#60;", "<").replace("＜", "<").split()).casefold()
    seen = seen.replace("\u200b", "")
    assert seen.count("<external_content") == seen.count("</external_content") == 1


async def test_who_is_asked_for_comes_from_the_conversation() -> None:
    shelf = Shelf()
    s = stage(
        calling(("search_rag", {"query": "son chien", "limit": 3})), sending("Rex !"), done(), reviews=(verdict(),)
    )
    pipeline = replace(s.pipeline, memory=shelf)
    case = a_case()
    await pipeline.run(case, NEW, s.keep)
    assert shelf.asked == [("son chien", Asker(case.organization.id, case.persona.id, case.contact.id), 3)]


@pytest.mark.parametrize(
    ("own", "everywhere", "may"),
    [
        (None, None, True),
        (None, True, True),
        (None, False, False),
        (True, False, True),
        (False, True, False),
        (False, None, False),
    ],
)
def test_the_organisation_decides_and_else_the_installation(
    own: bool | None, everywhere: bool | None, may: bool
) -> None:
    assert may_recall(own, everywhere) is may


@pytest.mark.parametrize("setting", ["true", "false"])
async def test_where_it_is_off_the_tool_is_not_in_the_palette(setting: str) -> None:
    s = stage(sending("salut"), done(), reviews=(verdict(),), AI_RAG_GLOBAL_ENABLED=setting)
    await replace(s.pipeline, memory=Shelf()).run(a_case(), NEW, s.keep)
    names = {tool.name for request in s.model.agent.heard for tool in request.tools}
    assert ("search_rag" in names) == (setting == "true")


async def test_the_palette_makes_the_same_bytes_in_every_run() -> None:
    heard = []
    for _ in range(2):
        s = stage(sending("salut"), done(), reviews=(verdict(),))
        await replace(s.pipeline, memory=Shelf()).run(a_case(), NEW, s.keep)
        heard.append([(tool.name, tool.description, json.dumps(tool.schema)) for tool in s.model.agent.heard[0].tools])
    assert heard[0] == heard[1]
    assert [name for name, _, _ in heard[0]] == sorted(name for name, _, _ in heard[0])


async def test_the_trace_shows_what_was_found() -> None:
    shelf = Shelf([Found(Recalled.KNOWLEDGE, "Les colis partent le vendredi.")])
    s = stage(calling(("search_rag", {"query": "colis"})), sending("Vendredi !"), done(), reviews=(verdict(),))
    decision = await replace(s.pipeline, memory=shelf).run(a_case(), NEW, s.keep)
    tools = [facts for facts in s.trace(decision, TraceKind.TOOL) if facts["tool"] == "search_rag"]
    assert [(facts["refused"], "vendredi" in facts["result"]) for facts in tools] == [(False, True)]
