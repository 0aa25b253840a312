"""A plan is the same for the same seed, keeps to its time, and breaks nothing twice at once."""

from itertools import pairwise

from tests.chaos.plan import GAP, LONG, PROCESSES, Kind, counted, make_plan


def test_a_seed_makes_one_plan() -> None:
    assert make_plan(7, 90, LONG) == make_plan(7, 90, LONG)
    assert make_plan(7, 90, LONG) != make_plan(8, 90, LONG)


def test_every_process_is_killed_and_every_kind_of_fault_happens() -> None:
    plan = make_plan(1, 90, LONG)
    assert {fault.target for fault in plan if fault.kind is Kind.KILL} == set(PROCESSES)
    assert {fault.kind for fault in plan} == set(Kind)
    assert sum(counted(plan).values()) == len(plan)


def test_all_is_over_in_time_and_nothing_is_broken_twice_at_once() -> None:
    plan = make_plan(2, 90, LONG)
    assert all(fault.at >= 0 and fault.over <= 90 for fault in plan)
    for target in {fault.target for fault in plan}:
        faults = [fault for fault in plan if fault.target == target]
        assert all(later.at >= earlier.over + GAP for earlier, later in pairwise(faults)), target


def test_a_recipe_without_room_leaves_faults_out() -> None:
    assert 0 < len(make_plan(3, 3, {Kind.POSTGRES_RESTARTED: 40})) < 40
