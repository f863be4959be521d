"""What pytest's command line says of all campaigns of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PROFILES = {"ci": "10s", "nightly": "10m"}  # the budget of a call that says none
USUAL = "ci"
EFFORT = ("budget", "executions")  # options that say how much is searched at most
LIMITS = (*EFFORT, "findings")  # options that say when a campaign ends


@dataclass(frozen=True)
class OptionsOfRun:
    """A budget and a seed that go before those of calls, and the profile of calls that leave the budget open."""

    budget: str | None = None
    seed: int | None = None
    profile: str = USUAL

    def over(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a call, as they are in this run."""
        chosen = {name: value for name, value in options.items() if value is not None}
        if self.budget is not None:
            chosen = {**chosen, "budget": self.budget}
            chosen.pop("executions", None)
        elif not any(name in chosen for name in EFFORT):
            chosen["budget"] = PROFILES[self.profile]
        return chosen if self.seed is None else {**chosen, "seed": self.seed}
