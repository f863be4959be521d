"""The program of a worker: loads the models that settings name, and answers for them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jostle.config import settings_from
from jostle.interfaces import Differentiable, ModelTarget
from jostle.isolation.server import connected, serve
from jostle.isolation.target_server import Host
from jostle.session.instrument import Models


class Opening:
    """Opens the models of a campaign."""

    def load(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        torch.set_num_threads(fields["threads"])
        self._models = Models(settings_from(fields["settings"]))
        return {}

    def watch(self, sample: Tensor) -> tuple[ModelTarget, Differentiable, Mapping[str, Any], Mapping[str, Tensor]]:
        watched = self._models.watched(sample)
        names = ("layers", "novelty_layers", "belongs_to", "weights", "training")
        return watched.target, watched.gradients, {name: getattr(watched, name) for name in names}, watched.incoming


def main() -> None:
    number, parent, answers = sys.argv[1:]
    serve(connected(number, parent), Host(Path(answers), Opening()).handlers)


if __name__ == "__main__":
    main()
