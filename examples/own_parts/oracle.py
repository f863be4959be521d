"""An oracle of your own: the model must not be surer of a changed input than of its seed by a lot.

jostle fuzz jostle.zoo:lenet5 --seeds jostle.zoo:mnist_sample --oracle examples/own_parts/oracle.py:NoGain
"""

import torch

from jostle import Candidates, Trace, Verdicts, Violation


class NoGain:
    """Confidence that rises by more than a tenth; a bug for each seed."""

    looks_inside = False
    compares_with_truth = False

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        now = trace.outputs["model"].softmax(1).max(1).values
        before = candidates.answers.softmax(1).max(1).values

        def describe(row: int) -> Violation:
            rise = f"confidence rises from {before[row]:.1%} to {now[row]:.1%}"
            return Violation("gain", f"gain:{int(candidates.roots[row])}", rise)

        return Verdicts.where("gain", trace, now > before + 0.1, torch.as_tensor(candidates.roots), describe)
