"""Nothing the model computes may be NaN or infinite."""

from __future__ import annotations

import torch
from torch import Tensor

from jostle.oracles.numeric import Finite
from jostle.records import NO_BUG, Trace, Verdicts
from making import batch_of, trace_of

NAN, INF = torch.nan, torch.inf


def judged(trace: Trace) -> Verdicts:
    return Finite().judge(batch_of(torch.zeros(len(trace.outcome), 1)), trace)


def only(*values: float) -> Tensor:
    return torch.tensor(values)[:, None]


def test_the_first_place_that_is_not_finite_is_named_in_the_order_of_computing() -> None:
    trace = trace_of(
        output=only(0, NAN, NAN, NAN, 0),
        activations={"conv": only(0, 0, NAN, 0, 0), "fc": only(0, 0, NAN, NAN, 0)},
        metadata={"loss": only(0, NAN, NAN, NAN, NAN)},
    )
    verdicts = judged(trace)
    places = [verdicts.describe(row).details["place"] for row in range(1, 5)]
    assert verdicts.bugs[0] == NO_BUG
    assert places == ["output", "conv", "fc", "loss"]
    assert verdicts.describe(2).summary == "NaN first in conv"


def test_nan_and_infinity_are_different_bugs_and_nan_wins_where_a_place_shows_both() -> None:
    verdicts = judged(trace_of(torch.tensor([[NAN, 0.0], [INF, 0.0], [-INF, 0.0], [INF, NAN]])))
    words = [verdicts.describe(row).details["value"] for row in range(4)]
    assert words == ["NaN", "infinity", "infinity", "NaN"]
    assert len(set(verdicts.bugs.tolist())) == 2


def test_infinity_in_an_early_layer_comes_before_the_nan_it_causes() -> None:
    trace = trace_of(only(NAN), activations={"conv": only(INF), "fc": only(NAN)})
    assert judged(trace).describe(0).fingerprint == "nan:infinity:conv"


def test_a_sum_of_large_finite_values_is_not_a_finding() -> None:
    trace = trace_of(torch.full((4, 8), 3e38), activations={"conv": torch.full((4, 8), -3e38)})
    assert (judged(trace).bugs == NO_BUG).all()


def test_infinities_that_cancel_in_a_sum_are_found() -> None:
    assert (judged(trace_of(torch.tensor([[INF, -INF], [INF, 0.0]]))).bugs != NO_BUG).all()


def test_the_twins_outputs_loss_and_gradients_are_watched_too() -> None:
    trace = trace_of(only(0, 0), twin=only(INF, 0), metadata={"loss": only(0, 0), "loss.grad": only(0, NAN)})
    verdicts = judged(trace)
    assert verdicts.describe(0).summary == "infinity first in output of the twin"
    assert verdicts.describe(1).summary == "NaN first in loss.grad"


def test_whole_numbers_are_finite() -> None:
    trace = trace_of(only(0))
    assert (judged(Trace(trace.outcome, {"model": torch.tensor([[2**62, 2**62]])})).bugs == NO_BUG).all()


def test_a_layer_called_output_is_not_hidden_by_the_output() -> None:
    trace = trace_of(torch.zeros(1, 2), activations={"output": torch.tensor([[torch.inf]])})
    assert Finite().judge(batch_of(torch.zeros(1, 2)), trace).bugs[0] != NO_BUG
