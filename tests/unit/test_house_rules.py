"""Rules of the house that a reader relies on and a test can check."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import jostle

HOUSE = Path(jostle.__file__).parent
# What stands on the ground floor, for every room to use.
GROUND = {
    f"jostle.{name}"
    for name in (
        *(
            "domain",
            "layout",
            "lineage",
            "mutations",
            "records",
            "step_records",
            "interfaces",
            "errors",
            "foreign",
            "graph_signature",
            "held",
            "own_parts",
            "named_objects",
            "home_folders",
            "randomness",
            "digests",
            "progress",
            "domain",
            "code_points",
            "visible",
            "process_state",
        ),
        *("profile", "known_traces", "scaling", "scores", "part", "task", "traits"),
    )
}
# The loop, and what it is made of.
LOOP = ("campaign", "resume", "step_plan", "judgement", "admission", "tally", "coverage_counter")
# A room, and the other rooms that it may know.
KNOWS: dict[str, tuple[str, ...]] = {
    "untrusted": (),
    "options": ("untrusted",),
    "isolation": (),
    "inputs": ("options", "untrusted"),
    "targets": ("isolation",),
    "subjects": ("options", "targets", "untrusted"),
    "mutators": ("options", "inputs"),
    "feedback": ("options",),
    "oracles": ("options", "inputs"),
    "schedulers": ("options", "inputs"),
    "storage": ("inputs", "untrusted"),
    "triage": ("inputs", "options", "storage", "untrusted"),
    "frameworks": ("options", "isolation", "untrusted"),
    "scale": ("isolation", "storage", "untrusted"),
    "report": ("inputs", "storage", "triage", "untrusted"),
    "export": ("storage", "triage"),
    "pytest_plugin": ("api", "commands", "composition", "options", "session", "storage", "triage", "untrusted"),
}
# Where Exception may be caught, and why.
CATCH_BROADLY = {
    "scale/ray_cluster.py",  # Ray, when it starts
    "foreign.py",  # runs foreign code
    "untrusted/exported_program.py",  # torch raises anything on a damaged archive
    "storage/background_writer.py",  # hands what failed in its thread to the loop
    "isolation/template.py",  # what it forked must never go on as the template
    "session/crew_member.py",  # hands what failed in a worker to the campaign as text
    "cli/run_command.py",  # the last resort, which says that the defect is ours
}
# What opens a file by its name, or reads it.
OPENING = {
    *("open", "read_text", "read_bytes", "open_memmap", "memmap", "fromfile", "loadtxt", "genfromtxt"),
    *("safe_open", "load_file", "copyfile", "copy2"),
}
# What is called the same and opens no file, or one that is open already.
OPENS_NO_FILE = {
    *("Image.open", "wave.open", "archive.open"),
    "read_text",  # of inputs.text
    *("backends.open", "self.open", "service.open", "self._service.open"),
}
# Where files are opened all the same, and why.
OPENED_HERE: dict[str, set[str]] = {
    "untrusted/files.py": {"open", "os.open"},  # the one place
    "untrusted/tensor_files.py": {"safe_open"},  # what is open already, by its descriptor
    "inputs/array_files.py": {"np.lib.format.open_memmap"},  # the same
    "storage/files.py": {"open", "os.open"},  # to write
    "isolation/shared_arrays.py": {"os.open"},  # what two processes share
    "isolation/forked.py": {"Path(os.devnull).open"},  # to write
    "process_state.py": {"os.open"},  # what leads nowhere
    "isolation/landlock.py": {"os.open"},  # a place by its descriptor, not its content
    "untrusted/hdf5_probe.py": {"Path(path).open"},  # a process of its own, with little time
    "report/render.py": {"path.read_text"},  # our own templates
    "cli/app.py": {"source.read_text"},  # our own
    "storage/environment.py": {"Path('/proc/cpuinfo').read_text"},
    "subjects/silence.py": {"Path(os.devnull).open"},  # to write
    "frameworks/backends/onnx/signals.py": {"Path(file.name).read_bytes"},  # a temporary file of our own
    "zoo/cifar10_images.py": {"tarfile.open", "(inner / name).read_bytes"}
    | {  # that ships, or whose digest is known
        "files('jostle.zoo').joinpath('data', 'cifar10_sample.npz').open",
    },
    "zoo/mnist.py": {"files('jostle.zoo').joinpath('data', 'mnist_sample.npz').open"},
    "zoo/shipped_weights.py": {"files('jostle.zoo').joinpath('data', f'{name}.safetensors').read_bytes"},
}
HEAVY = (
    *("jinja2", "plotly"),
    *("faiss", "typer", "rich", "onnx", "onnxruntime", "openvino", "ai_edge_litert", "transformers"),
    *("tensorflow", "keras", "jax", "ray", "mlxtend", "jostle.cli"),
)


def sources(folder: Path = HOUSE) -> list[Path]:
    return sorted(folder.rglob("*.py"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imports(path: Path) -> set[str]:
    """Every module that is imported anywhere in the file, also inside functions."""
    found: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            found.add(node.module or "")
    return found


def own(path: Path) -> set[str]:
    return {name for name in imports(path) if name.split(".")[0] == "jostle"}


def name_of(path: Path) -> str:
    return path.relative_to(HOUSE).as_posix()


@pytest.mark.parametrize("room", KNOWS)
def test_a_room_knows_the_ground_floor_itself_and_few_others(room: str) -> None:
    assert sources(HOUSE / room)
    near = tuple(f"jostle.{name}." for name in (room, *KNOWS[room]))
    for path in sources(HOUSE / room):
        strangers = {name for name in own(path) if name not in GROUND and not f"{name}.".startswith(near)}
        assert not strangers, f"{name_of(path)} imports {strangers}"


def test_the_ground_floor_knows_no_part() -> None:
    assert own(HOUSE / "errors.py") == own(HOUSE / "lineage.py") == own(HOUSE / "domain.py") == set()
    assert own(HOUSE / "records.py") == {"jostle.domain", "jostle.foreign", "jostle.lineage", "jostle.mutations"}
    assert own(HOUSE / "graph_signature.py") == set()
    assert own(HOUSE / "mutations.py") == {"jostle.lineage"}
    assert own(HOUSE / "step_records.py") == {"jostle.lineage", "jostle.records"}
    assert own(HOUSE / "interfaces.py") == {"jostle.records", "jostle.step_records"}
    assert own(HOUSE / "known_traces.py") == {"jostle.records"}
    read = {"jostle.untrusted.json_text", "jostle.untrusted.tensor_files"}
    ours = {"jostle.errors", "jostle.records", "jostle.known_traces", *read}
    assert own(HOUSE / "profile.py") == ours
    assert own(HOUSE / "scaling.py") == {"jostle.profile"}


def test_the_loop_knows_no_part_by_name() -> None:
    needed = ("foreign", "errors", "interfaces", "lineage", "randomness", "records", "step_records", "storage.corpus")
    known = {f"jostle.{name}" for name in (*LOOP, *needed)}
    assert {name for module in LOOP for name in own(HOUSE / f"{module}.py")} | {"jostle.campaign"} == known


def test_only_subjects_of_torch_know_torch_modules() -> None:
    """But for the networks that we ship, and frameworks, which import torch modules as graphs."""
    for path in sources():
        if not name_of(path).startswith(("subjects/torch_", "zoo/", "frameworks/")):
            mentioned = {ast.unparse(node) for node in nodes(path) if isinstance(node, ast.Attribute)}
            assert not mentioned & {"nn.Module", "torch.nn.Module"}, name_of(path)


def test_composition_and_recipes_know_no_session_and_sessions_no_commands() -> None:
    around = ("session", "commands", "cli")
    for room, above in (("composition", around), ("recipes", around), ("session", ("commands", "cli"))):
        for path in sources(HOUSE / room):
            assert not {name for name in own(path) if name.startswith(tuple(f"jostle.{one}" for one in above))}, path


def test_below_sessions_only_the_catalogue_and_recipes_know_parts_of_several_rooms() -> None:
    parts = ("mutators", "feedback", "oracles", "schedulers")
    for path in sources():
        rooms = {name.split(".")[1] for name in own(path) if name.startswith("jostle.") and name.split(".")[1] in parts}
        if name_of(path).split("/")[0] in (
            "recipes",
            "composition",
            "session",
            "commands",
            "cli",
            "__init__.py",
            "catalogue.py",
        ):
            continue
        assert len(rooms) <= 1, f"{name_of(path)} imports {rooms}"


def test_no_two_classes_have_one_name() -> None:
    names = [node.name for path in sources() for node in nodes(path) if isinstance(node, ast.ClassDef)]
    assert sorted({name for name in names if names.count(name) > 1 and not name.startswith("_")}) == []


def test_only_the_command_line_knows_itself() -> None:
    for path in sources():
        if not name_of(path).startswith("cli/"):
            assert not any(name.startswith("jostle.cli") for name in own(path)), name_of(path)


def test_nobody_knows_the_pytest_plugin() -> None:
    for path in sources():
        if not name_of(path).startswith("pytest_plugin/"):
            assert not any(name.startswith("jostle.pytest_plugin") for name in own(path)), name_of(path)


def test_nobody_below_commands_and_the_command_line_knows_commands() -> None:
    for path in sources():
        if (
            not name_of(path).startswith(("cli/", "api/", "commands/", "pytest_plugin/"))
            and name_of(path) != "__init__.py"
        ):
            assert not any(name.startswith("jostle.commands") for name in own(path)), name_of(path)


def test_only_the_command_line_prints() -> None:
    """But for the bar that scripts and notebooks see."""
    for path in sources():
        if name_of(path).startswith("cli/") or name_of(path) == "api/progress.py":
            continue
        calls = {node.func.id for node in nodes(path) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        assert "print" not in calls, name_of(path)
        assert not imports(path) & {"rich", "rich.console", "typer"}, name_of(path)


def test_nothing_imports_pickle() -> None:
    for path in sources():
        assert not {name.split(".")[0] for name in imports(path)} & {"pickle", "cPickle", "dill", "joblib"}, name_of(
            path
        )


def test_torch_load_and_numpy_load_never_unpickle_but_for_the_trusted_model() -> None:
    for path in sources():
        for node in nodes(path):
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant) and node.value.value is False, name_of(path)
            if isinstance(node, ast.keyword) and node.arg == "weights_only" and not node.value.value:
                assert name_of(path) == "subjects/torch_pickled.py"


def test_files_are_opened_in_one_place_and_looked_at_there() -> None:
    """Whatever else opens one by its name may wait for a pipe for ever, follow a link, or read without end."""
    for path in sources():
        called = {ast.unparse(node.func) for node in nodes(path) if isinstance(node, ast.Call)}
        opening = {name for name in called if name.rpartition(".")[2] in OPENING and name not in OPENS_NO_FILE}
        assert opening <= OPENED_HERE.get(name_of(path), set()), name_of(path)


def broad(handler: ast.ExceptHandler) -> bool:
    caught = ast.walk(handler.type) if handler.type is not None else iter(())
    names = {node.id for node in caught if isinstance(node, ast.Name)}
    return handler.type is None or bool(names & {"Exception", "BaseException"})


def test_exceptions_are_caught_broadly_in_a_few_places_only() -> None:
    places = {
        name_of(path)
        for path in sources()
        for node in nodes(path)
        if isinstance(node, ast.ExceptHandler) and broad(node)
    }
    assert places == CATCH_BROADLY


def test_nobody_seeds_or_draws_from_global_randomness() -> None:
    for path in sources():
        for node in nodes(path):
            if isinstance(node, ast.Attribute):
                called = ast.unparse(node)
                forked = name_of(path) == "randomness.py" and called == "torch.manual_seed"  # inside fork_rng
                global_state = {"torch.manual_seed", "np.random.seed", "random.seed", "np.random.rand"}
                assert forked or called not in global_state, name_of(path)
        assert "random" not in imports(path), name_of(path)


def test_importing_jostle_imports_nothing_heavy_and_changes_no_random_state() -> None:
    script = (
        "import sys, torch; before = torch.get_rng_state(); from jostle import *; "
        f"assert torch.equal(before, torch.get_rng_state()); print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_module_says_in_its_first_line_what_it_is() -> None:
    for path in sources():
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        assert docstring and docstring.splitlines()[0].rstrip().endswith((".", "?", ":")), name_of(path)


def test_no_two_files_of_tests_have_one_name() -> None:
    """Pytest imports them by their bare names."""
    names = [path.name for path in Path(__file__).parents[1].rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def test_the_public_names_are_all_there() -> None:
    assert all(hasattr(jostle, name) for name in jostle.__all__)
    assert len(set(jostle.__all__)) == len(jostle.__all__)
    assert {*jostle.__all__} == jostle._MODULES.keys()
