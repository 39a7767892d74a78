"""Sequence to sequence: write the numbers backwards."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.program import ProgramList, Watch

programs = ProgramList("calibration", "sequence to sequence")
START, LENGTH, TOKENS = 10, 7, 11


def backwards(seed: int, count: int = 2600) -> tuple[Tensor, Tensor]:
    own = torch.Generator().manual_seed(seed)
    source = torch.randint(0, 10, (count, LENGTH), generator=own)
    return source, source.flip(1)


class Translator(nn.Module):
    """An encoder and a decoder, both GRUs."""

    def __init__(self, cut: bool = False) -> None:
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, 32)
        self.encoder = nn.GRU(32, 64, batch_first=True)
        self.decoder = nn.GRU(32, 64, batch_first=True)
        self.fc = nn.Linear(64, TOKENS)
        self.cut = cut

    def forward(self, source: Tensor, previous: Tensor) -> Tensor:
        _, state = self.encoder(self.embedding(source))
        state = state.detach() if self.cut else state
        return self.fc(self.decoder(self.embedding(previous), state)[0])

    @torch.no_grad()
    def write(self, source: Tensor) -> Tensor:
        """Write one number after the other, each with those before it."""
        written = torch.full((len(source), 1), START)
        for _ in range(LENGTH):
            following = self(source, written)[:, -1].argmax(1, keepdim=True)
            written = torch.cat([written, following], 1)
        return written[:, 1:]


def train(
    watch: Watch, model: Translator, seed: int, shifted: bool = True, rate: float = 5e-3
) -> float:
    """Train with teacher forcing, and return how many written numbers are right."""
    source, target = backwards(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    doctor = watch(model, optimizer)
    begin = torch.full((len(target), 1), START)
    previous = torch.cat([begin, target[:, :-1]], 1) if shifted else target
    for _epoch in range(20):
        for rows in torch.randperm(2000).split(50):
            optimizer.zero_grad()
            logits = model(source[rows], previous[rows])
            loss = F.cross_entropy(logits.flatten(0, 1), target[rows].flatten())
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return float((model.write(source[2000:]) == target[2000:]).double().mean())


@programs.script(
    faults.WRONG_SHIFT, "issue: loss drops to zero, and at inference one token repeats"
)
def decoder_not_shifted(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    return train(watch, Translator(), seed, shifted=fixed)


@programs.script(faults.DETACHED, "forum: encoder_hidden.detach() copied from a language model")
def encoder_detached(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    return train(watch, Translator(cut=not fixed), seed)


@programs.script(
    [faults.DETACHED, faults.LOW_RATE.mildly()],
    "Q&A: two slips in one decoder: detach, and lr=1e-4",
)
def detached_and_slow(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    model = Translator(cut=not fixed)
    return train(watch, model, seed, rate=5e-3 if fixed else 1e-4)


class Copier(nn.Module):
    """A small transformer that rewrites a sequence in one go."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, 32)
        self.place = nn.Parameter(0.1 * torch.randn(LENGTH, 32))
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 1)
        self.fc = nn.Linear(32, TOKENS)

    def forward(self, source: Tensor) -> Tensor:
        return self.fc(self.layers(self.embedding(source) + self.place))


@programs.script(
    faults.CLASSES_ELSEWHERE,
    "Q&A: view(N, classes, length) in place of a transpose for CrossEntropyLoss",
)
def viewed_not_transposed(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    source, target = backwards(seed)
    model = Copier()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(12):
        for rows in torch.randperm(2000).split(50):
            optimizer.zero_grad()
            logits = model(source[rows])
            by_class = logits.transpose(1, 2) if fixed else logits.view(-1, TOKENS, LENGTH)
            loss = F.cross_entropy(by_class, target[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    with torch.no_grad():
        return float((model(source[2000:]).argmax(2) == target[2000:]).double().mean())
