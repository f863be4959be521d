"""What a model's own process is kept from, and that models work all the same."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import canaries
from jostle.errors import UsageError
from jostle.isolation.process import Limits
from jostle.isolation.sandbox import ALL, FILES, NETWORK, SIGNALS, Entered, check_full, tried
from jostle.options.schema import Given
from jostle.session.isolate import isolated, limits_of, sandbox_of
from jostle.session.load import load
from making import options

GENEROUS = Limits(60, 2**40)
ROW = torch.full((1, 3), 0.5)
# Of a system where Landlock is forbidden, as some containers forbid what they do not know.
WITHOUT_LANDLOCK = """
import platform, sys
from dataclasses import replace
from jostle.isolation.landlock import CREATE_RULESET
from jostle.isolation.seccomp import ARCHITECTURES, refuse
refuse(replace(ARCHITECTURES[platform.machine()], refused=(CREATE_RULESET,)))
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # else a library may have threads before the sandbox is entered
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    with canaries.reachable(folder):
        yield folder


def complete() -> bool:
    return tried().active == ALL


needs_all = pytest.mark.skipif(not complete(), reason="this system has no full sandbox (jostle doctor)")


def ran(*arguments: str) -> str:
    path = os.pathsep.join(filter(None, [str(Path(canaries.__file__).parent), *sys.path]))
    done = subprocess.run(
        [sys.executable, *arguments], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.slow
@needs_all
def test_nothing_that_a_canary_tries_works_in_a_sandbox_and_all_of_it_without(place: Path, tmp_path: Path) -> None:
    assert ran(canaries.__file__).split("\n")[:-1] == list(canaries.CANARIES)
    before = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
    (tmp_path / "scratch").mkdir()
    assert ran(canaries.__file__, str(tmp_path / "scratch")).strip() == ""
    assert {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()} == before


def in_a_worker(given: Given) -> tuple[float, str]:
    """How much the model of a worker could do, and what it is said to be kept from."""
    model, service = isolated(given, ROW, GENEROUS)
    try:
        return float(model.target.predict(ROW)[0, 0]), model.sandbox
    finally:
        service.close()


@pytest.mark.slow
@needs_all
def test_a_model_file_is_kept_from_it_by_default_and_not_with_the_sandbox_off(place: Path, tmp_path: Path) -> None:
    path = tmp_path / "canary.pt"
    torch.save(canaries.canary(), path)
    model = {"model": str(path), "seeds": "seeds.npy", "trust_model": True}
    done, said = in_a_worker(options(**model))
    assert done == 0 and "no network" in said
    assert in_a_worker(options(**model, sandbox="off")) == (len(canaries.CANARIES), "")


@pytest.mark.slow
@needs_all
def test_python_that_the_user_names_is_kept_from_it_where_that_is_asked_for(place: Path) -> None:
    model = {"model": f"{canaries.__file__}:canary", "seeds": "seeds.npy", "isolate": True}
    assert in_a_worker(options(**model, sandbox="strict"))[0] == 0
    assert in_a_worker(options(**model)) == (len(canaries.CANARIES), "")


def test_who_gets_a_sandbox_depends_on_what_runs_in_the_process(tmp_path: Path) -> None:
    def has(**chosen: object) -> bool:
        return sandbox_of(options(seeds="seeds.npy", **chosen), tmp_path) is not None

    assert has(model="net.onnx") and has(model="net.onnx", twin=["int8"])
    assert not has(model="net.onnx", sandbox="off")
    assert not has(model="net.py:build") and has(model="net.py:build", sandbox="strict")
    for mine in ({"twin": ["net.py:build"]}, {"metadata": "net.py:loss"}, {"tokenizer": "net.py:tokens"}):
        assert not has(model="net.onnx", **mine)
    for shipped in (
        {"twin": ["jostle.zoo:lenet1"]},
        {"metadata": "jostle.zoo:lenet1"},
        {"tokenizer": "jostle.zoo:lenet1"},
    ):
        assert has(model="net.onnx", **shipped), "a folder may name what ships"


def test_strict_refuses_what_is_not_had_in_full() -> None:
    check_full(Entered(ALL, {}))
    with pytest.raises(UsageError, match=r"--sandbox strict cannot be had here: network is not prevented \(because\)"):
        check_full(Entered((FILES, SIGNALS), {NETWORK: "because"}))
    with pytest.raises(UsageError, match="--sandbox strict needs --isolate"):
        limits_of(options(model="net.py:build", seeds="seeds.npy", sandbox="strict"))


@pytest.mark.slow
@needs_all
def test_where_landlock_is_forbidden_doctor_says_so_and_strict_is_refused(tmp_path: Path) -> None:
    said = ran("-c", f"{WITHOUT_LANDLOCK}\nfrom jostle.isolation.sandbox import tried; print(tried())").strip()
    assert said.startswith("no network; writing outside of its own folder is not prevented (")
    script = f"{WITHOUT_LANDLOCK}\nsys.argv[0] = 'jostle'\nfrom jostle.cli.main import main; main()"
    model = ["jostle.zoo:lenet1", "--seeds", "jostle.zoo:mnist_sample", "--isolate", "--out", str(tmp_path / "out")]
    call = [sys.executable, "-c", script, "fuzz", *model, "--sandbox", "strict"]
    done = subprocess.run(call, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 4
    assert [line for line in done.stderr.splitlines() if line][-1].startswith("jostle: --sandbox strict cannot be had")
    assert "Traceback" not in done.stderr and not (tmp_path / "out").exists()


WRITING = """
import torch
from pathlib import Path


def write():
    Path(__file__).with_name("written").write_text("here")


class WritesWhenRun(torch.nn.Module):
    def forward(self, inputs):
        write()
        return inputs


def written_when_loaded():
    write()
    return torch.nn.Identity()


class WritesWhenLoaded(torch.nn.Module):
    def __reduce__(self):
        return written_when_loaded, ()

    def forward(self, inputs):
        return inputs
"""


@pytest.mark.slow
@needs_all
@pytest.mark.parametrize("name", ["WritesWhenRun", "WritesWhenLoaded"])
def test_a_model_that_must_write_is_told_how_to_leave_the_sandbox(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "writing.py").write_text(WRITING)
    monkeypatch.syspath_prepend(str(tmp_path))
    torch.save(getattr(importlib.import_module("writing"), name)(), tmp_path / "net.pt")
    np.save(tmp_path / "rows.npy", torch.rand(8, 3).numpy())
    fuzzed = options(model=str(tmp_path / "net.pt"), seeds=str(tmp_path / "rows.npy"), trust_model=True)
    with pytest.raises(UsageError, match=r"sandbox kept the model from writing .*PermissionError.*--sandbox off"):
        load(fuzzed)
    assert not (tmp_path / "written").exists()
    load(fuzzed.over(sandbox="off")).close()
    assert (tmp_path / "written").exists()
