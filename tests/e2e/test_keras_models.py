"""`jostle fuzz` on Keras models and SavedModels: calls that work, and strangers' files that are refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from running import ENVIRONMENT, PATIENCE, Ended
from test_bad_input import check_refused

from jostle.cli.terminal import Exit
from jostle.subjects.keras_engines import keras_on, tensorflow
from jostle.subjects.silence import silenced
from jostle.zoo import lenet1, mnist_sample
from model_files import as_keras, write_keras, write_saved_model
from soaking import only_in_soak, times

Run = Callable[..., Ended]
pytestmark = pytest.mark.slow  # a worker that imports TensorFlow takes seconds to start


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """LeNet-1 as Keras saves and exports it, and digits with their channels last and first."""
    folder = tmp_path_factory.mktemp("bench")
    write_keras(lenet1(), folder / "net.keras", fused=True)
    write_keras(lenet1(), folder / "net.h5", fused=True)
    write_saved_model(lenet1(), folder / "saved")
    images, labels = (part[:60] for part in mnist_sample())
    np.savez(folder / "last.npz", x=images.movedim(1, -1).numpy(), y=labels.numpy())
    np.savez(folder / "first.npz", x=images.numpy(), y=labels.numpy())
    return folder


@pytest.mark.soak
@pytest.mark.parametrize("model", ["net.keras", "saved", "net.h5"][: times(1, 3)])
def test_a_campaign_finds_flips_in_every_kind_of_file(model: str, jostle: Run, bench: Path, tmp_path: Path) -> None:
    how = "--recipe deephunter --coverage nearest --ranges paper --layout nhwc --executions 1500 --json"
    ended = jostle("fuzz", str(bench / model), "--seeds", str(bench / "last.npz"), *how.split(), "--out", str(tmp_path))
    assert (ended.code, ended.err) == (Exit.FINDINGS, "")
    told = ended.json()
    assert told["accuracy_on_seeds"] > 0.95 and told["findings"]["flip"] > 0


@only_in_soak
@pytest.mark.parametrize("engine", ["tensorflow", "torch"][: times(1, 2)])
def test_gradients_find_flips_on_every_engine(engine: str, jostle: Run, bench: Path, tmp_path: Path) -> None:
    seeds, how = str(bench / "first.npz"), f"--engine {engine} --layout nhwc --recipe dlfuzz --rounds 1 --json"
    ended = jostle("fuzz", str(bench / "net.keras"), "--seeds", seeds, *how.split(), "--out", str(tmp_path))
    assert (ended.code, ended.err) == (Exit.FINDINGS, "")
    assert ended.json()["findings"]["flip"] > 10


@only_in_soak
def test_a_deployed_twin_is_compared_and_kept(jostle: Run, bench: Path, tmp_path: Path) -> None:
    how = "--layout nhwc --twin litert,int8-static,weights16 --executions 300 --json"
    seeds = str(bench / "last.npz")
    ended = jostle("fuzz", str(bench / "net.keras"), "--seeds", seeds, *how.split(), "--out", str(tmp_path))
    assert ended.code in (Exit.CLEAN, Exit.FINDINGS) and ended.err == ""
    kept = {path.name for path in (tmp_path / "twins").iterdir()}
    assert kept == {"litert.tflite", "int8-static.tflite", "weights16.keras"}


@only_in_soak
def test_images_with_channels_first_need_the_layout(jostle: Run, bench: Path, tmp_path: Path) -> None:
    seeds = str(bench / "first.npz")
    ended = jostle("fuzz", str(bench / "net.keras"), "--seeds", seeds, "--executions", "100", "--out", str(tmp_path))
    check_refused(ended, "its channels come last", "add --layout nhwc")


# Files from strangers


def write_lambda(path: Path, canary: Path) -> None:
    """A model with a layer of Python code, which makes the canary when it runs."""
    keras, source = keras_on(None, "a test"), str(canary)
    layer = keras.layers.Lambda(lambda x: (open(source, "w").close(), x)[1], output_shape=(28, 28, 1))  # noqa: PTH123
    model = keras.Sequential([keras.Input((28, 28, 1)), layer, *as_keras(lenet1()).layers])
    with silenced():
        model.save(path)
    canary.unlink(missing_ok=True)


@only_in_soak
@pytest.mark.parametrize("name", ["code.keras", "code.h5"][: times(1, 2)])
def test_a_layer_of_code_is_not_run_without_trust(name: str, jostle: Run, bench: Path, tmp_path: Path) -> None:
    model, canary = tmp_path / name, tmp_path / "canary"
    write_lambda(model, canary)
    how = ["--seeds", str(bench / "last.npz"), "--layout", "nhwc", "--executions", "100"]
    check_refused(jostle("fuzz", str(model), *how), "a Lambda layer, which is code", "add --trust-model")
    assert not canary.exists()
    trusted = jostle("fuzz", str(model), *how, "--trust-model", "--sandbox", "off", "--out", str(tmp_path / "out"))
    assert trusted.code in (Exit.CLEAN, Exit.FINDINGS) and canary.exists()


def test_weights_without_a_model_are_refused(jostle: Run, bench: Path, tmp_path: Path) -> None:
    as_keras(lenet1()).save_weights(tmp_path / "net.weights.h5")
    ended = jostle("fuzz", str(tmp_path / "net.weights.h5"), "--seeds", str(bench / "last.npz"))
    check_refused(ended, "weights without a model", "save it with model.save")


def test_a_saved_model_that_reads_files_is_refused(jostle: Run, bench: Path, tmp_path: Path) -> None:
    tf = tensorflow()
    reading = tf.Module()
    signature = [tf.TensorSpec((None, 4), name="rows")]
    reading.call = tf.function(
        lambda rows: {"out": rows + tf.cast(tf.strings.length(tf.io.read_file("/etc/hostname")), tf.float32)},
        input_signature=signature,
        autograph=False,
    )
    tf.saved_model.save(reading, str(tmp_path / "saved"), signatures=reading.call)
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).random((9, 4), dtype=np.float32))
    ended = jostle("fuzz", str(tmp_path / "saved"), "--seeds", str(tmp_path / "rows.npy"))
    check_refused(ended, "ReadFile", "add --trust-model")


@pytest.mark.parametrize(("missing", "model"), [("keras", "net.keras"), ("tensorflow", "saved")])
def test_what_is_not_installed_is_named(missing: str, model: str, bench: Path) -> None:
    program = (
        f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['jostle', *sys.argv[1:]]\n"
        "from jostle.cli.main import main; main()"
    )
    how = ["fuzz", str(bench / model), "--seeds", str(bench / "last.npz"), "--layout", "nhwc", "--no-isolate"]
    done = subprocess.run(
        [sys.executable, "-c", program, *how], env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE
    )
    check_refused(Ended(done.returncode, done.stdout, done.stderr), "pip install 'jostle[tensorflow]'")
