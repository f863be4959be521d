"""What foreign code raises is a value, whoever else raises the like."""

from __future__ import annotations

import pytest

from jostle.errors import UsageError
from jostle.foreign import Crash, attempt, first_line
from jostle.subjects.values import answer_among, named_tensors


def test_an_error_of_ours_that_foreign_code_raises_is_its_crash() -> None:
    def model() -> None:
        raise UsageError("said by the model")

    crash = attempt(model, refuses=False)
    assert isinstance(crash, Crash) and (crash.error, crash.message) == ("UsageError", "said by the model")


def test_what_a_users_own_code_refuses_is_refused() -> None:
    def loader() -> None:
        raise UsageError("said by the loader")

    with pytest.raises(UsageError, match=r"^said by the loader$"):
        attempt(loader)


def test_an_error_that_we_raise_is_raised() -> None:
    with pytest.raises(UsageError) as raised:
        attempt(lambda: answer_among({}, "boxes"), refuses=False)
    assert first_line(raised.value)


def test_endless_recursion_is_the_same_crash_however_deep_it_begins() -> None:
    endless: list[object] = []
    endless.append(endless)

    def below(depth: int) -> object:
        return below(depth - 1) if depth else named_tensors(endless)

    places = {crash.where for depth in range(6) if isinstance(crash := attempt(lambda: below(depth)), Crash)}
    assert len(places) == 1
