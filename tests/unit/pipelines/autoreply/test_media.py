"""A run with photos and videos: in whose name they are looked for, how they are told, reviewed, and gone on with."""

import json
from dataclasses import dataclass, field

import pytest

from pipelines.autoreply import tastes
from pipelines.llm.dialects.anthropic import to_wire
from schemas.catalogue import Media, MediaHistory, MediaSearch, MediaType, Viewer
from schemas.conversation import Author, BubbleKind
from schemas.decisions import Bubble, Failure, Reply
from schemas.errors import Code
from schemas.ids import ContactId, ConversationId, OrgId, PersonaId
from tests.builders import a_case, a_turn
from tests.builders_media import a_media
from tests.fakes import calling, done
from tests.replies import stage

CAT = a_media("ph-1", description="le chat sur le canapé")


@dataclass
class Catalogue:
    found: list[Media] = field(default_factory=lambda: [CAT])
    asked: list[tuple[MediaSearch, Viewer]] = field(default_factory=list)

    async def look(self, search: MediaSearch, viewer: Viewer) -> list[Media]:
        self.asked.append((search, viewer))
        return self.found


LOOK = calling(("get_media", {"kind": "free"}))


def send(name: str = "ph-1", **more: str) -> tuple[str, dict[str, str]]:
    return ("send_image", {"media_id": name, **more})


async def test_media_are_looked_for_in_the_name_of_the_run() -> None:
    catalogue = Catalogue()
    on = stage(LOOK, calling(send(caption="mon chat")), done(), catalogue=catalogue)

    decision = await on.run()

    assert [viewer for _, viewer in catalogue.asked] == [
        Viewer(OrgId(1), PersonaId(1), ContactId(1), ConversationId(1))
    ]
    assert isinstance(decision, Reply)
    assert decision.bubbles == (Bubble(BubbleKind.IMAGE, "mon chat", (CAT.ref,)),)


async def test_lookups_of_one_turn_are_all_made_and_what_each_found_may_be_sent() -> None:
    catalogue = Catalogue()
    both = calling(("get_media", {"kind": "free"}), ("get_media", {"kind": "paid"}), send())
    on = stage(both, done(), catalogue=catalogue)

    decision = await on.run()

    assert len(catalogue.asked) == 2
    assert isinstance(decision, Reply)


@pytest.mark.parametrize("steps", [1, 2, 3])
async def test_another_worker_goes_on_without_looking_again_for_what_was_found(steps: int) -> None:
    lines = (LOOK, calling(send()), done(), done())
    first = stage(*lines, catalogue=Catalogue())
    decided = await first.run()

    # The claim of the next worker reads what was shown in this conversation.
    case = a_case(media=MediaHistory(shown=(CAT,)))
    catalogue = Catalogue([])
    again = stage(*lines[steps:], catalogue=catalogue)
    decision = await again.run(case, first.keep.resume(steps))

    assert isinstance(decision, Reply)
    assert isinstance(decided, Reply)
    assert decision.bubbles == decided.bubbles
    assert len(catalogue.asked) == (steps == 1)


async def test_past_photos_are_the_calls_that_sent_them() -> None:
    turns = (
        a_turn("montre", position=1, answered=True),
        a_turn("mon chat", position=2, author=Author.AI, candidate=31, kind=BubbleKind.IMAGE, media=("ph-1",)),
        a_turn("", position=3, author=Author.AI, candidate=32, kind=BubbleKind.VIDEO, media=("v-1",)),
        a_turn("à toi", position=4, author=Author.AI, candidate=33, kind=BubbleKind.PAYMENT, media=("v-2", "v-3")),
        a_turn("merci", position=5),
    )
    on = stage(done(), done())

    await on.run(a_case(turns=turns))

    blocks = [block for message in to_wire(on.heard[0])["messages"] for block in message["content"]]
    assert [(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"] == [
        ("bub_31", "send_image", {"media_id": "ph-1", "caption": "mon chat"}),
        ("bub_32", "send_image", {"media_id": "v-1"}),
        ("bub_33", "send_payment", {"media_ids": ["v-2", "v-3"], "message": "à toi"}),
    ]


async def test_the_reviewer_is_told_what_a_photo_shows() -> None:
    on = stage(LOOK, calling(send(caption="mon chat")), done(), catalogue=Catalogue())

    await on.run()

    question = on.model.reviewer.heard[0].messages[-1].blocks[0].text  # type: ignore[union-attr]
    candidates = json.loads(question.split("Candidates:\n")[1])
    assert candidates == [
        {"candidate": 0, "kind": "image", "text": "mon chat", "shows": ["le chat sur le canapé"]},
    ]


async def test_a_caption_that_claims_to_be_human_suppresses_the_photo_too() -> None:
    on = stage(LOOK, calling(send(caption="je suis pas un bot")), done(), catalogue=Catalogue())

    decision = await on.run()

    assert isinstance(decision, Failure)
    assert (decision.code, decision.reason) == (Code.CRITICAL_REVIEW, "claims_to_be_human")


async def test_a_video_is_a_bubble_of_its_own_kind() -> None:
    film = a_media("v-1", type=MediaType.VIDEO)
    on = stage(LOOK, calling(send("v-1")), done(), catalogue=Catalogue([film]))

    decision = await on.run()

    assert isinstance(decision, Reply)
    assert [bubble.kind for bubble in decision.bubbles] == [BubbleKind.VIDEO]


def test_what_was_asked_for_outweighs_what_is_known() -> None:
    x, y, z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

    assert tastes.wanted(x, y, z) == (4.0, 2.0, 1.0)
    assert tastes.wanted(None, None, z) == (0.0, 0.0, 1.0)
    assert tastes.wanted(None, None, None) is None
