"""rapidocr 1.4.4: an upright line, tilted by a few degrees, is taken for upside down with more than 90 % confidence.

pip install --no-deps rapidocr-onnxruntime==1.4.4 && pip install onnxruntime pillow
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime
from PIL import Image, ImageDraw, ImageFont

LINES = (
    "Invoice 20241117",
    "Hello, world!",
    "Do not enter",
    "Page 3 of 12",
    "Chapter One",
    "Gate B22",
    "Made in Italy",
)
found = find_spec("rapidocr_onnxruntime")
assert found is not None and found.origin is not None
path = Path(found.origin).parent / "models" / "ch_ppocr_mobile_v2.0_cls_infer.onnx"
session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def upside_down(line: str, degrees: int) -> float:
    """How sure the classifier is that an upright line stands upside down, scaled as the package does."""
    paper = Image.new("RGB", (192, 48), (255, 255, 255))
    ImageDraw.Draw(paper).text((8, 10), line, fill=(20, 20, 20), font=ImageFont.load_default(size=22))
    tilted = paper.rotate(degrees, resample=Image.Resampling.BILINEAR, fillcolor=(255, 255, 255))
    image = (np.asarray(tilted).astype(np.float32).transpose(2, 0, 1) / 255 - 0.5) / 0.5
    scores: np.ndarray = session.run(None, {session.get_inputs()[0].name: image[None]})[0]
    return float(scores[0, 1])


turned = 0
for line in LINES:
    for degrees in (*range(-15, 0), *range(1, 16)):
        if upside_down(line, 0) < 0.1 and upside_down(line, degrees) > 0.9:
            print(f"{line!r} tilted by {degrees} degrees: upside down, {upside_down(line, degrees):.0%} sure")
            turned += 1
raise SystemExit(bool(turned))
