"""The plain training loop that supervised programs share."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.programs.program import Parts, Watch


def train(parts: Parts, watch: Watch, seed: int = 0) -> float:
    """Train as most scripts do and return the score. The model keeps the mode it was given."""
    model, optimizer = parts.model, parts.optimizer
    loader = load(parts, seed)
    doctor = watch(model, optimizer)
    for _ in range(parts.epochs):
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = parts.loss(model(inputs), targets)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            doctor.step(loss)
        metrics = {}
        if parts.validation is not None:
            metrics["val_loss"] = validate(parts)
        doctor.epoch(**metrics)
    return parts.score(model)


def load(parts: Parts, seed: int) -> DataLoader[tuple[Tensor, ...]]:
    """Return batches in a random order, without a single sample at the end."""
    dataset, size = TensorDataset(*parts.data), parts.batch_size
    own = torch.Generator().manual_seed(seed)
    lonely = len(dataset) % size == 1 < size  # batch norm cannot train on it
    return DataLoader(dataset, size, shuffle=True, generator=own, drop_last=lonely)


def validate(parts: Parts) -> float:
    """Return the loss on the validation data. The model keeps its mode."""
    assert parts.validation is not None
    inputs, targets = parts.validation
    mode = parts.model.training
    parts.model.eval()
    with torch.no_grad():
        loss = float(parts.loss(parts.model(inputs), targets))
    parts.model.train(mode)
    return loss
