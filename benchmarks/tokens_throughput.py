"""The whole loop over rows of tokens beside the bare forward pass, on a classifier as small as LeNet-5, in one run."""

from __future__ import annotations

import time
from functools import cache

import torch
from torch import Tensor, nn

from jostle import Seeds
from jostle.inputs.tokens import Tokens
from jostle.mutators.bounded_edits import BoundedEdits
from jostle.mutators.tokens import TokenEdits
from sessions import fuzz_session
from spread import spread

SEEDS = 10
EXECUTIONS = 40_000
BATCH = 256
BAR = 0.5
VOCABULARY, WIDTH, ROWS, PAD = 2_000, 64, 200, 0
TOPICS, TRAINING = 10, 80  # classes, and steps until they are told apart


class SmallText(nn.Module):
    """Embedding, two convolutions and two linear layers: 0.4 million multiplications for a row, as LeNet-5."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 32)
        self.conv1, self.conv2 = nn.Conv1d(32, 32, 5, padding=2), nn.Conv1d(32, 32, 5, padding=2)
        self.fc1, self.fc2 = nn.Linear(16 * 32, 120), nn.Linear(120, 10)

    def forward(self, tokens: Tensor) -> Tensor:
        seen = self.embedding(tokens).transpose(1, 2)
        first = nn.functional.max_pool1d(self.conv1(seen).relu(), 2)
        second = nn.functional.max_pool1d(self.conv2(first).relu(), 2)
        scores: Tensor = self.fc2(self.fc1(second.flatten(1)).relu())
        return scores


@cache
def model() -> SmallText:
    """Trained to tell ten topics apart, the same weights each time."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = SmallText()
    optimiser, rng = torch.optim.Adam(network.parameters(), 3e-3), torch.Generator().manual_seed(1)
    for _ in range(TRAINING):
        tokens, topics = texts(BATCH, rng)
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(tokens), topics).backward()
        optimiser.step()
    return network.eval()


def texts(count: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """Rows of 20 to 60 tokens with padding behind, half of them of one topic, and the topics."""
    topics = torch.randint(0, TOPICS, (count, 1), generator=rng)
    words = torch.randint(1, VOCABULARY, (count, WIDTH), generator=rng)
    own = torch.randint(0, VOCABULARY // TOPICS - 1, (count, WIDTH), generator=rng) * TOPICS + topics + 1
    tokens = torch.where(torch.rand(count, WIDTH, generator=rng) < 0.5, own, words)
    lengths = torch.randint(20, 61, (count, 1), generator=rng)
    return tokens.masked_fill(torch.arange(WIDTH) >= lengths, PAD), topics.squeeze(1)


def seeds() -> tuple[Tensor, Tensor]:
    return texts(ROWS, torch.Generator().manual_seed(0))


def bare_rate() -> float:
    """Rows per second through the network alone, without gradients or hooks, on mutants as the loop runs them."""
    network, domain = model(), Tokens(VOCABULARY, PAD)
    rows = seeds()[0][torch.arange(BATCH) % ROWS]
    parents = Seeds(rows, torch.zeros(BATCH, dtype=torch.int64), ("",) * BATCH).as_candidates()
    inputs = BoundedEdits(domain, TokenEdits(domain)).mutate(parents, torch.Generator().manual_seed(0)).inputs
    with torch.inference_mode():
        network(inputs)
        started = time.perf_counter()
        for _ in range(EXECUTIONS // BATCH):
            network(inputs)
    return EXECUTIONS // BATCH * BATCH / (time.perf_counter() - started)


def loop_rate(coverage: str, seed: int) -> float:
    """Executions per second of a campaign as `jostle fuzz` runs it, with everything written to disk."""
    named = {"model": f"{__file__}:model", "seeds": f"{__file__}:seeds", "mutator": ("tokens",)}
    options = {**named, "coverage": (coverage,), "executions": EXECUTIONS, "seed": seed, "batch": BATCH}
    with fuzz_session(**options) as session:
        summary = session.search()
    return summary.executions / summary.seconds


def ratio(coverage: str, seed: int) -> float:
    before, loop, after = bare_rate(), loop_rate(coverage, seed), bare_rate()
    return loop / ((before + after) / 2)


def main() -> None:
    torch.set_num_threads(1)
    print(f"tokens, {EXECUTIONS:,} executions, {SEEDS} seeds, one thread; ratio loop / bare forward pass (bar {BAR})")
    for coverage in ("nearest", "magnitude"):
        print(f"  {coverage}: {spread([ratio(coverage, seed) for seed in range(SEEDS)], '.2f')}")


if __name__ == "__main__":
    main()
