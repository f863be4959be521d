"""DeepXplore (Pei, Cao, Yang, Jana): gradient ascent on several models of one task until one of them deviates."""

from __future__ import annotations

from dataclasses import replace

from jostle.config import Settings
from jostle.recipes.dlfuzz import dlfuzz

BALANCE = 0.1  # what neurons weigh, as in its experiments on MNIST
ITERATIONS = 20  # with steps that adapt; it takes up to 50 of one size
REACH = 10.0  # realistic changes may be large: of light, up to white
ONLY_SEEDS = 0.0  # the limit: no mutant is near enough to its root to be mutated itself


def deepxplore(settings: Settings) -> Settings:
    """Realistic changes (light, occlusion, blackout) that make one of several models answer otherwise."""
    return replace(
        dlfuzz(settings),
        perturbation=settings.perturbation or "light",
        strategy=settings.strategy or ("uncovered",),
        neurons=1 + len(settings.models) if settings.neurons is None else settings.neurons,
        balance=BALANCE if settings.balance is None else settings.balance,
        iterations=settings.iterations or ITERATIONS,
        reach=REACH if settings.reach is None else settings.reach,
        limit=ONLY_SEEDS if settings.limit is None else settings.limit,
    )
