"""Models per second through `jostle frameworks` in prediction: ONNX Runtime alone, and four frameworks together."""

from __future__ import annotations

from sessions import frameworks_session
from spread import spread

SEEDS = 3
NNSMITH = 2.1  # models per second of NNSmith 0.2 against ONNX Runtime on two cores like these, measured before
RUNS = (  # backends, models, least models per second
    ("onnxruntime", 2000, 5 * NNSMITH),
    ("torch,onnxruntime,openvino,jax", 400, 1.0),
)


def rate(backends: str, models: int, seed: int) -> float:
    """Models per second, judged, located and written down; importing the frameworks is not counted."""
    with frameworks_session(backends=backends, executions=models, seed=seed) as session:
        summary = session.search()
    return summary.executions / summary.seconds


def main() -> None:
    for backends, models, bar in RUNS:
        rates = [rate(backends, models, seed) for seed in range(SEEDS)]
        print(f"{backends}: {spread(rates)} models/s over {SEEDS} seeds of {models:,} models (bar {bar:.1f})")
        if backends == "onnxruntime":
            print(f"  {spread([one / NNSMITH for one in rates])} times NNSmith's {NNSMITH}/s")


if __name__ == "__main__":
    main()
