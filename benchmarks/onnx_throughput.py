"""The whole loop on an ONNX file beside bare batched inference of ONNX Runtime, in one run."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

from jostle.subjects.registry import subject_of
from jostle.subjects.twin_making import TwinMaking
from jostle.zoo import lenet5, mnist_sample
from real_networks import efficientnet_lite0, imagenet_images
from sessions import fuzz_session
from spread import spread

BARS = {"LeNet-5": 0.6, "EfficientNet-Lite0": 0.85}


def exported(module: nn.Module, sample: torch.Tensor, folder: Path) -> Path:
    """The module as its twin in ONNX."""
    subject = subject_of(module)
    assert subject is not None
    path = subject.twin("onnx", TwinMaking(sample, folder))
    assert isinstance(path, Path)
    return path


def bare_rate(path: Path, inputs: np.ndarray, executions: int) -> float:
    """Inputs per second of a plain session of ONNX Runtime on batches like this one."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    given = {session.get_inputs()[0].name: inputs}
    session.run(None, given)
    started = time.perf_counter()
    batches = max(1, executions // len(inputs))
    for _ in range(batches):
        session.run(None, given)
    return batches * len(inputs) / (time.perf_counter() - started)


def loop_rate(path: Path, seeds: Path, coverage: str, executions: int, batch: int, seed: int) -> float:
    """Executions per second of a campaign with noise, with everything written to disk."""
    options = {
        "model": str(path),
        "seeds": str(seeds),
        "coverage": (coverage,),
        "mutator": ("noise",),
        "isolate": False,
    }
    with fuzz_session(**options, executions=executions, batch=batch, seed=seed, force=True) as session:
        summary = session.search()
    return summary.executions / summary.seconds


def ratio(path: Path, seeds: Path, coverage: str, executions: int, batch: int, seed: int) -> float:
    images = np.load(seeds)
    inputs = np.resize(images, (batch, *images.shape[1:])).astype(np.float32)
    inputs = np.clip(inputs + np.random.default_rng(seed).normal(0, 0.1, inputs.shape), 0, 1).astype(np.float32)
    before = bare_rate(path, inputs, executions)
    loop = loop_rate(path, seeds, coverage, executions, batch, seed)
    return loop / ((before + bare_rate(path, inputs, executions)) / 2)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        networks = {
            "LeNet-5": (lenet5(), mnist_sample()[0], 40_000, 256),
            "EfficientNet-Lite0": (efficientnet_lite0(), imagenet_images()[0], 640, 32),
        }
        for name, (module, images, executions, batch) in networks.items():
            path, seeds = exported(module, images[:2], Path(folder) / name), Path(folder) / f"{name}.npy"
            np.save(seeds, images.numpy())
            runs = f"{executions:,} executions in batches of {batch}, {options.seeds} seeds, one thread"
            print(f"{name}, {runs}; ratio loop / bare session (bar {BARS[name]})")
            for coverage in ("nearest", "kmnc"):
                ratios = [ratio(path, seeds, coverage, executions, batch, seed) for seed in range(options.seeds)]
                print(f"  {coverage}: {spread(ratios, '.2f')}")


if __name__ == "__main__":
    main()
