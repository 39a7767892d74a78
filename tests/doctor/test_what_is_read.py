"""What is read is what is there, whatever the model."""

from time import sleep

import pytest
import torch
from torch import Tensor, nn

from tests.doctor.loops import backward, learn, table, true_norm, undisturbed, watch
from tests.models import Transformer, cnn, features, mlp, tokens


def test_layers_are_in_the_order_of_the_forward_pass() -> None:
    class Backwards(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = nn.Linear(4, 1)
            self.middle = nn.Sequential(nn.ReLU(), nn.Linear(5, 4))
            self.first = nn.Linear(3, 5)

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.last(self.middle(self.first(x)))
            return out

    model = Backwards()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for options in ({}, {"activations": False}):
        doctor = watch(model, optimizer, **options)
        doctor.step(learn(model, optimizer, torch.randn(4, 3)))
        expected = ("first", "middle.1", "last")
        assert tuple(dict.fromkeys(table(doctor, "gradient").layers)) == expected
        assert tuple(dict.fromkeys(table(doctor, "weight").layers)) == expected
        assert [name for name in doctor.history.setup.shapes if name.endswith("weight")] == [
            f"{name}.weight" for name in expected
        ]
        doctor.close()


class EmbeddingHead(nn.Linear):
    """A user's class with the name of another kind of layer."""


class Words(nn.Embedding):
    """A user's class whose name does not say what it is."""


class Gate(nn.ReLU):
    """A user's activation."""


def test_a_layer_is_what_it_inherits_from_whatever_its_name() -> None:
    model = nn.Sequential(Words(9, 4), nn.Flatten(), Gate(), EmbeddingHead(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    doctor.step(learn(model, optimizer, torch.randint(9, (6, 2))))
    history, gradients = doctor.history, table(doctor, "gradient")
    kinds = [history.setup.layers[name] for name in "0123"]
    assert kinds == ["Embedding", "Flatten", "ReLU", "Linear"]
    assert [gradients.names[row] for row in history.kernels(gradients)] == ["3.weight"]
    doctor.close()


def test_activations_are_those_of_the_layers() -> None:
    model = cnn()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    inputs = torch.randn(6, 3, 10, 10)
    with torch.no_grad():
        expected = model[0](inputs)  # type: ignore[index]
    doctor.step(learn(model, optimizer, inputs))
    activation = table(doctor, "activation")
    assert activation.names == tuple(name for name, _ in model.named_children())
    row = activation.row("0")  # read before the ReLU two layers on works in place
    assert row["norm"] == pytest.approx(float(expected.norm()), rel=1e-5)
    assert row["minimum"] == pytest.approx(float(expected.min()))


@pytest.mark.parametrize("clip", [False, True], ids=["as-backward-left-them", "clipped"])
def test_units_without_a_gradient_are_counted_by_row(clip: bool) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2), nn.ReLU(), nn.Linear(2, 1))
    with torch.no_grad():
        model.get_parameter("0.bias").copy_(torch.tensor([-1e3, -1e3, -1e3, 1e3]))
        model.get_parameter("2.bias").fill_(1e3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    loss = model(torch.randn(8, 3)).mean()
    backward(loss)
    if clip:
        nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
    optimizer.step()
    doctor.step(loss)
    gradient = table(doctor, "gradient")
    dead = {name: gradient.row(name)["dead_units"] for name in gradient.names}
    assert dead["0.weight"] == 0.75
    assert dead["2.weight"] == 0.0  # three of four entries of each row are zero
    assert gradient.row("2.weight")["zeros"] == 0.75
    assert dead["0.bias"] != dead["0.bias"]  # only kernels have rows


def test_dead_units_are_counted_by_channel_and_by_feature() -> None:
    class Half(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            mask = torch.ones_like(x)
            mask[:, : x.shape[1] // 2] = 0
            return x * mask

    images = nn.Sequential(nn.Conv2d(3, 8, 3), Half(), nn.Flatten(), nn.Linear(8 * 64, 1))
    optimizer = torch.optim.SGD(images.parameters(), lr=0.1)
    doctor = watch(images, optimizer)
    doctor.step(learn(images, optimizer, torch.randn(4, 3, 10, 10)))
    assert table(doctor, "activation").row("1")["dead_units"] == 0.5
    assert table(doctor, "activation").row("0")["dead_units"] == 0.0


def test_frozen_unused_and_shared_parameters() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.frozen = nn.Linear(8, 8).requires_grad_(False)
            self.twin_a = nn.Linear(8, 8)
            self.twin_b = nn.Linear(8, 8)
            self.twin_b.weight = self.twin_a.weight
            self.unused = nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.twin_b(self.twin_a(self.frozen(x)))
            return out

    model = Odd()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    for _ in range(3):
        doctor.step(learn(model, optimizer, features()))
    assert table(doctor, "gradient").names == ("twin_a.weight", "twin_a.bias", "twin_b.bias")
    assert "unused" not in table(doctor, "activation").names
    assert undisturbed(doctor)


@pytest.mark.parametrize("calls", [0, 5])
def test_a_layer_called_any_number_of_times(calls: int) -> None:
    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.out = nn.Linear(8, 8), nn.Linear(8, 1)

        def forward(self, x: Tensor) -> Tensor:
            for _ in range(calls):
                x = self.cell(x).tanh()
            out: Tensor = self.out(x)
            return out

    model = Loop()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    doctor.step(learn(model, optimizer, features(6)))
    activation = table(doctor, "activation")
    assert ("cell" in activation.names) is (calls > 0)
    if calls:
        assert activation.row("cell")["count"] == calls * 6 * 8
    assert undisturbed(doctor)


def test_sparse_embedding_gradients() -> None:
    model = nn.Sequential(nn.Embedding(50, 4, sparse=True), nn.Linear(4, 1))
    optimizers = [
        torch.optim.SparseAdam(model[0].parameters()),
        torch.optim.SGD(model[1].parameters(), lr=0.1),
    ]
    for every in (1, "auto"):
        doctor = watch(model, optimizers, every=every)
        for _ in range(4):
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss = model(torch.tensor([[1, 2, 1], [7, 7, 1]])).square().mean()
            backward(loss)
            for optimizer in optimizers:
                optimizer.step()
            doctor.step(loss)
        assert table(doctor, "gradient").row("0.weight")["count"] == 3 * 4
        assert undisturbed(doctor)
        doctor.close()


def test_attention_and_nested_layers_are_read() -> None:
    model = Transformer()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    doctor.step(learn(model, optimizer, tokens()))
    layers = table(doctor, "gradient").layers
    assert layers[0] == "embed"
    assert layers[-1] == "head"
    assert "body.layers.0.self_attn" in table(doctor, "activation").names
    names = table(doctor, "gradient").names
    assert names.index("body.layers.0.self_attn.in_proj_weight") < names.index(
        "body.layers.0.linear1.weight"
    )


def test_a_model_changed_during_training() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    for _ in range(3):
        doctor.step(learn(model, optimizer, features()))
    model[2] = nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 1))
    optimizer.add_param_group({"params": model[2].parameters()})
    doctor.epoch()
    for _ in range(3):
        doctor.step(learn(model, optimizer, features()))
    assert table(doctor, "gradient").layers[-1] == "2.1"
    assert "2.1" in table(doctor, "activation").names
    assert "2.1" in doctor.history.setup.layers
    assert undisturbed(doctor)


def test_passes_outside_training_are_not_measured() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    with torch.no_grad():
        model(1e6 * features())
    model.eval()
    model(1e6 * features())
    model.train()
    doctor.step(learn(model, optimizer, features(6)))
    assert table(doctor, "activation").row("0")["absmax"] < 1e3
    assert table(doctor, "activation").row("0")["count"] == 6 * 8


def test_gradients_before_and_after_clipping() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    backward(1e3 * model(features()).square().mean())
    before = float(nn.utils.clip_grad_norm_(model.parameters(), 1.0))
    optimizer.step()
    doctor.step()
    raw = table(doctor, "raw_gradient").column("norm")
    assert float((raw**2).sum() ** 0.5) == pytest.approx(before, rel=1e-5)
    assert doctor.history.latest("grad_norm") == pytest.approx(1.0, rel=1e-4)


def test_the_norm_is_right_wherever_it_is_read_with_the_defaults() -> None:
    model = mlp(depth=12, width=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    doctor = watch(model, optimizer, every="auto")
    expected = {}
    for step in range(200):
        doctor.step(learn(model, optimizer, features(64)))
        expected[step] = true_norm(model)
    read = dict(doctor.history.timed("grad_norm", 999))
    assert len(read) >= 3  # how often depends on how busy the machine is
    assert read == pytest.approx({step: expected[step] for step in read}, rel=1e-5)
    assert len(doctor.history.recent("loss", 999)) == 200


def test_a_loop_of_long_steps_is_read_at_most_steps_with_the_defaults() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    doctor = watch(model, optimizer, every="auto")
    for _ in range(12):
        sleep(0.15)
        doctor.step(learn(model, optimizer, features()))
    assert len(doctor.history.timed("grad_norm", 99)) >= 6  # all twelve, if nothing else runs


def test_update_ratio_and_learning_rate() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    doctor = watch(model, optimizer)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    doctor.step(learn(model, optimizer, features()))
    pairs = list(zip(model.parameters(), before, strict=True))
    moved = torch.stack([(now.detach() - then).norm() for now, then in pairs]).norm()
    length = torch.stack([then.norm() for then in before]).norm()
    assert doctor.history.latest("update_ratio") == pytest.approx(float(moved / length), rel=1e-4)
    assert doctor.history.latest("lr") == 0.5
