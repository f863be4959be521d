"""Runs programs of one framework, here or in a process of its own: two of them in one process may take each other down.

As a script it reads lines of {"graph", "phase"} and answers each with "unsupported", "error" or "result" and "signals".
"""

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from jostle.foreign import Crash, attempt
from jostle.frameworks.backends.all_backends import lowering_named, signals_of
from jostle.frameworks.backends.program import Lowering, Unsupported, arrays_of
from jostle.frameworks.graph import Graph, array_as_json, array_from_json, graph_as_json, graph_from_json
from jostle.frameworks.workers.backend_server import MISSING

BETWEEN_CLEANINGS = 50  # programs


class Child:
    """A process that has one framework loaded."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def run(self, graph: Graph, phase: str) -> dict:
        self.process.stdin.write(json.dumps({"graph": graph_as_json(graph), "phase": phase}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "result" in answer:
            answer["result"] = {name: array_from_json(array) for name, array in answer["result"].items()}
        return answer


@contextmanager
def child_of(backend: str) -> Iterator[Child]:
    command = [sys.executable, __file__, backend]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, cwd=Path.cwd()) as process:
        yield Child(process)
        process.stdin.close()


def answer_to(told: dict, lowering: Lowering, signals) -> dict:
    graph, phase = graph_from_json(told["graph"]), told["phase"]
    answer = outcome(graph, phase, lowering, signals)
    if "result" in answer:
        answer["result"] = {name: array_as_json(array) for name, array in answer["result"].items()}
    return answer


def outcome(graph: Graph, phase: str, lowering: Lowering, signals) -> dict:
    """What running its program in this process gives."""
    try:
        text = lowering.program(graph, phase)
    except Unsupported as error:
        return {"unsupported": str(error)}
    namespace = dict(arrays_of(graph, phase))
    program = compile(text, "<program>", "exec")
    seen = attempt(lambda: signals.watched(lambda: exec(program, namespace), namespace))
    if isinstance(seen, Crash):
        missing = {"unsupported": seen.message} if seen.error in MISSING else {}
        return missing or {"error": f"{seen.traceback}\n{text}"}
    return {"result": namespace["result"], "signals": sorted(seen)}


def main(arguments: Sequence[str]) -> None:
    lowering = lowering_named(arguments[0])
    signals = importlib.import_module(signals_of(lowering))
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever a framework prints
    signals.prepare()
    for count, line in enumerate(sys.stdin, 1):
        answers.write(json.dumps(answer_to(json.loads(line), lowering, signals)) + "\n")
        answers.flush()
        if count % BETWEEN_CLEANINGS == 0:
            signals.after()


if __name__ == "__main__":
    main(sys.argv[1:])
