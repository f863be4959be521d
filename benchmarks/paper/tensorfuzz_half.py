"""TensorFuzz's second example: digits near which LeNet-5 disagrees with itself in 16 bit, guided and unguided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from jostle import Agreement, Budget, Campaign, FarFromSeen, NewestFew, Noise, SameTop, Seeds, TorchTarget, Twins
from jostle.records import NO_LABEL, TWIN
from jostle.subjects.torch_twins import TWINS
from jostle.zoo import lenet5
from mnist_data import held_out_images
from paper.sample_statistics import fisher, mann_whitney, spread
from paper.searches import GUIDED, HEAD, UNGUIDED, First, first_finding, found, row, tests
from paper.table import Cell, Data, Result, Section, Table

IMAGES, SEEDS, FIRST = 10, 5, 100  # settings were chosen on the first ten images and seeds
BUDGET, RADIUS = 40_000, 0.4
LOGITS = "fc3"
TEST_SET = "test-set"


def cells(data: Data) -> Sequence[Cell]:
    settings = {"images": data.budget(IMAGES, 2), "budget": data.budget(BUDGET, 2_000)}
    runs = [
        Cell(f"{how}/seed{seed}", 20, measured, {"how": how, "seed": seed, **settings})
        for seed in data.seeds(SEEDS, FIRST)
        for how in (GUIDED, UNGUIDED)
    ]
    return [*runs, Cell(TEST_SET, 3, on_test_set)]


def measured(data: Data, how: str, seed: int, images: int, budget: int) -> Result:
    inputs, labels, _ = held_out_images(data.folder)
    rows = range(FIRST, FIRST + images)
    runs = [first_disagreement(inputs[row], labels[row], seed, how == GUIDED, budget) for row in rows]
    return {"how": how, "first": runs, "budget": budget}


def first_disagreement(image: Tensor, label: Tensor, seed: int, guided: bool, budget: int) -> First:
    return first_finding(
        Campaign(
            target=twins(),
            mutator=Noise(sigma=0.1, low=0, high=1, radius=RADIUS),
            feedbacks=[FarFromSeen([LOGITS], threshold=1.0)] if guided else [],
            oracles=[Agreement(SameTop())],
            scheduler=NewestFew(),
            seeds=Seeds(image[None], label[None], ("start",)),
            budget=Budget(executions=budget, findings=1),
            seed=seed,
        )
    )


def on_test_set(data: Data) -> Result:
    """What checking the held-out images themselves finds."""
    images, labels, source = held_out_images(data.folder)
    names = ("",) * len(images)
    trace = twins().run(Seeds(images, labels.new_full(labels.shape, NO_LABEL), names).as_candidates())
    differ = SameTop().differs(trace.outputs["model"], trace.outputs[TWIN])
    return {"differ": int(differ.sum()), "source": source}


def twins() -> Twins:
    return Twins(TorchTarget(lenet5(), [LOGITS]), {TWIN: TorchTarget(TWINS["weights16"](lenet5()))})


def section(results: Mapping[str, Result]) -> Section:
    runs = {how: [one for one in results.values() if one.get("how") == how] for how in (GUIDED, UNGUIDED)}
    first = {how: [count for one in some for count in one["first"]] for how, some in runs.items()}
    shares = {how: [100 * found(one["first"]) / len(one["first"]) for one in some] for how, some in runs.items()}
    if not all(first.values()):
        return Section("Not reproduced, because one side was not measured.", "")
    oftener = fisher(found(first[GUIDED]), len(first[GUIDED]), found(first[UNGUIDED]), len(first[UNGUIDED]))
    share = found(first[GUIDED]) / len(first[GUIDED])
    unguided_share = found(first[UNGUIDED]) / len(first[UNGUIDED])
    told = f"{100 * share:.0f} % of runs find a disagreement, {100 * unguided_share:.0f} % without guidance."
    holds = "Holds" if oftener.above and share >= 0.7 else "Holds in part" if oftener.above else "Does not hold"
    example = runs[GUIDED][0]
    checked = results.get(TEST_SET)
    test_set = f"Checked on {checked['source']} themselves: {checked['differ']} disagreements." if checked else ""
    body = f"""LeNet-5 and the same with its weights in 16 bit; {len(example["first"])} digits, {len(runs[GUIDED])}
seeds of randomness each, σ 0.1, within L∞ {RADIUS} of the digit; at most
{example["budget"]:,} executions a run; novelty by
distance from all seen logits. TensorFuzz's own code, run again, found one for 3 of 10 digits.

{HEAD}
{row("guided", first[GUIDED])}
{row("unguided", first[UNGUIDED])}

Digits with a disagreement, of each seed of randomness: guided {spread(shares[GUIDED], ".0f")} %, unguided
{spread(shares[UNGUIDED], ".0f")} %; {mann_whitney(shares[GUIDED], shares[UNGUIDED])}.
{tests(first[GUIDED], first[UNGUIDED])} {test_set}"""
    return Section(f"{holds}: {told}", body)


HALF = Table(
    "half",
    "TensorFuzz: 32 bit against 16 bit, within a radius",
    "a digit classifier and the same in 16 bit: the test set shows few differences, fuzzing within L∞ 0.4 of a digit "
    "finds one for 70 % of the digits, random search with the same mutations for none.",
    "1",
    cells,
    section,
)
