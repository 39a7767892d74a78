"""The two models of the paper's third section, trained again and again with other seeds."""

from __future__ import annotations

from benchmarks.detection.model_blocks import Net
from benchmarks.detection.training_loop import Plan
from benchmarks.published.autotrainer.cases import Case

EPOCHS = 30
KERAS = 0.5**0.5  # Keras starts with Glorot's weights, which are smaller than He's by this


def model(name: str, problem: str, layers: int, width: int) -> Case:
    """Return a fully connected ReLU network on MNIST, trained by Adam with a rate of 0.001."""
    net = Net(depth=layers - 1, width=width, init="right", gain=KERAS)
    return Case(name, problem, Plan(data="mnist", net=net, lr=0.001, size=32), EPOCHS, 0)


MODELS = {
    "dying": model("random/dying", "dying_relu", 34, 128),  # 0.63 million parameters
    "oscillating": model("random/oscillating", "oscillating_accuracy", 20, 64),
}
