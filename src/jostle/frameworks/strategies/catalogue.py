"""Every strategy by the name that users type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from jostle.frameworks.strategies.bandit import Bandit
from jostle.frameworks.strategies.chance import ByChance
from jostle.frameworks.strategies.genetic import Genetic
from jostle.frameworks.strategies.greedy import Greedy
from jostle.frameworks.strategies.mcmc import Walk
from jostle.frameworks.strategies.strategy import Strategy

STRATEGIES: Mapping[str, Callable[[Sequence[str]], Strategy]] = {
    "greedy": Greedy,
    "genetic": Genetic,
    "mcmc": Walk,
    "bandit": Bandit,
    "random": ByChance,
}
