"""What DLFuzz's and DeepXplore's recipes reach on the LeNets, beside the same number of mutants without gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from jostle.inputs.distances import as_image_file, relative_distances
from jostle.inputs.seeds import SeedForm, load_seeds
from jostle.records import NO_BUG
from jostle.session.assemble import assemble
from jostle.session.finish import InputFinisher
from jostle.session.session import Session
from jostle.step_records import Summary
from jostle.storage.journal import JournalLine, journal_line
from jostle.subjects.torch_target import TorchTarget
from jostle.zoo import lenet1, lenet4, lenet5, mnist_sample
from making import options, run_session, saved_findings

DIGITS = 20
every_seed = pytest.mark.parametrize("seed", [0, 1, 2])


class Fuzzing:
    """Runs recipes on the first digits, each in a folder of its own."""

    def __init__(self, folder: Path):
        self._folder, self._runs = folder, 0
        images, labels = mnist_sample()
        np.savez(folder / "digits.npz", x=images[:DIGITS].numpy(), y=labels[:DIGITS].numpy())

    def assembled(self, **choices: Any) -> Session:
        self._runs += 1
        usual = {"model": "jostle.zoo:lenet1", "seeds": str(self._folder / "digits.npz")}
        return assemble(options(**{**usual, "out": str(self._folder / str(self._runs)), **choices}))

    def run(self, **choices: Any) -> tuple[Summary, Path]:
        session = self.assembled(**choices)
        return run_session(session), session.archive.folder


@pytest.fixture
def fuzzing(tmp_path: Path) -> Fuzzing:
    return Fuzzing(tmp_path)


@every_seed
def test_it_finds_more_flips_than_as_many_mutants_without_gradients(seed: int, fuzzing: Fuzzing) -> None:
    guided, _ = fuzzing.run(recipe="dlfuzz", rounds=1, seed=seed)
    assert guided.findings["flip"] >= DIGITS
    for mutator in ({"mutator": ("metamorphic",), "ranges": "paper"}, {"mutator": ("noise",)}):
        unguided, _ = fuzzing.run(
            recipe="random", **mutator, oracle=("flip", "nan"), executions=guided.executions, seed=seed
        )
        assert unguided.executions == guided.executions
        assert guided.findings["flip"] > 2 * unguided.findings["flip"]
        assert guided.violations["flip"] > 2 * unguided.violations["flip"]


@every_seed
def test_every_violating_input_survives_as_an_image_of_eight_bits(seed: int, fuzzing: Fuzzing, tmp_path: Path) -> None:
    run = fuzzing.assembled(recipe="dlfuzz", rounds=1, seed=seed)
    violating = []
    judge = run.campaign._judge  # of what the loop runs
    really = judge.judge

    def noted(candidates: Any, *others: Any) -> Any:
        verdict = really(candidates, *others)
        violating.append(candidates.select(verdict.barred.nonzero().squeeze(1)))
        return verdict

    judge.judge = noted  # type: ignore[method-assign]
    summary = run.campaign.run(listeners=[run.archive])
    run.archive.conclude(summary)
    run.finisher.finish()
    inputs = torch.cat([some.inputs for some in violating])
    labels = torch.cat([some.labels for some in violating])
    references = torch.cat([some.references for some in violating])
    assert len(inputs) == summary.violations["flip"] > DIGITS and summary.unconfirmed == {}
    saved = as_image_file(inputs, 0, 1)
    assert (TorchTarget(lenet1()).predict(saved).argmax(1) != labels).all()
    distances = relative_distances(inputs, references)
    assert float(distances.mean()) <= 0.3 and float(distances.max()) <= 0.31
    findings = saved_findings(run.archive.folder)
    assert len({finding.record.root for finding in findings}) >= 0.8 * DIGITS
    for finding in findings:
        for name in ("input", "minimised"):
            read = load_seeds(str(finding.folder / f"{name}.png"), SeedForm()).inputs
            assert int(lenet1()(read).argmax()) == finding.record.label_change.taken_for


@pytest.mark.parametrize("perturbation", ["light", "occlusion", "blackout", "gradient"])
def test_deepxplore_makes_the_three_lenets_disagree(perturbation: str, fuzzing: Fuzzing) -> None:
    others = ("jostle.zoo:lenet4", "jostle.zoo:lenet5")
    summary, folder = fuzzing.run(recipe="deepxplore", models=others, perturbation=perturbation, rounds=1)
    assert summary.findings["differ"] > 0
    for finding in saved_findings(folder):
        said = [int(model()(finding.input[None]).argmax()) for model in (lenet1, lenet4, lenet5)]
        assert said == list(finding.record.details["labels"].values()) and len(set(said)) > 1


def test_gradients_and_transformations_share_a_campaign_which_its_seed_determines(fuzzing: Fuzzing) -> None:
    def journal(seed: int) -> list[JournalLine]:
        lines: list[JournalLine] = []
        run = fuzzing.assembled(
            recipe="dlfuzz",
            mutator=("gradient", "metamorphic"),
            ranges="paper",
            executions=800,
            seed=seed,
            batch=64,
        )
        torch.manual_seed(seed + 1000)
        run.campaign.run(listeners=[run.archive, lambda record: lines.append(journal_line(record))])
        run.archive.close()
        return lines

    one, same, other = journal(0), journal(0), journal(1)
    assert one == same != other
    found_by = {step.partition(":")[0] for line in one for step in line.found_by}
    assert found_by == {"gradient", "metamorphic"}


def test_the_oracle_agrees_with_what_was_stored(fuzzing: Fuzzing) -> None:
    run = fuzzing.assembled(recipe="dlfuzz", rounds=1)
    run.archive.conclude(run.campaign.run(listeners=[run.archive]))
    finisher = run.finisher
    assert isinstance(finisher, InputFinisher)
    finisher.finish()
    findings = saved_findings(run.archive.folder)
    rows = finisher._candidates(findings)
    bugs = finisher.oracles["flip"].judge(rows, finisher.target.run(rows)).bugs
    assert bugs.tolist() == [finding.record.bug for finding in findings] and NO_BUG not in bugs
