"""Strategies that choose edits, beside chance: parts of libraries and distinct defects per second of processor time."""

from __future__ import annotations

import time

from jostle.frameworks.strategies.all_strategies import EDIT_STRATEGIES
from sessions import frameworks_session
from spread import spread

SEEDS = 3
MODELS = 600
BACKENDS = "onnxruntime,torch"


def run(strategy: str, order: str, seed: int) -> tuple[float, float, float]:
    """Parts of libraries, distinct defects, and seconds of processor time of ourselves and all backends."""
    options = {
        "backends": BACKENDS,
        "executions": MODELS,
        "strategy": strategy,
        "order": order,
        "seed": seed,
        "sweep": 0,
    }
    with frameworks_session(**options) as session:
        started = time.process_time()
        summary = session.search()
        own = time.process_time() - started
    theirs = sum(summary.executions / rate for rate in summary.rates.values())
    return summary.coverage["library"]["parts"], sum(summary.findings.values()), own + theirs


def main() -> None:
    print(f"{BACKENDS}, {MODELS:,} models, {SEEDS} seeds: median (lowest to highest)")
    for strategy, order in [*((name, "score") for name in EDIT_STRATEGIES), ("greedy", "depth"), ("greedy", "breadth")]:
        runs = [run(strategy, order, seed) for seed in range(SEEDS)]
        parts = spread([found / seconds for found, _, seconds in runs])
        defects = spread([100 * found / seconds for _, found, seconds in runs])
        total = spread([found for found, _, _ in runs])
        print(f"{strategy:8} {order:8} parts/s {parts}  defects/100 s {defects}  parts {total}")


if __name__ == "__main__":
    main()
