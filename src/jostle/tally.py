"""What a campaign counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from jostle.judgement import Judgement
from jostle.step_records import DoneStep, History, Summary, Tries, WorkersSoFar


@dataclass
class Tally:
    """The counts of a campaign so far, those of earlier runs included."""

    steps: int = 0  # after the planting
    executions: int = 0
    seconds: float = 0.0  # of earlier runs and finished steps
    findings: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)
    unconfirmed: Counter[str] = field(default_factory=Counter)
    failing_kept: int = 0
    variant_seconds: Counter[str] = field(default_factory=Counter)
    executions_before: int = 0  # of earlier runs, whose times by variant are not kept

    @staticmethod
    def after(history: History) -> Tally:
        """The counts with which an earlier run stopped."""
        last = history.steps[-1]
        return Tally(
            steps=last.step,
            executions=last.executions,
            seconds=history.seconds,
            findings=Counter(history.findings),
            violations=Counter(history.violations),
            unconfirmed=Counter(history.unconfirmed),
            failing_kept=history.failing_kept,
            executions_before=last.executions,
        )

    def count(self, found: Judgement | DoneStep, seconds: Mapping[str, float]) -> None:
        """Counts what was found in a step that took so many seconds by variant; its executions are counted apart."""
        self.variant_seconds.update(seconds)
        self.violations.update(found.violations)
        self.unconfirmed.update(found.unconfirmed)
        self.findings.update(finding.violation.kind for finding in found.findings)

    def summary(
        self,
        corpus: int,
        admission_rate: float,
        coverage: Mapping[str, Mapping[str, float]],
        flaky: Mapping[str, int],
        counted: str,
        tries: Mapping[str, Tries],
        workers: WorkersSoFar | None,
    ) -> Summary:
        ran = self.executions - self.executions_before
        return Summary(
            steps=self.steps,
            executions=self.executions,
            seconds=self.seconds,
            corpus=corpus,
            admission_rate=admission_rate,
            coverage=coverage,
            findings=Counter(self.findings),
            flaky=flaky,
            violations=Counter(self.violations),
            unconfirmed=Counter(self.unconfirmed),
            rates={name: ran / max(seconds, 1e-9) for name, seconds in self.variant_seconds.items()},
            failing_kept=self.failing_kept,
            counted=counted,
            tries=tries,
            workers=workers,
        )
