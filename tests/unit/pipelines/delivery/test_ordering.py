"""Where the bubbles of a waiting reply stand after one was moved or dropped."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.delivery.ordering import Waiting, closed_up, moved, room
from schemas.conversation import BubbleKind
from schemas.ids import CandidateId

TEXT, NOTICE = BubbleKind.TEXT, BubbleKind.NOTICE


def waiting(*ordinals: int, notice: bool = False) -> list[Waiting]:
    """Bubbles 1, 2, … with these ordinals; the first may be a notice."""
    return [
        Waiting(CandidateId(n), NOTICE if notice and n == 1 else TEXT, ordinal) for n, ordinal in enumerate(ordinals, 1)
    ]


def test_a_bubble_moves_and_the_others_make_room() -> None:
    assert moved(waiting(0, 1, 2), 0, CandidateId(3), 0) == [(3, 0), (1, 1), (2, 2)]


def test_only_what_gets_another_place_is_told() -> None:
    assert moved(waiting(0, 1, 2, 3), 0, CandidateId(2), 2) == [(3, 1), (2, 2)]


def test_places_begin_behind_what_has_left() -> None:
    assert moved(waiting(2, 3), 2, CandidateId(2), 2) == [(2, 2), (1, 3)]


def test_a_bubble_that_becomes_several_pushes_back_what_follows() -> None:
    assert moved(waiting(0, 1, 2), 0, CandidateId(2), 1, parts=3) == [(3, 4)]


def test_a_bubble_may_move_and_become_several() -> None:
    assert moved(waiting(0, 1, 2), 0, CandidateId(3), 0, parts=2) == [(3, 0), (1, 2), (2, 3)]


def test_a_notice_leaves_no_room_in_front_of_it() -> None:
    assert (room(waiting(0, 1, 2), 0), room(waiting(0, 1, 2, notice=True), 0)) == ((0, 2), (1, 2))


def test_a_gap_is_closed() -> None:
    assert closed_up(waiting(0, 2, 5), 0) == [(2, 1), (3, 2)]


@given(st.integers(1, 8), st.integers(0, 5), st.booleans(), st.integers(1, 4), st.data())
def test_whatever_moves_places_are_dense_and_the_notice_leads(
    count: int, first: int, notice: bool, parts: int, data: st.DataObject
) -> None:
    bubbles = waiting(*range(first, first + count + notice), notice=notice)
    lowest, highest = room(bubbles, first)
    own = data.draw(st.sampled_from([bubble.id for bubble in bubbles if bubble.kind is TEXT]))
    to = data.draw(st.integers(lowest, highest))

    places = {bubble.id: bubble.ordinal for bubble in bubbles} | dict(moved(bubbles, first, own, to, parts))

    added = range(to + 1, to + parts)
    assert sorted([*places.values(), *added]) == list(range(first, first + count + notice + parts - 1))
    assert places[own] == to
    assert not notice or places[CandidateId(1)] == first
