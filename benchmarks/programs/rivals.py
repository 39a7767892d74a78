"""Other tools that watch a training loop. Each is used as its documentation shows.

A rival takes part if its package is installed. To add one, write a class with the methods of
`Rival`, and list it in `RIVALS`. `said` translates each finding into the names of the problems that
it may mean, so that all tools are judged by the same names.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from tempfile import NamedTemporaryFile
from typing import Any, ClassVar

from torch import Tensor, nn
from torch.optim import Optimizer


class Rival:
    """A tool that watches a loop and then says what it found."""

    package: ClassVar[str]
    meanings: ClassVar[Mapping[str, str]]  # our names, by a part of the tool's own

    def __init__(self, model: nn.Module, optimizer: Optimizer) -> None:
        raise NotImplementedError

    @classmethod
    def installed(cls) -> bool:
        """Return whether the tool can be used."""
        return find_spec(cls.package) is not None

    def step(self, loss: Tensor) -> None:
        """Handle a training step."""

    def epoch(self, **metrics: float) -> None:
        """Handle the end of an epoch."""

    def said(self) -> list[list[str]]:
        """Return our names for each warning, the most severe ones first."""
        raise NotImplementedError

    def translate(self, own: str) -> list[str]:
        """Return our names for one of the tool's, or that name itself if we have none."""
        names = [ours for part, ours in self.meanings.items() if part in own]
        return names[0].split() if names else [own]


class TorchAudit(Rival):
    """`torch_audit.autopatch`, with an audit at every step: runs are shorter than its 1000."""

    package = "torch_audit"
    meanings: ClassVar[Mapping[str, str]] = {
        "TA100": "non_finite",
        "TA102": "exploding_gradient",
        "TA103": "dead_units dying_relu",
        "TA104": "frozen_by_accident unchanged_weights",
        "TA105": "dead_units dying_relu",
        "TA301": "unnormalised_input",
        "TA302": "constant_input",
        "TA304": "batch_too_small",
        "TA305": "non_finite bad_inputs",
        "TA500": "frozen_by_accident",
    }

    def __init__(self, model: nn.Module, optimizer: Optimizer) -> None:
        autopatch = import_module("torch_audit").autopatch
        self._auditor: Any = autopatch(model, optimizer=optimizer, every_n_steps=1)

    def said(self) -> list[list[str]]:
        findings = self._auditor.finish(report=False).findings
        self._auditor.unpatch()
        serious = [each for each in findings if each.severity.value != "INFO"]
        serious.sort(key=lambda each: each.severity.value not in ("ERROR", "FATAL"))
        return [self.translate(rule) for rule in dict.fromkeys(each.rule_id for each in serious)]


class Torchmortem(Rival):
    """`with torchmortem.Autopsy(model, optimizer)`."""

    package = "torchmortem"
    meanings: ClassVar[Mapping[str, str]] = {
        "Vanishing": "vanishing_gradient",
        "Exploding": "exploding_gradient",
        "Gradient stalling": "vanishing_gradient unchanged_weights",
        "Dead units": "dead_units dying_relu",
        "aturat": "saturated_activation",
        "divergence": "learning_rate_too_high exploding_gradient",
        "plateau": "not_learning",
        "Catapult": "loss_spike",
        "Edge of stability": "learning_rate_too_high",
        "noise": "batch_too_small",
        "Weight norm expl": "exploding_gradient",
        "stagna": "unchanged_weights",
    }

    def __init__(self, model: nn.Module, optimizer: Optimizer) -> None:
        self._autopsy: Any = import_module("torchmortem").Autopsy(model, optimizer=optimizer)
        self._autopsy.__enter__()

    def step(self, loss: Tensor) -> None:
        self._autopsy.step(loss=loss.item())

    def said(self) -> list[list[str]]:
        self._autopsy.__exit__(None, None, None)
        report = self._autopsy.get_report()
        serious = [each for each in report.findings if each.severity > 0]
        serious.sort(key=lambda each: -each.severity)
        titles = dict.fromkeys(each.title.split(" in ")[0] for each in serious)
        return [self.translate(title) for title in titles]


