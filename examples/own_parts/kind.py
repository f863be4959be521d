"""A kind of model that a package adds: files that Jostle then fuzzes as it does its own.

pyproject.toml of the package:

    [project.entry-points."jostle.subjects"]
    linear = "my_package.kind:LINEAR"

jostle fuzz digits.linear --seeds jostle.zoo:mnist_sample
"""

from pathlib import Path

import numpy as np

from jostle.errors import ModelRefused
from jostle.subjects.registry import subject_of
from jostle.subjects.subject import Loading, Subject, SubjectKind


def load(path: Path, how: Loading) -> Subject:
    """The model of a file, which runs in a process of its own; weights [inputs, classes], as numpy saves them."""
    try:
        weights = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise ModelRefused(f"{path} is no linear model ({error}): save its weights with numpy.save") from error

    def scores(batch: np.ndarray) -> np.ndarray:  # call your own runtime here
        return batch.reshape(len(batch), -1) @ weights

    subject = subject_of(scores)
    assert subject is not None  # every function of a batch is one
    return subject


LINEAR = SubjectKind("linear", lambda path: path.suffix == ".linear", load, engines=("numpy",))
