"""A traceback begins where the model's own code does."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from jostle.foreign import Crash, attempt
from jostle.subjects.torch_target import TorchTarget
from jostle.targets.contained import Contained
from jostle.triage.model_traceback import model_traceback
from making import batch_of


class Inner(nn.Module):
    def forward(self, rows: Tensor) -> Tensor:
        raise ArithmeticError("the corner is lit")


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, rows: Tensor) -> Tensor:
        try:
            result: Tensor = self.inner(rows)
        except ArithmeticError as error:
            raise ValueError("no answer") from error
        return result


def test_frames_that_lead_to_the_model_are_left_out() -> None:
    trace = Contained(TorchTarget(Outer())).run(batch_of(torch.ones(1, 2)))
    whole = trace.crashes[0].traceback
    lines = model_traceback(whole).splitlines()
    assert "torch_target.py" in whole and "torch_target.py" not in "\n".join(lines)
    assert lines[0] == "Traceback (most recent call last):" and "in forward" in lines[1] and "self.inner" in lines[2]
    second = lines.index("Traceback (most recent call last):", 1)
    assert "test_model_traceback.py" in lines[second + 1] and lines[-1] == "ValueError: no answer"


def test_frames_within_the_model_stay_whatever_their_file_is() -> None:
    crash = attempt(lambda: nn.Linear(2, 3)(torch.ones(1, 5)))
    assert isinstance(crash, Crash)
    told = model_traceback(crash.traceback)
    assert "test_model_traceback.py" in told and "linear.py" in told and "foreign.py" not in told


@pytest.mark.parametrize("text", ["", "Segmentation fault\n    (core dumped)", "a\n\nb", "ValueError: no"])
def test_what_is_no_traceback_stays(text: str) -> None:
    assert model_traceback(text) == text


def test_of_a_failure_on_the_way_the_exception_is_left() -> None:
    heading, frame = "Traceback (most recent call last):", '  File "/x/jostle/foreign.py", line 1, in attempt'
    assert model_traceback(f"{heading}\n{frame}\n    f()\nValueError: no\n") == f"{heading}\nValueError: no"
