"""How a job's state is told on the command line."""

from workers.cli.jobs import _told


def test_a_held_job_whose_countdown_is_stopped_says_so() -> None:
    states = [
        _told({"state": state, "on_hold": on_hold}, "state")
        for state, on_hold in (("held", True), ("held", False), ("sent", True))
    ]

    assert states == ["held, on hold", "held", "sent"]
