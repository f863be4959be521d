"""Issues call things by the names that the framework's documentation has."""

from __future__ import annotations

import ast

import pytest

from jostle.foreign import Crash
from jostle.frameworks.backends.all_backends import LOWERINGS
from jostle.frameworks.backends.program import PREDICT, Unsupported
from jostle.frameworks.campaign.seed_graphs import seed_graphs
from jostle.frameworks.judging.disagreement import Disagreement, Symptom
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.frameworks.reduction.api_names import api_names
from jostle.frameworks.reduction.issue import Report, issue_text
from jostle.frameworks.reduction.script import script
from jostle.graph_signature import NOTHING
from jostle.session.framework_reports import LETS_DIE

MODELS = seed_graphs(("operators",), tuple(OPERATORS), 0)
AXES = len(MODELS["max_pool"].leaves["x"].array.shape) - 2  # of windows


def names(backend: str, operator: str) -> list[str]:
    return api_names(LOWERINGS[backend].program(MODELS[operator].without_training(), PREDICT))


@pytest.mark.parametrize(
    ("backend", "operator", "named"),
    [
        ("torch", "max_pool", [f"torch.nn.functional.max_pool{AXES}d"]),
        ("torch", "topk_indices", ["torch.topk"]),
        ("paddle", "topk_indices", ["paddle.topk"]),
        ("paddle", "lstm", ["paddle.nn.LSTM"]),
        ("paddle", "cast", ["paddle.cast"]),
        ("tensorflow", "max_pool", [f"tf.nn.max_pool{AXES}d"]),
        ("jax", "max_pool", ["jax.lax.reduce_window"]),
        ("onnxruntime", "max_pool", ["MaxPool"]),
        ("onnxruntime", "lstm", ["LSTM"]),
        ("openvino", "cast", ["Cast"]),
        ("pytensor", "add", ["pytensor.tensor.add"]),
    ],
)
def test_a_function_is_named_as_its_documentation_names_it(backend: str, operator: str, named: list[str]) -> None:
    assert names(backend, operator) == named


@pytest.mark.parametrize("backend", sorted(LOWERINGS))
def test_every_program_has_names_or_only_signs_and_methods(backend: str) -> None:
    for operator in MODELS:
        try:
            program = LOWERINGS[backend].program(MODELS[operator].without_training(), PREDICT)
        except Unsupported:
            continue
        assert all(one.replace(".", "").isidentifier() for one in api_names(program))
        assert ast.parse(program)


def test_an_issue_says_who_does_what_where_and_what_others_make_of_it() -> None:
    graph = MODELS["max_pool"].without_training()
    found = Disagreement("torch", PREDICT, Symptom.VALUES, "y", (0, 1), "1.0", "2.0")
    program = LOWERINGS["torch"].program(graph, PREDICT)
    text = issue_text(
        Report(graph, found, "max_pool", "float32", program, "print()", {"torch": "2.13.0"}, ["Linux", "a CPU"],
               {"jax 0.10.2": "2.0"})
    )  # fmt: skip
    assert text.startswith(f"# torch.nn.functional.max_pool{AXES}d of float32 computes wrong values\n")
    assert "**Versions:** torch 2.13.0, Linux, a CPU\n" in text
    assert "`y`[0, 1] is 1.0" in text and "**Expected:** 2.0, computed in float64" in text
    assert OPERATORS["max_pool"].meaning in text and "- jax 0.10.2: 2.0" in text


def test_a_part_of_training_is_named_as_such() -> None:
    found = Disagreement("paddle", "train", Symptom.TRAINING, "w", (), "1.0", "2.0")
    report = Report(MODELS["linear"], found, "optimiser.adadelta", NOTHING, "", "", {})
    assert issue_text(report).startswith("# paddle: optimiser adadelta trains to wrong parameters\n")


def test_what_a_framework_says_is_no_markup_and_can_be_encoded() -> None:
    crash = Crash("Error", "std::vector<float> @name\x1b[31m \ud800 <img src=x>", "a_b.py:run", "")
    found = Disagreement("torch@/a_b/python", PREDICT, Symptom.CRASH, crash=crash)
    report = Report(
        MODELS["linear"], found, "linear", "float32", "", "", {"torch": "2"}, others={"jax": "fails with <b>"}
    )
    text = issue_text(report)
    assert r"Error in a\_b.py:run: std::vector\<float\> \@name\\x1b\[31m \\ud800 \<img src=x\>" in text
    assert r"# torch\@/a\_b/python: " in text and r"- jax: fails with \<b\>" in text
    assert text.encode()


def test_a_script_of_a_death_keeps_paddles_handler_from_sleeping() -> None:
    paddle = LOWERINGS["paddle"]
    graph = MODELS["relu"].without_training()
    lines = script(graph, PREDICT, paddle, {}, None, first=LETS_DIE[paddle.module]).splitlines()
    place = lines.index(*LETS_DIE["paddle"])
    imports = [number for number, line in enumerate(lines) if line.startswith(("import ", "from "))]
    assert lines.index("import paddle") in imports and place == max(imports) + 1
