"""Models against exact copies of themselves, every kind: whatever is found is a false alarm of ours."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from jostle.errors import ModelRefused
from jostle.subjects.registry import load, subject_of
from jostle.subjects.subject import Loading
from jostle.subjects.twin_making import TwinMaking
from jostle.zoo import lenet1, mnist_sample
from sessions import fuzz_session

EXECUTIONS = 100_000  # in all
GUIDANCE = ("nearest", "gap")
AGREE = ("argmax", "1e-6")
SOURCE = "from jostle.zoo import lenet1\n\ndef build():\n    return lenet1()\n"
CHANNELS_LAST = {"layout": "nhwc"}


@dataclass(frozen=True)
class Kind:
    """A kind of model, by the file that it is written to."""

    file: str
    beside: tuple[str, ...] = ()  # what belongs to the file
    options: Mapping[str, Any] = field(default_factory=dict)
    function: str = ""  # in the file, that builds the model

    def copied(self, folder: Path, to: Path) -> tuple[str, str]:
        """What to call the model and its copy."""
        for name in (self.file, *self.beside):
            whole = folder / name
            (shutil.copytree if whole.is_dir() else shutil.copyfile)(whole, to / name)
        return f"{folder / self.file}{self.function}", f"{to / self.file}{self.function}"


KINDS = {
    "torch module": Kind("nets.py", function=":build"),
    "exported program": Kind("export.pt2"),
    "TorchScript": Kind("scripted.pt", options={"trust_model": True}),
    "pickled torch module": Kind("pickled.pt", options={"trust_model": True}),
    "ONNX": Kind("onnx.onnx"),
    "ONNX, int8": Kind("int8-static.onnx"),
    "OpenVINO": Kind("openvino.xml", ("openvino.bin",)),
    "LiteRT": Kind("net.tflite", options=CHANNELS_LAST),
    "Keras": Kind("net.keras", options=CHANNELS_LAST),
    "Keras, HDF5": Kind("net.h5", options=CHANNELS_LAST),
    "SavedModel": Kind("net_saved", options=CHANNELS_LAST),
}


def write_models(folder: Path) -> None:
    images = mnist_sample()[0][:64]
    (folder / "nets.py").write_text(SOURCE)
    torch.jit.trace(lenet1().eval(), images[:2]).save(str(folder / "scripted.pt"))
    torch.save(lenet1(), folder / "pickled.pt")
    subject = subject_of(lenet1())
    assert subject is not None
    for twin in ("export", "onnx", "int8-static", "openvino"):
        subject.twin(twin, TwinMaking(images, folder))
    subprocess.run(
        [sys.executable, str(Path(__file__).with_name("tensorflow_files.py")), str(folder)],
        check=True,
        capture_output=True,
    )


def why_not(kind: Kind, folder: Path) -> str | None:
    """Why models of this kind cannot be loaded here, if they cannot."""
    if kind.function:
        return None
    try:
        load(str(folder / kind.file), how=Loading(trusted=True))
    except ModelRefused as refusal:
        return str(refusal)
    return None


def found(kind: Kind, names: tuple[str, str], executions: int) -> int:
    """How many executions of all campaigns of this kind show a difference."""
    total = 0
    for seed, (coverage, agree) in enumerate((coverage, agree) for coverage in GUIDANCE for agree in AGREE):
        model, copy = names
        options = {"model": model, "twin": [copy], "oracle": ("agree",), "agree": agree, "coverage": (coverage,)}
        size = {"mutator": ("noise",), "executions": executions, "seed": seed, **kind.options}
        with fuzz_session(**options, **size) as session:
            total += session.search().findings.total()
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--executions", type=int, default=EXECUTIONS)
    wanted = parser.parse_args().executions
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as models, tempfile.TemporaryDirectory() as copies:
        write_models(Path(models))
        refused = {name: why_not(kind, Path(models)) for name, kind in KINDS.items()}
        able = [name for name, why in refused.items() if why is None]
        each = -(-wanted // (len(able) * len(GUIDANCE) * len(AGREE)))
        print(f"LeNet-1 against its copy, noise, {each:,} executions for each of {GUIDANCE} and of {AGREE}; findings")
        for name in able:
            names = KINDS[name].copied(Path(models), Path(copies))
            print(f"  {name}: {found(KINDS[name], names, each)}", flush=True)
        for name, why in refused.items():
            if why is not None:
                print(f"  {name}: not run, {why}")


if __name__ == "__main__":
    main()
