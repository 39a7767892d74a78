"""Faults in autoencoders, encoders of images, contrasts, flows, spikes, graphs and forecasters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup.case import Inputs, Net
from benchmarks.models.planted import FaultList

faults = FaultList()


@faults.plant(
    "diffusers/autoencoder_kl",
    finds=("output_fits_the_loss", "output_fits_the_targets", "overfits_one_batch"),
)
def sigmoid_before_images_from_minus_one(given: Inputs) -> Inputs:
    """Images are scaled to -1 to 1, and a sigmoid bounds what is compared with them to 0 to 1."""

    def run(net: Any, images: Tensor) -> Any:
        return net.body(images).sample.sigmoid()

    return replace(given, model=Net(run, body=given.model), loss=nn.MSELoss())


@faults.plant("vit-pytorch/vit_1d", finds=("samples_stay_apart", "attention_rows_sum_to_one"))
def softmax_over_the_samples(given: Inputs) -> Inputs:
    """The softmax of the attention runs over the first dimension, that of the samples."""
    each: Any
    for each in given.model.modules():
        if hasattr(each, "attend"):
            each.attend = nn.Softmax(dim=0)
    return given


@faults.plant("open_clip/clip", finds="starts_at_chance")
def features_are_not_normalised(given: Inputs) -> Inputs:
    """Features are contrasted without normalize=True, so the scale meets products of any size."""

    def run(net: Any, images: Tensor, texts: Tensor) -> Any:
        body = net.body
        return body.encode_image(images), body.encode_text(texts), body.logit_scale.exp()

    return replace(given, model=Net(run, body=given.model))


class Rounds(nn.Module):
    """Rounds each number to one of seven levels."""

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        levels = (3 * states.tanh()).round()
        return levels / 3, levels.long()


@faults.plant("vector-quantize-pytorch/finite_scalars", finds="gradient_reaches_every_parameter")
def codes_are_rounded_without_a_gradient(given: Inputs) -> Inputs:
    """Codes are rounded without a straight-through gradient, so the encoder is not trained."""
    model: Any = given.model
    model.codes = Rounds()
    return given


@faults.plant(
    "pytorch-metric-learning/triplets",
    finds=("gradient_reaches_every_parameter", "overfits_one_batch", "targets_are_sane"),
)
def each_row_is_a_class(given: Inputs) -> Inputs:
    """The label is the number of the row, so no two rows belong together and the loss is 0."""
    rows, labels = given.batch
    return replace(given, batch=(rows, torch.arange(len(labels))))


class Spikes(nn.Module):
    """A spiking network whose potentials start from a tensor of its own."""

    def __init__(self, body: Any, samples: int) -> None:
        super().__init__()
        self.body = body
        self.register_buffer("first", torch.zeros(samples, body.fc1.out_features))
        self.register_buffer("second", torch.zeros(samples, body.fc2.out_features))

    def forward(self, x: Tensor) -> Tensor:
        first, second, potentials = self.first, self.second, []
        for _ in range(10):
            spikes, first = self.body.lif1(self.body.fc1(x), first)
            _, second = self.body.lif2(self.body.fc2(spikes), second)
            potentials.append(second)
        return torch.stack(potentials).mean(0)


@faults.plant("snntorch/spiking_network", finds="shapes_follow_the_batch")
def potentials_of_one_batch_size(given: Inputs) -> Inputs:
    """The potentials at rest are made once, with the batch size of training."""
    return replace(given, model=Spikes(given.model, len(given.batch[0])))


@faults.plant("torch-geometric/gps_transformer", finds="samples_stay_apart")
def attention_does_not_know_the_graphs(given: Inputs) -> Inputs:
    """The layers are called without the batch vector, so atoms attend to those of all molecules."""
    from torch_geometric.nn import global_add_pool

    def run(net: Any, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Any:
        x, bonds = net.body.nodes(x), net.body.bonds(edge_attr)
        for conv in net.body.convs:
            x = conv(x, edge_index, edge_attr=bonds)
        return net.body.last(global_add_pool(x, batch)).squeeze(-1)

    return replace(given, model=Net(run, body=given.model))


@faults.plant(
    "torch-geometric/link_prediction", finds=("output_fits_the_loss", "overfits_one_batch")
)
def sigmoid_before_log_sigmoid(given: Inputs) -> Inputs:
    """The decoder returns probabilities, and the loss takes the log sigmoid of them."""

    def loss(scores: Tensor, labels: Tensor) -> Tensor:
        real, made_up = F.logsigmoid(scores), F.logsigmoid(-scores)
        return -(labels * real + (1 - labels) * made_up).mean()

    model = Net(lambda net, *inputs: net.body(*inputs).sigmoid(), body=given.model)
    return replace(given, model=model, loss=loss)


@faults.plant(
    "monai/vnet", finds=("evaluation_is_deterministic", "modes_differ", "samples_stay_apart")
)
def training_mode_in_the_forward_pass(given: Inputs) -> Inputs:
    """The forward pass calls train(), left from a trial of Monte Carlo dropout."""

    def run(net: Any, images: Tensor) -> Any:
        net.body.train()
        return net.body(images)

    return replace(given, model=Net(run, body=given.model))


@faults.plant("neuralforecast/dlinear", finds="survives_edge_inputs")
def window_is_divided_by_its_last_value(given: Inputs) -> Inputs:
    """Each window is divided by its last value, which is 0 when nothing was sold."""

    def run(net: Any, past: Tensor) -> Any:
        last = past[:, -1:]
        return net.body(past / last) * last

    return replace(given, model=Net(run, body=given.model))


class RandomWaves(nn.Module):
    """Sines and cosines of random frequencies."""

    def __init__(self, width: int, waves: int) -> None:
        super().__init__()
        self.frequencies = torch.randn(width, waves)

    def forward(self, rows: Tensor) -> Tensor:
        angles = rows @ self.frequencies
        return torch.cat([angles.sin(), angles.cos()], 1)


@faults.plant("rtdl_num_embeddings/periodic_embeddings", finds="survives_saving")
def random_frequencies_are_not_saved(given: Inputs) -> Inputs:
    """Random frequencies are a plain attribute and no buffer, so a loaded model has others."""
    _, *rest = given.model.children()
    return replace(given, model=nn.Sequential(RandomWaves(8, 32), *rest))


@faults.plant("zuko/neural_spline_flow", finds="inputs_are_sane")
def points_in_pixels(given: Inputs) -> Inputs:
    """Points are given in pixels, far outside of -5 to 5, where alone the splines bend."""
    return replace(given, batch=240 * given.batch + 500)
