"""Rules of the house that a reader relies on and a test can check."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import jostle

HOUSE = Path(jostle.__file__).parent
PARTS = ("targets", "mutators", "feedback", "oracles", "schedulers", "storage", "isolation")
# What a part may know besides its own folder.
SHARED = {
    *{"jostle.records", "jostle.interfaces", "jostle.errors", "jostle.foreign", "jostle.named_objects"},
    *{"jostle.geometry", "jostle.profile", "jostle.scaling", "jostle.distances", "jostle.scores"},
    *{"jostle.foreign_files", "jostle.crashes"},
}
# Where Exception may be caught, and why.
CATCH_BROADLY = {
    "foreign.py",  # runs foreign code
    "targets/exported_file.py",  # torch raises anything on a damaged archive
    "storage/behind.py",  # hands what failed in its thread to the loop
    "cli/main.py",  # the last resort, which says that the defect is ours
}
HEAVY = ("faiss", "typer", "rich", "onnx", "onnxruntime", "tensorflow", "keras", "jax", "ray", "mlxtend", "jostle.cli")


def sources(folder: Path = HOUSE) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


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


@pytest.mark.parametrize("part", PARTS)
def test_a_part_knows_the_records_and_interfaces_and_its_own_folder_only(part: str) -> None:
    assert sources(HOUSE / part)
    for path in sources(HOUSE / part):
        strangers = {name for name in own(path) if name not in SHARED and not name.startswith(f"jostle.{part}.")}
        assert not strangers, f"{name_of(path)} imports {strangers}"


def test_fuzzing_of_frameworks_knows_its_own_folder_and_workers_only() -> None:
    for path in sources(HOUSE / "frameworks"):
        near = ("jostle.frameworks", "jostle.isolation.")
        strangers = {name for name in own(path) if name not in SHARED and not name.startswith(near)}
        assert not strangers, f"{name_of(path)} imports {strangers}"


def test_what_all_parts_share_knows_no_part() -> None:
    for name in ("errors.py", "geometry.py", "distances.py", "foreign_files.py"):
        assert own(HOUSE / name) == set()
    assert own(HOUSE / "records.py") == {"jostle.crashes", "jostle.geometry"}
    assert own(HOUSE / "interfaces.py") == {"jostle.records"}
    assert own(HOUSE / "profile.py") == {"jostle.errors", "jostle.foreign_files", "jostle.records"}
    assert own(HOUSE / "scaling.py") == {"jostle.profile"}


def test_the_loop_knows_no_part_by_name() -> None:
    assert own(HOUSE / "campaign.py") == {
        *{"jostle.crashes", "jostle.errors", "jostle.interfaces", "jostle.randomness", "jostle.records"},
        "jostle.storage.corpus",
    }


def test_only_the_command_line_and_recipes_know_recipes_and_only_the_command_line_knows_itself() -> None:
    for path in sources():
        if not name_of(path).startswith("cli/"):
            assert not any(name.startswith("jostle.cli") for name in own(path)), name_of(path)
            if not name_of(path).startswith("recipes/") and name_of(path) != "__init__.py":
                assert not any(name.startswith("jostle.recipes") for name in own(path)), name_of(path)


def test_only_the_command_line_prints() -> None:
    for path in sources():
        if name_of(path).startswith("cli/"):
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
                assert name_of(path) == "targets/loading.py"


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
                forked = name_of(path) == "recipes/watching.py" and called == "torch.manual_seed"  # inside fork_rng
                global_state = {"torch.manual_seed", "np.random.seed", "random.seed", "np.random.rand"}
                assert forked or called not in global_state, name_of(path)
        assert "random" not in imports(path), name_of(path)


def test_importing_jostle_imports_nothing_heavy_and_changes_no_random_state() -> None:
    script = (
        "import sys, torch; before = torch.get_rng_state(); import jostle; "
        f"assert torch.equal(before, torch.get_rng_state()); print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_module_says_in_its_first_line_what_it_is() -> None:
    for path in sources():
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        assert docstring and docstring.splitlines()[0].rstrip().endswith((".", "?", ":")), name_of(path)


def test_the_public_names_are_all_there() -> None:
    assert all(hasattr(jostle, name) for name in jostle.__all__)
    assert len(set(jostle.__all__)) == len(jostle.__all__)
