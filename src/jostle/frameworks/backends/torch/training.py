"""How torch trains: its losses, and its optimisers by the formulas that it documents."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import INDENT, Unsupported, literal
from jostle.frameworks.graph import Graph, Training

LOSSES: Mapping[str, str] = {
    "mse": "F.mse_loss({0}, target)",
    "l1": "F.l1_loss({0}, target)",
    "huber": "F.huber_loss({0}, target)",
    "cross_entropy": "F.cross_entropy({0}.flatten(1), target)",
    "bce_with_logits": "F.binary_cross_entropy_with_logits({0}, target)",
    "hinge": "F.relu(1 - {0} * target).mean()",
}
ABSOLUTE, SQUARED = "{0}.abs().sum()", "{0}.square().sum()"
PENALTIES: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "l1": (ABSOLUTE,),
    "l2": (SQUARED,),
    "elastic": (ABSOLUTE, SQUARED),
}
Settings = Mapping[str, float]
BETAS = "lr={rate}, betas=({beta1}, {beta2}), eps={epsilon}"
OPTIMISERS: Mapping[str, str] = {
    "adam": f"Adam({{0}}, {BETAS})",
    "adamw": f"AdamW({{0}}, {BETAS}, weight_decay={{decay}})",
    "rmsprop": "RMSprop({0}, lr={rate}, alpha={rho}, eps={epsilon})",
    "adagrad": "Adagrad({0}, lr={rate}, initial_accumulator_value={start}, eps={epsilon})",
    "adadelta": "Adadelta({0}, lr={rate}, rho={rho}, eps={epsilon})",
    "adamax": f"Adamax({{0}}, {BETAS})",
}


def _sgd(parameters: str, settings: Settings) -> str:
    """torch takes Nesterov's momentum only where there is momentum; without, both are the same."""
    nesterov = bool(settings["nesterov"]) and settings["momentum"] > 0
    momentum = f", momentum={literal(settings['momentum'])}" if settings["momentum"] else ""
    return f"SGD({parameters}, lr={literal(settings['rate'])}{momentum}{', nesterov=True' if nesterov else ''})"


def _optimiser(training: Training, parameters: str) -> str:
    if training.optimiser == "sgd":
        return f"torch.optim.{_sgd(parameters, training.settings)}"
    if training.optimiser not in OPTIMISERS:
        raise Unsupported(f"documents another formula of {training.optimiser}")
    settings = {name: literal(value) for name, value in training.settings.items()}
    return f"torch.optim.{OPTIMISERS[training.optimiser].format(parameters, **settings)}"


def training_lines(graph: Graph, names: list[str], unreached: list[str], call: str) -> list[str]:
    """The steps on the parameters of these names; torch follows no gradient from the first output to the unreached."""
    training = graph.training
    if training is None or not names:
        raise Unsupported("has nothing to train")
    lost = LOSSES[training.loss].format(graph.outputs[0])
    penalties = [term.format(name) for term in PENALTIES[training.penalty] for name in names]
    loss = f"{lost} + {literal(training.strength)} * ({' + '.join(penalties)})" if penalties else lost
    body = ["optimiser.zero_grad()", call, f"loss = {loss}"]
    if penalties or set(unreached) != set(names):
        body.append("loss.backward()")
    if not penalties:  # torch leaves alone what has no gradient, even where weights decay
        body += [f"{name}.grad = torch.zeros_like({name})" for name in unreached]
    body += ["optimiser.step()", "losses.append(loss.detach())"]
    return [
        "target = torch.tensor(target)",
        f"optimiser = {_optimiser(training, '[' + ', '.join(names) + ']')}",
        "losses = []",
        f"for step in range({literal(training.steps)}):",
        *(INDENT + line for line in body),
    ]
