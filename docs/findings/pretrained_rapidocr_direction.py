"""rapidocr 1.4.4: an upright line of 23 pixels is taken for upside down with 94 % confidence, of 21 and 25 it is not.

The package turns a line round if its classifier is surer than 90 % (cls_thresh), and then reads it upside down.

pip install --no-deps rapidocr-onnxruntime==1.4.4 && pip install onnxruntime pillow
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime
from PIL import Image, ImageDraw, ImageFont

found = find_spec("rapidocr_onnxruntime")
assert found is not None and found.origin is not None
path = Path(found.origin).parent / "models" / "ch_ppocr_mobile_v2.0_cls_infer.onnx"
session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def upside_down(line: str, size: int) -> float:
    """How sure the classifier is that an upright line stands upside down, scaled as the package does."""
    paper = Image.new("RGB", (192, 48), (255, 255, 255))
    ImageDraw.Draw(paper).text((8, 10), line, fill=(20, 20, 20), font=ImageFont.load_default(size=size))
    image = (np.asarray(paper).astype(np.float32).transpose(2, 0, 1) / 255 - 0.5) / 0.5
    scores: np.ndarray = session.run(None, {session.get_inputs()[0].name: image[None]})[0]
    return float(scores[0, 1])


sure = {size: upside_down("No smoking", size) for size in (21, 23, 25)}
print({size: f"{score:.0%} upside down" for size, score in sure.items()})
raise SystemExit(max(sure.values()) > 0.9)
