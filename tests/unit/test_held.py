"""Objects that a script hands over are found by name while it holds them, and no longer."""

from __future__ import annotations

import pytest

from jostle.errors import UsageError
from jostle.held import holding, is_held, shown_name, was_held
from jostle.named_objects import find_object, names_object


class Net:
    pass


def test_what_is_held_is_found_by_its_name() -> None:
    net = Net()
    with holding() as holder:
        spec = holder.hold(net)
        assert names_object(spec) and is_held(spec) and shown_name(spec) == "Net"
        assert find_object(spec) is net


def test_two_objects_have_two_names_and_one_has_one() -> None:
    one, other = Net(), Net()
    with holding() as holder:
        names = [holder.hold(one), holder.hold(other), holder.hold(one), holder.hold(other, "my model!")]
        assert len(set(names)) == 3 and names[0] == names[2]
        assert all(map(names_object, names))
        assert find_object(names[3]) is other


def test_no_name_of_ours_hides_what_is_held() -> None:
    with holding() as holder:
        assert find_object(holder.hold(holding, "Holder")) is holding


def test_names_are_the_same_in_every_run() -> None:
    first, second = [], []
    for names in (first, second):
        with holding() as holder:
            names += [holder.hold(Net()), holder.hold(Net())]
    assert first == second


def test_nothing_is_found_once_it_is_let_go() -> None:
    with holding() as holder:
        spec = holder.hold(Net())
    assert was_held(spec) and not is_held(spec)
    with pytest.raises(UsageError, match="Net was an object of a script: give what stands for it"):
        find_object(spec)


def test_holding_within_holding_hides_and_gives_back() -> None:
    outer, inner = Net(), Net()
    with holding() as first:
        spec = first.hold(outer)
        with holding() as second:
            assert second.hold(inner) == spec and find_object(spec) is inner
        assert find_object(spec) is outer