class SilverDiagnostics(Rival):
    """`silver_diagnostics.diagnose_training_health` on the metrics of all epochs."""

    package = "silver_diagnostics"
    meanings: ClassVar[Mapping[str, str]] = {
        "overfit": "overfitting",
        "diverg": "learning_rate_too_high exploding_gradient",
        "explod": "exploding_gradient",
        "vanish": "vanishing_gradient",
        "plateau": "not_learning",
        "finite": "non_finite",
        "nan": "non_finite",
        "underfit": "underfitting",
    }

    def __init__(self, model: nn.Module, optimizer: Optimizer) -> None:  # noqa: ARG002
        self._losses: list[float] = []
        self._epochs: list[dict[str, float]] = []

    def step(self, loss: Tensor) -> None:
        self._losses.append(float(loss.detach()))

    def epoch(self, **metrics: float) -> None:
        mean = sum(self._losses) / max(1, len(self._losses))
        self._epochs.append({"loss": mean, **metrics})
        self._losses = []

    def said(self) -> list[list[str]]:
        if self._losses:  # the loop has no epochs
            size = max(1, len(self._losses) // 20)
            parts = [self._losses[at : at + size] for at in range(0, len(self._losses), size)]
            self._epochs += [{"loss": sum(each) / len(each)} for each in parts]
        health = import_module(self.package).diagnose_training_health(self._epochs)
        actions = sorted(health.recommendations, key=lambda each: each.priority)
        return [self.translate(f"{each.title} {each.action}".lower()) for each in actions]


class NeuralObservatory(Rival):
    """`Observatory(model).watch()`, with `step` before each forward pass."""

    package = "neural_observatory"
    meanings: ClassVar[Mapping[str, str]] = {
        "Vanishing": "vanishing_gradient",
        "Exploding": "exploding_gradient",
        "collapsed": "gradient_collapse",
        "dead": "dead_units dying_relu",
        "Dead": "dead_units dying_relu",
        "NaN": "non_finite",
        "Inf": "non_finite",
        "aturat": "saturated_activation",
        "pike": "gradient_spike loss_spike",
        "not updat": "unchanged_weights frozen_by_accident",
        "frozen": "unchanged_weights frozen_by_accident",
        "drift": "learning_rate_too_high",
        "step-to-step": "learning_rate_too_high",
    }

    def __init__(self, model: nn.Module, optimizer: Optimizer) -> None:  # noqa: ARG002
        self._observatory: Any = import_module(self.package).Observatory(model)
        self._observatory.watch()
        self._steps = 0
        self._observatory.step(step=0, epoch=0)

    def step(self, loss: Tensor) -> None:  # noqa: ARG002
        self._steps += 1
        self._observatory.step(step=self._steps, epoch=0)

    def said(self) -> list[list[str]]:
        self._observatory.stop()
        report = self._observatory.report()
        serious = [each for each in report.results if each.status.value in ("warning", "critical")]
        serious.sort(key=lambda each: -each.severity)
        told = [text for each in serious for text in each.warnings or [each.analyzer_name]]
        return [list(names) for names in dict.fromkeys(tuple(self.translate(t)) for t in told)]


class MLDoctor(Rival):
    """`mldoctor diagnose` on a log of the losses and the gradient norm of each epoch."""

    package = "mldoctor"
    meanings: ClassVar[Mapping[str, str]] = {
        "Zero": "missing_zero_grad",
        "zero_grad": "missing_zero_grad",
        "Missing": "missing_zero_grad",
        "Exploding": "exploding_gradient learning_rate_too_high non_finite",
        "Vanishing": "vanishing_gradient",
        "underfitting": "underfitting not_learning",
        "overfitting": "overfitting",
        "Label Noise": "bad_targets noisy_labels",
    }

    def __init__(self, model: nn.Module, optimizer: Optimizer) -> None:  # noqa: ARG002
        self._model = model
        self._steps: list[tuple[float, float]] = []  # loss and gradient norm
        self._epochs: list[tuple[float, float, float]] = []

    def step(self, loss: Tensor) -> None:
        gradients = [each.grad for each in self._model.parameters() if each.grad is not None]
        norm = sum(float(each.square().sum()) for each in gradients) ** 0.5
        self._steps.append((float(loss.detach()), norm))

    def epoch(self, **metrics: float) -> None:
        if self._steps:
            loss, norm = (sum(each) / len(each) for each in zip(*self._steps, strict=True))
            self._epochs.append((loss, metrics.get("val_loss", loss), norm))
            self._steps = []

    def said(self) -> list[list[str]]:
        if self._steps and not self._epochs:  # the loop has no epochs
            size = max(1, len(self._steps) // 20)
            steps = self._steps
            for at in range(0, len(steps), size):
                self._steps = steps[at : at + size]
                self.epoch()
        rows = [f"{at},{a},{b},{c}" for at, (a, b, c) in enumerate(self._epochs)]
        with NamedTemporaryFile("w", suffix=".csv") as log:
            log.write("\n".join(["epoch,train_loss,val_loss,grad_norm", *rows]))
            log.flush()
            label = str(import_module("mldoctor.advisor").diagnose_csv(log.name)["label"])
        return [] if "ealthy" in label else [self.translate(label)]


RIVALS: Mapping[str, type[Rival]] = {
    "torch-audit": TorchAudit,
    "torchmortem": Torchmortem,
    "silver-diagnostics": SilverDiagnostics,
    "neural-observatory": NeuralObservatory,
    "mldoct": MLDoctor,
}
