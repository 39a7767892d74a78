"""The plain training loop that supervised programs share."""

from __future__ import annotations

import torch

from benchmarks.programs.program import Parts, Watch


def train(parts: Parts, watch: Watch, seed: int = 0) -> float:
    """Train as most scripts do and return the score. The model keeps the mode it was given."""
    model, optimizer = parts.model, parts.optimizer
    inputs, targets = parts.data
    doctor = watch(model, optimizer)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(parts.epochs):
        order = torch.randperm(len(targets), generator=generator)
        for rows in torch.split(order, parts.batch_size):
            if len(rows) == 1 < parts.batch_size:
                continue  # batch norm cannot train on a single sample
            optimizer.zero_grad()
            loss = parts.loss(model(inputs[rows]), targets[rows])
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            doctor.step(loss)
        metrics = {}
        if parts.validation is not None:
            metrics["val_loss"] = validate(parts)
        doctor.epoch(**metrics)
    return parts.score(model)


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
