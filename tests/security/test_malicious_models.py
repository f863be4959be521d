"""Files that would run code: by default none of them does, whichever way it comes in."""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import struct
import time
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from commanding import run
from malformed import GRAPH, SOURCE, WEIGHTS, members_of, valid, zipped
from payloads import CARRIERS, FIRING, call, payloads, pickled

from jostle.cli.terminal import Exit
from jostle.errors import UsageError
from jostle.inputs.seeds import SeedForm, load_seeds
from jostle.profile import load_profile
from jostle.subjects.registry import load as load_subject

Load = Callable[[Path], object]
PATIENCE = 120  # seconds for a payload that starts a process, on a slow and busy machine


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(SOURCE)
    return tmp_path / "canary"


def fired(canary: Path, patience: float = 0.0) -> bool:
    """Whether the canary is there, also a little later, as some payloads start another process."""
    until = time.perf_counter() + patience
    while not canary.exists() and time.perf_counter() < until:
        time.sleep(0.01)
    return canary.exists()


def refused(load: Load, path: Path) -> bool:
    try:
        load(path)
    except UsageError as error:
        assert len(str(error).splitlines()) == 1
        return True
    return False


@pytest.mark.parametrize("carrier", FIRING)
def test_every_payload_runs_where_it_is_trusted(carrier: str, canary: Path) -> None:
    path = canary.with_name("model.pt")
    for name, payload in payloads(canary.parent).items():
        path.write_bytes(CARRIERS[carrier](payload))
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.load(path, weights_only=False)
        assert fired(canary, PATIENCE), f"{name} does not sing, so refusing it shows nothing"
        canary.unlink()


ROUTES: dict[str, Callable[[Path], object]] = {
    **{suffix: lambda path: load_subject(str(path)) for suffix in (".pt", ".pkl", ".ckpt", ".pt2")},
    **{
        f"weights{suffix}": lambda path: load_subject(f"{path.with_name('net.py')}:build", True, str(path))
        for suffix in (".pth", ".bin", ".safetensors")
    },
    **{suffix: lambda path: load_seeds(str(path), SeedForm()) for suffix in (".npy", ".npz", ".png", ".tif")},
    "profile.safetensors": lambda path: load_profile(path, {}),
}


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("route", ROUTES)
def test_no_payload_runs_by_any_route_not_even_weights_of_a_trusted_model(
    route: str, carrier: str, canary: Path
) -> None:
    path = canary.with_name(route if route[0] != "." else f"file{route}")
    for name, payload in payloads(canary.parent).items():
        path.write_bytes(CARRIERS[carrier](payload))
        assert refused(ROUTES[route], path), name
        assert not fired(canary), name
    assert not fired(canary, 0.1)


def test_nothing_connects_or_changes_the_environment(canary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "quiet")
    path = canary.with_name("model.pt")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        address = call("builtins.tuple", ["127.0.0.1", server.getsockname()[1]])
        connecting = call("socket.create_connection", address)
        path.write_bytes(pickled([connecting, call("builtins.exec", "import os; os.environ['CANARY'] = 'fired'")]))
        assert refused(ROUTES[".pt"], path) and refused(ROUTES["weights.pth"], path)
        with pytest.raises(TimeoutError):
            server.accept()
        assert os.environ["CANARY"] == "quiet"
        with contextlib.suppress(Exception):
            torch.load(path, weights_only=False)
        server.accept()[0].close()
        assert os.environ["CANARY"] == "fired"


def _program(**changed: bytes) -> bytes:
    """A valid exported program with members changed or added, by the end of their names."""
    members = members_of(valid()["models/.pt2"])
    root = next(iter(members)).partition("/")[0]
    return zipped({**members, **{f"{root}/{name}": content for name, content in changed.items()}})


def _weights_as_pickles(payload: bytes) -> bytes:
    members = members_of(valid()["models/.pt2"])
    told = json.loads(next(content for name, content in members.items() if name.endswith(WEIGHTS)))
    for tensor in told["config"].values():
        tensor.update(use_pickle=True, path_name="weight_0")
    return _program(**{WEIGHTS: json.dumps(told).encode(), "data/weights/weight_0": payload})


def _in_graph(payload: bytes) -> bytes:
    members = members_of(valid()["models/.pt2"])
    told = json.loads(next(content for name, content in members.items() if name.endswith(GRAPH)))
    told["guards_code"] = [payload.decode("latin-1")]
    return _program(**{GRAPH: json.dumps(told).encode()})


