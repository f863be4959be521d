"""How long a search may take."""

from __future__ import annotations

from jostle.triage.deadline import Deadline


def test_parts_of_the_work_get_their_share_of_the_time_that_is_left() -> None:
    now = [0.0]
    whole = Deadline.after(60.0, lambda: now[0])
    assert whole.share(1, 3).left == 20.0
    now[0] = 50.0
    assert whole.share(1, 2).left == 5.0 and not whole.passed
    now[0] = 60.0
    assert whole.passed and whole.left == 0.0


def test_who_asks_to_stop_has_no_time_left_in_any_part() -> None:
    asked = [False]
    whole = Deadline.after(60.0, lambda: 0.0, lambda: asked[0])
    part = whole.share(1, 2).share(1, 2)
    assert not part.passed and part.left == 15.0
    asked[0] = True
    assert part.passed and whole.passed and part.left == whole.left == 0.0
