"""Search with Optuna. sickbay ends a trial as soon as it finds something wrong with it.

python examples/tune_optuna.py
"""

import optuna
import torch
from torch import nn

from sickbay.tuning.optuna import DiagnosisPruner, watch

EPOCHS = 12
torch.manual_seed(0)
torch.set_num_threads(1)  # the networks are tiny
optuna.logging.set_verbosity(optuna.logging.WARNING)

points = torch.rand(1200, 2) * 2 - 1
labels = (points.norm(dim=1) < 0.8).long()  # inside a circle, or not
train, held = (points[:1000], labels[:1000]), (points[1000:], labels[1000:])


def objective(trial: optuna.Trial) -> float:
    depth = trial.suggest_int("depth", 1, 6)
    activation = {"relu": nn.ReLU, "sigmoid": nn.Sigmoid}[
        trial.suggest_categorical("activation", ["relu", "sigmoid"])
    ]
    rate = trial.suggest_float("rate", 1e-5, 1e2, log=True)
    layers = [part for _ in range(depth) for part in (nn.Linear(32, 32), activation())]
    model = nn.Sequential(nn.Linear(2, 32), activation(), *layers, nn.Linear(32, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)

    doctor = watch(trial, model, optimizer, epochs=EPOCHS)
    for _ in doctor.epochs():
        for x, y in zip(train[0].split(10), train[1].split(10), strict=True):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        with torch.no_grad():
            right = model(held[0]).argmax(1) == held[1]
        doctor.epoch(val_accuracy=right.float().mean())
    return doctor.result()


study = optuna.create_study(
    direction="maximize", pruner=DiagnosisPruner(), sampler=optuna.samplers.TPESampler(seed=0)
)
study.optimize(objective, n_trials=16)

for trial in study.trials:
    diagnosis = trial.user_attrs.get("sickbay:diagnosis")
    if diagnosis:
        state = trial.state.name.lower()
        print(f"trial {trial.number:2}  {state}  {diagnosis['problem']}  {diagnosis['message']}")
trained = sum(len(trial.intermediate_values) for trial in study.trials)
print(f"{trained} of {len(study.trials) * EPOCHS} epochs were trained")
print(f"best: {study.best_value:.3f} with {study.best_params}")