IN_PROGRAMS: dict[str, Callable[[bytes], bytes]] = {
    "example inputs": lambda payload: _program(**{"data/sample_inputs/model.pt": payload}),
    "archived example inputs": lambda payload: _program(
        **{"data/sample_inputs/model.pt": CARRIERS["archive"](payload)}
    ),
    "example inputs of old": lambda payload: _program(**{"data/sample_inputs/model.pt": CARRIERS["of old"](payload)}),
    "weights": _weights_as_pickles,
    "all weights": lambda payload: _program(**{"data/weights/model.pt": payload}),
    "all constants": lambda payload: _program(**{"data/constants/model.pt": payload}),
    "custom object": lambda payload: _program(**{"data/constants/custom_obj_0": payload}),
    "guards": _in_graph,
    "data.pkl": lambda payload: _program(**{"data.pkl": payload}),
    "TorchScript": lambda payload: _program(**{"constants.pkl": payload, "code/__torch__.py": b"import os"}),
}


@pytest.mark.parametrize("place", IN_PROGRAMS)
def test_no_payload_runs_from_within_an_exported_program(place: str, canary: Path) -> None:
    path = canary.with_name("model.pt2")
    for name, payload in payloads(canary.parent).items():
        path.write_bytes(IN_PROGRAMS[place](payload))
        assert refused(ROUTES[".pt2"], path), name
        assert not fired(canary), name


def _linked(target: str) -> bytes:
    """A program one of whose members is a symbolic link."""
    content = io.BytesIO(valid()["models/.pt2"])
    with zipfile.ZipFile(content, "a") as archive:
        link = zipfile.ZipInfo("archive/data/weights/weight_77")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, target)
    return content.getvalue()


STRAY = {
    "above": "../../canary",
    "above by backslashes": "..\\..\\canary",
    "above as a weight": "data/weights/../../../canary",
    "library": "data/aotinductor/model/model.so",
    "source to compile": "data/aotinductor/model/model.wrapper.cpp",
}


@pytest.mark.parametrize("case", STRAY)
def test_a_program_with_members_outside_or_of_machine_code_is_refused(case: str, canary: Path) -> None:
    path = canary.parent / "below" / "deeper" / "model.pt2"
    path.parent.mkdir(parents=True)
    path.write_bytes(_program(**{STRAY[case]: b"x"}))
    assert refused(ROUTES[".pt2"], path)
    path.write_bytes(zipped({**members_of(valid()["models/.pt2"]), str(canary): b"x"}))
    assert refused(ROUTES[".pt2"], path)
    assert not fired(canary)


def test_members_are_read_and_never_unpacked_so_links_and_notes_do_nothing(canary: Path) -> None:
    before = sorted(canary.parent.rglob("*"))
    for content in (_linked("/etc/passwd"), _program(**{"extra/../../canary": b"x"})):
        path = canary.with_name("model.pt2")
        path.write_bytes(content)
        load_subject(str(path))  # nothing in it names the link
        path.unlink()
        assert sorted(canary.parent.rglob("*")) == before


def _array(payload: bytes) -> bytes:
    """An .npy file of Python objects."""
    header = b"{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + payload


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_arrays_of_objects_run_nothing_as_seeds_though_numpy_would_run_them(suffix: str, canary: Path) -> None:
    path = canary.with_name(f"seeds{suffix}")
    for name, payload in payloads(canary.parent).items():
        path.write_bytes(_array(payload) if suffix == ".npy" else zipped({"x.npy": _array(payload)}))
        assert refused(ROUTES[suffix], path), name
        assert not fired(canary), name
        with contextlib.suppress(Exception):
            np.load(path, allow_pickle=True)["x"]
        assert fired(canary, PATIENCE), name
        canary.unlink()


def test_an_image_that_a_printer_program_would_run_is_refused(canary: Path) -> None:
    page = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(%pipe%touch canary) (w) file\n"
    for suffix in (".png", ".jpg", ".tif", ".ppm"):
        path = canary.with_name(f"page{suffix}")
        path.write_bytes(page)
        assert refused(ROUTES[".png"], path)
        assert not fired(canary)


@pytest.mark.slow
@pytest.mark.parametrize("route", ["model.pt", "weights.pth", "model.pt2", "seeds.npy"])
def test_no_payload_runs_through_the_command(route: str, canary: Path) -> None:
    folder = canary.parent
    payload = payloads(folder)["exec"]
    np.save(folder / "ok.npy", np.linspace(0, 1, 80, dtype=np.float32).reshape(20, 4))
    content = {
        "model.pt": CARRIERS["archive"](payload),
        "weights.pth": CARRIERS["archive"](payload),
        "model.pt2": IN_PROGRAMS["example inputs"](payload),
        "seeds.npy": _array(payload),
    }[route]
    (folder / route).write_bytes(content)
    model = [route] if route.startswith("model") else ["net.py:build"]
    weights = ["--weights", route, "--trust-model"] if route.startswith("weights") else []
    seeds = route if route.startswith("seeds") else "ok.npy"
    before = dict(os.environ)
    ran = run("fuzz", *model, *weights, "--seeds", seeds, "--executions", "40", "--out", "out", cwd=folder)
    assert ran.code == Exit.USAGE and len(ran.err.splitlines()) == 1, ran
    assert not fired(canary) and dict(os.environ) == before
