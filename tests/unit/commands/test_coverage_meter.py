"""Coverage of a model over any number of batches, without a campaign."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from jostle.commands.coverage_meter import CoverageMeter
from jostle.errors import PreflightFailed, UsageError
from jostle.feedback.coverage_parts import MEASURED, PROFILED
from jostle.profile import encode_profile, load_profile
from jostle.zoo import lenet1, lenet5, mnist_sample

ALL = list(MEASURED)


@pytest.fixture(scope="module")
def digits() -> Tensor:
    return mnist_sample()[0][:120]


def measured(digits: Tensor, batches: list[Tensor], criteria: list[str] = ALL) -> CoverageMeter:
    """LeNet-1, profiled on the first digits, over these batches."""
    meter = CoverageMeter(lenet1(), criteria)
    meter.take_profile(digits[:40].split(16))
    for batch in batches:
        meter.add(batch)
    return meter


def test_batches_accumulate_as_one_batch(digits: Tensor) -> None:
    at_once, in_turn = CoverageMeter(lenet1(), ALL), CoverageMeter(lenet1(), ALL)
    for meter in (at_once, in_turn):
        meter.take_profile([digits])  # of fewer a class than there are scores, no likelihood can be told
    noisy = (digits + 0.3 * torch.randn(digits.shape)).clamp(0, 1)
    gains = at_once.add(noisy)
    torch.testing.assert_close(torch.cat([in_turn.add(part) for part in noisy.split(40)]), gains)
    for name, figures in at_once.coverage().items():
        assert in_turn.coverage()[name] == pytest.approx(figures)
    assert gains.shape == (120, len(ALL)) and (gains.sum(0) > 0).all()
    assert not at_once.add(noisy)[gains > 0].any()


def test_every_criterion_tells_its_share_by_name(digits: Tensor) -> None:
    coverage = measured(digits, [digits]).coverage()
    assert list(coverage) == ALL
    assert all(0 <= figures["covered"] <= 1 for name, figures in coverage.items() if name != "nlc")
    assert coverage["nlc"]["spread"] > 0 and coverage["nc"]["neurons"] == 42
    assert coverage["kmnc"]["covered"] > 0.01 and coverage["tknc"]["covered"] > 0.5


def test_the_data_of_the_profile_lies_within_it(digits: Tensor) -> None:
    coverage = measured(digits, [digits[:40]]).coverage()
    assert coverage["nbc"]["covered"] == coverage["snac"]["covered"] == 0
    assert measured(digits, [digits * 9]).coverage()["snac"]["covered"] > 0.1


def test_nothing_is_claimed_before_a_batch_was_counted(digits: Tensor) -> None:
    assert CoverageMeter(lenet1(), ["nc"]).coverage() == {}


@pytest.mark.parametrize("name", PROFILED)
def test_ranges_need_a_profile(name: str, digits: Tensor) -> None:
    with pytest.raises(UsageError, match=f"{name} needs known data: give training data as --profile"):
        CoverageMeter(lenet1(), ["nc", name]).add(digits)


@pytest.mark.parametrize("name", sorted(set(ALL) - set(PROFILED)))
def test_other_criteria_need_none(name: str, digits: Tensor) -> None:
    assert CoverageMeter(lenet1(), [name]).add(digits).sum() > 0


def test_an_unknown_criterion_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="--criteria 'kmcn' is unknown: did you mean kmnc"):
        CoverageMeter(lenet1(), ["kmcn"])


def test_no_criterion_at_all_is_refused(digits: Tensor) -> None:
    with pytest.raises(UsageError):
        CoverageMeter(lenet1(), []).add(digits)


def test_a_profile_of_other_layers_is_refused(digits: Tensor) -> None:
    of_another = CoverageMeter(lenet5(), ["kmnc"]).take_profile([digits])
    of_some = CoverageMeter(lenet1(), ["kmnc"], layers=("conv*",)).take_profile([digits])
    for profile in (of_another, of_some):
        with pytest.raises(UsageError, match="--profile is of other layers than are watched"):
            CoverageMeter(lenet1(), ["kmnc"], profile).add(digits)


def test_a_given_profile_measures_as_the_one_it_was_taken_as(digits: Tensor, tmp_path: Path) -> None:
    taking = CoverageMeter(lenet1(), ["kmnc", "nbc"])
    path = tmp_path / "it.safetensors"
    profile = taking.take_profile([digits[:40]])
    path.write_bytes(encode_profile(profile, taking.belongs_to))
    given = CoverageMeter(lenet1(), ["kmnc", "nbc"], load_profile(path, taking.belongs_to))
    assert torch.equal(given.add(digits), taking.add(digits))
    assert given.belongs_to == taking.belongs_to


def test_a_profile_belongs_to_weights_and_layers(digits: Tensor) -> None:
    ours, other, some = (
        CoverageMeter(lenet1(), ["kmnc"]),
        CoverageMeter(lenet5(), ["kmnc"]),
        CoverageMeter(lenet1(), ["kmnc"], layers=("conv*",)),
    )
    for meter in (ours, other, some):
        meter.take_profile([digits[:2]])
    assert ours.belongs_to["weights"] == some.belongs_to["weights"] != other.belongs_to["weights"]
    assert ours.belongs_to["layers"] != some.belongs_to["layers"] == ["conv1", "conv2"]


def test_a_profile_after_the_first_batch_is_refused(digits: Tensor) -> None:
    meter = measured(digits, [digits[:40]], ["snac"])
    with pytest.raises(UsageError, match="before the first batch"):
        meter.take_profile([digits[:2]])


def test_settings_are_those_of_fuzzing(digits: Tensor) -> None:
    few = CoverageMeter(lenet1(), ["tknc"], top=1, layers=("fc*",))
    assert few.add(digits[:1]).tolist() == [[1.0]]
    channels, every = (CoverageMeter(lenet1(), ["nc"], units=units) for units in ("channels", "every"))
    for meter in (channels, every):
        meter.add(digits[:1])
    assert every.coverage()["nc"]["neurons"] > 20 * channels.coverage()["nc"]["neurons"]


def test_inputs_the_model_refuses_are_told_in_a_line() -> None:
    with pytest.raises(PreflightFailed, match=r"fails on inputs of shape \[3, 5, 5\]") as refusal:
        CoverageMeter(lenet1(), ["nc"]).add(torch.zeros(2, 3, 5, 5))
    assert "\n" not in str(refusal.value)


def test_a_model_without_layers_has_no_neurons() -> None:
    class Plain(nn.Module):
        def forward(self, inputs: Tensor) -> Tensor:
            return inputs.flatten(1)

    with pytest.raises(UsageError, match="shows no layers"):
        CoverageMeter(Plain(), ["nc"]).add(torch.zeros(2, 4))


def test_measuring_leaves_the_model_as_it_was(digits: Tensor) -> None:
    model = lenet1()
    before = model(digits[:3]).detach()
    CoverageMeter(model, ["nc", "tknc"]).add(digits)
    assert torch.equal(model(digits[:3]), before)
    assert not any(layer._forward_hooks for layer in model.modules())


@pytest.mark.parametrize("criteria", [["nc"], ["tknc", "bknc"]])
def test_an_option_of_a_criterion_that_is_not_measured_does_no_harm(criteria: list[str], digits: Tensor) -> None:
    meter = CoverageMeter(lenet1(), criteria, sections=5, buckets=3)
    meter.add(digits[:10])
    assert list(meter.coverage()) == criteria
