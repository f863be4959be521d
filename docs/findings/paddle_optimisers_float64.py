"""Momentum and RMSProp on float64 parameters round their settings to float32."""

import paddle

OPTIMISERS = {
    "Momentum": (lambda w: paddle.optimizer.Momentum(0.1, 0.9, [w], use_nesterov=True), 3.0 - 0.19 - 0.271),
    "RMSProp": (lambda w: paddle.optimizer.RMSProp(0.1, 0.99, 0.0, parameters=[w]), 3.0 - 1.0 - 0.1 / 0.0199**0.5),
}
wrong = []
for name, (made, expected) in OPTIMISERS.items():
    weight = paddle.to_tensor([3.0], dtype="float64", stop_gradient=False)
    optimiser = made(weight)
    for _ in range(2):
        weight.sum().backward()
        optimiser.step()
        optimiser.clear_grad()
    print(name, weight.item(), "expected", expected)
    wrong += [] if abs(weight.item() - expected) < 1e-12 else [name]
assert not wrong, f"{', '.join(wrong)}: only accurate to float32"
