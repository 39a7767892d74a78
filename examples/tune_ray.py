"""Search with Ray Tune on two local workers. On a cluster the code is the same.

python examples/tune_ray.py
"""

import logging
from tempfile import TemporaryDirectory

import ray
import torch
from ray import tune
from torch import nn

from sickbay.tuning.ray import DiagnosisStopper, watch

EPOCHS = 12


def trainable(config: dict[str, float]) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)  # the networks are tiny
    points = torch.rand(1200, 2) * 2 - 1
    labels = (points.norm(dim=1) < 0.8).long()  # inside a circle, or not
    model = nn.Sequential(
        nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=config["rate"])

    doctor = watch(model, optimizer, epochs=EPOCHS, metric="val_accuracy", mode="max")
    for _ in doctor.epochs():
        for x, y in zip(points[:1000].split(10), labels[:1000].split(10), strict=True):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            doctor.step(loss)
            if doctor.done:
                return
        with torch.no_grad():
            right = model(points[1000:]).argmax(1) == labels[1000:]
        doctor.epoch(val_accuracy=right.float().mean())


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, logging_level=logging.ERROR)
    with TemporaryDirectory() as folder:
        results = tune.Tuner(
            trainable,
            param_space={"rate": tune.grid_search([1e-5, 1e-1, 3e-1, 1e3])},
            tune_config=tune.TuneConfig(metric="val_accuracy", mode="max", reuse_actors=True),
            run_config=tune.RunConfig(stop=DiagnosisStopper(), storage_path=folder, verbose=0),
        ).fit()
    shown = ["config/rate", "training_iteration", "val_accuracy", "sickbay_diagnosis"]
    print(results.get_dataframe()[shown].to_string(index=False))
