"""Units that their first biases shut: a ReLU behind a large negative bias lets nothing through."""

from sickbay.vitals import MIXING, Setup, Table, layer_of

BELOW = 1.0  # how far below 0 all biases before a ReLU must be


def shut_biases(setup: Setup, weights: Table, below: float = BELOW) -> dict[str, float]:
    """Return the highest bias of each layer that is shut, by the name of its biases.

    >>> setup = Setup(layers={"a": "Linear", "b": "ReLU"}, shapes={"a.bias": (8,)})
    >>> shut_biases(setup, Table.of("weight", 0, {"a.bias": {"maximum": -10.0}}))
    {'a.bias': -10.0}
    """
    mixing = [name for name in weights.names if setup.layers.get(layer_of(name)) in MIXING]
    highest = {
        name: weights.row(name)["maximum"]
        for name in mixing
        if len(setup.shapes.get(name, ())) <= 1 and setup.follower(name) == "ReLU"
    }
    return {name: value for name, value in highest.items() if value < -below}
