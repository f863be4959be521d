"""The program of a worker: loads the models that options name, and answers for them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jostle.composition.compose import watching
from jostle.composition.settle import FUZZ
from jostle.freed_memory import keep_freed_memory
from jostle.isolation.messages import grouped
from jostle.isolation.sandbox import check_full, enter
from jostle.isolation.sandbox_blame import blaming_sandbox
from jostle.isolation.server import connected, serve
from jostle.isolation.shared_arrays import SharedArrays
from jostle.isolation.target_server import Hosted, TargetServer
from jostle.layout import Layout
from jostle.part import TRIED
from jostle.process_state import keep_streams
from jostle.recipes.all_recipes import recipe_of
from jostle.subjects.models import load_models, making_of

# What a campaign must know.
FACTS = ("layers", "novelty_layers", "belongs_to", "digest", "outputs", "twins", "notes", "threads_vary")


class ModelOpener:
    """Opens the models of a campaign."""

    def __init__(self, scratch: Path):
        self._scratch = scratch  # a folder of this process alone
        self._blaming: Callable[[], AbstractContextManager[None]] = nullcontext  # what is said of failures

    def load(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        sandbox = self._entered(fields["sandbox"])  # before there are threads, which would stay outside
        self._blaming = blaming_sandbox if sandbox else nullcontext
        torch.set_num_threads(fields["threads"])
        sys.path += [folder for folder in fields["importable"] if folder not in sys.path]  # last: it hides nothing
        self._given = given = FUZZ.parsed(fields["options"])
        with self._blaming():
            self._models = load_models(given)
        self._watching = watching(recipe_of(given), given)
        return {"sandbox": sandbox}

    def watch(self, sample: Tensor, fields: Mapping[str, Any]) -> Hosted:
        with self._blaming():
            return self._hosted(sample, fields)

    def _hosted(self, sample: Tensor, fields: Mapping[str, Any]) -> Hosted:
        layout = fields["layout"]
        making = making_of(self._given, sample, Path(fields["twins"]))
        models = self._models.taking(None if layout is None else Layout.parsed(layout)).with_twins(self._given, making)
        model = models.instrumented(self._watching, sample[:TRIED])
        embedding = {} if model.embedding is None else {"": model.embedding}
        arrays = grouped({"incoming": model.incoming, "embedding": embedding})
        facts = {name: getattr(model, name) for name in FACTS} | {"traits": asdict(model.traits)}
        return Hosted(model.target, model.gradients, model.twin_layers, facts, arrays)

    def _entered(self, sandbox: Mapping[str, Any] | None) -> str:
        """What this process is kept from, in words, after it gave up what it must."""
        if sandbox is None:
            return ""
        entered = enter(self._scratch, [Path(folder) for folder in sandbox["writable"]])
        if sandbox["strict"]:
            check_full(entered)
        return str(entered)


def main() -> None:
    number, answers, folder = sys.argv[1:]
    keep_streams()
    keep_freed_memory()
    arrays = SharedArrays(descriptor=int(answers))
    serve(connected(number), TargetServer(arrays, ModelOpener(Path(folder))).handlers)


if __name__ == "__main__":
    main()
