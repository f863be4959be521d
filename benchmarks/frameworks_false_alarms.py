"""False alarms: a framework beside itself, and beside the float64 reference, on thousands of mutated models."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from jostle.frameworks.backends.program import PREDICT
from jostle.frameworks.campaign.examiner import REFERENCE_BOUNDS, Examiner
from jostle.frameworks.drawing import single
from jostle.frameworks.edits.all_edits import edited, edits_with
from jostle.frameworks.graph import Graph
from jostle.frameworks.judging.compare import judge
from jostle.frameworks.models import MODELS
from jostle.frameworks.observations import REFERENCE
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.frameworks.workers.backend_pool import BackendPool
from jostle.frameworks.workers.backend_process import Place
from jostle.isolation.process import Limits

BATCH = 16
POPULATION = 400
LIMITS = Limits(60.0, 2**33)
EDITS = edits_with(list(OPERATORS.values()))


def models(count: int, seed: int) -> Iterator[list[Graph]]:
    """Batches of mutants of mutants, as a campaign by chance makes them."""
    rng = np.random.default_rng(seed)
    population = [build(rng) for build in MODELS.values()] + [single(name, rng, 0.2) for name in OPERATORS]
    names = list(EDITS)
    for _ in range(count // BATCH):
        batch: list[Graph] = []
        while len(batch) < BATCH:
            parent = population[int(rng.integers(len(population)))]
            child = edited(parent, EDITS[names[int(rng.integers(len(names)))]], rng)
            if child is not None:
                batch.append(child)
        population = (population + batch)[-POPULATION - len(OPERATORS) :]
        yield batch


def twin_of(backend: str) -> Place:
    """The same backend by another name of this interpreter."""
    return Place(backend, str(Path(sys.executable).with_name("python3")))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for backend in ("torch", "onnxruntime"):
        place, twin = Place(backend), twin_of(backend)
        alarms, signatures, ran = Counter[str](), Counter[str](), 0
        with BackendPool([place, twin], LIMITS) as pool:
            examiner = Examiner(pool, [])
            for graphs in models(options.models, options.seed):
                for graph, seen in zip(graphs, pool.run(graphs, PREDICT), strict=True):
                    ran += 1
                    itself = {REFERENCE: seen[place.name], twin.name: seen[twin.name]}
                    for one in judge(graph, PREDICT, itself, REFERENCE_BOUNDS).found:
                        alarms[f"{one.symptom} {one.tensor}"] += 1
                    against = {name: seen[name] for name in (REFERENCE, place.name)}
                    for fault in examiner(graph, PREDICT, against):
                        signatures[fault.signature.text] += 1
        print(f"{backend}, {ran:,} models, seed {options.seed}: beside itself {alarms.total()} findings {dict(alarms)}")
        print(
            f"  beside the reference {signatures.total()} in {len(signatures)} signatures, each to be checked by hand:"
        )
        for text, count in signatures.most_common():
            print(f"  {count:5} {text}")


if __name__ == "__main__":
    main()
