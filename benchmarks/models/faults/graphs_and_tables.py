"""Faults in graph networks, and in networks of tables."""

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
    "torch-geometric/graph_classifier", finds=("samples_stay_apart", "shapes_follow_the_batch")
)
def graphs_are_cut_along_the_wrong_axis(given: Inputs) -> Inputs:
    """Nodes are viewed as (node, graph) though they lie graph by graph, so the means mix graphs."""

    def run(net: Any, nodes: Tensor, edges: Tensor, owner: Tensor) -> Any:
        states = net.body.conv1(nodes, edges).relu()
        states = net.body.conv2(states, edges)
        graphs = int(owner.max()) + 1
        return net.body.lin(states.view(-1, graphs, states.shape[1]).mean(0))

    return replace(given, model=Net(run, body=given.model))


@faults.plant("torch-geometric/point_net", finds="samples_stay_apart")
def clouds_are_centred_together(given: Inputs) -> Inputs:
    """Places are scaled by the mean and spread of all clouds of the batch, not of their own."""

    def run(net: Any, x: None, places: Tensor, owner: Tensor) -> Any:
        return net.body(x, (places - places.mean(0)) / places.std(), owner)

    return replace(given, model=Net(run, body=given.model))


@faults.plant(
    "torch-geometric/cheb_conv",
    finds=("output_fits_the_loss", "starts_at_chance", "overfits_one_batch"),
)
def log_softmax_over_nodes(given: Inputs) -> Inputs:
    """The log softmax runs over the nodes in place of the classes."""

    def run(net: Any, nodes: Tensor, edges: Tensor) -> Tensor:
        nodes = F.dropout(nodes, 0.5, training=net.training)
        nodes = F.elu(net.body.first(nodes, edges))
        return F.log_softmax(net.body.second(nodes, edges), dim=0)

    return replace(given, model=Net(run, body=given.model))


@faults.plant(
    "torch-geometric/transformer_conv", finds=("output_fits_the_loss", "starts_at_chance")
)
def likelihood_of_logits(given: Inputs) -> Inputs:
    """The loss expects log probabilities, and the log softmax was forgotten."""

    def run(net: Any, nodes: Tensor, edges: Tensor) -> Any:
        nodes = F.dropout(nodes, 0.5, training=net.training)
        nodes = F.elu(net.body.first(nodes, edges))
        return net.body.second(nodes, edges)

    return replace(given, model=Net(run, body=given.model))


@faults.plant("torch-geometric/gcn_of_data", finds=("evaluation_is_deterministic", "modes_differ"))
def dropout_does_not_know_the_mode(given: Inputs) -> Inputs:
    """F.dropout is called without training=self.training, so it also runs in evaluation."""

    def run(net: Any, data: Any) -> Tensor:
        nodes = net.body.conv1(data.x, data.edge_index).relu()
        nodes = F.dropout(nodes)
        return F.log_softmax(net.body.conv2(nodes, data.edge_index), dim=1)

    return replace(given, model=Net(run, body=given.model))


@faults.plant("torch-geometric/graph_sage", finds=("every_parameter_is_used", "survives_saving"))
def convolutions_in_a_plain_list(given: Inputs) -> Inputs:
    """The convolutions stand in a plain list, so they are neither trained nor saved."""

    class Network(nn.Module):
        def __init__(self, layers: list[nn.Module]) -> None:
            super().__init__()
            self.layers = layers
            self.head = nn.Linear(3, 3)

        def forward(self, nodes: Tensor, edges: Tensor) -> Any:
            for layer in self.layers:
                nodes = layer(nodes, edges).relu()
            return self.head(nodes)

    model: Any = given.model
    return replace(given, model=Network(list(model.convs)))


@faults.plant(
    "torch-geometric/arma_conv",
    finds=("gradient_reaches_every_parameter", "every_parameter_is_used"),
)
def first_layer_is_detached(given: Inputs) -> Inputs:
    """The states of the first layer are detached to save memory, so it is not trained."""

    def run(net: Any, nodes: Tensor, edges: Tensor) -> Tensor:
        nodes = F.dropout(nodes, 0.5, training=net.training)
        nodes = F.elu(net.body.first(nodes, edges)).detach()
        return F.log_softmax(net.body.second(nodes, edges), dim=-1)

    return replace(given, model=Net(run, body=given.model))


@faults.plant("torch-geometric/graph_u_net", finds="evaluation_is_deterministic")
def nodes_are_scaled_in_place(given: Inputs) -> Inputs:
    """The forward pass scales the nodes in place, so the data shrinks with each step."""

    def run(net: Any, nodes: Tensor, edges: Tensor) -> Any:
        nodes *= nodes.shape[1] ** -0.5
        return net.body(nodes, edges)

    return replace(given, model=Net(run, body=given.model))


@faults.plant(
    "torch-geometric/attentive_fp",
    finds=(
        "normalisation_normalises", "overfits_one_batch", "gradient_reaches_every_parameter",
    ),
)  # fmt: skip
def layer_norm_of_one_output(given: Inputs) -> Inputs:
    """A layer norm over the only output makes it the same for all molecules."""
    return replace(given, model=followed(given.model, nn.LayerNorm(1)))


@faults.plant(
    "torch-geometric/edge_cnn", finds=("survives_edge_inputs", "survives_lower_precision")
)
def softmax_by_hand(given: Inputs) -> Inputs:
    """Probabilities are computed with a plain exp, which overflows if logits are large."""

    def run(net: Any, nodes: Tensor, edges: Tensor) -> Tensor:
        powers = net.body(nodes, edges).exp()
        return torch.log(powers / powers.sum(1, keepdim=True))

    return replace(given, model=Net(run, body=given.model), loss=nn.NLLLoss())


@faults.plant("rtdl_revisiting_models/ft_transformer", finds="inputs_are_sane")
def numbers_are_not_scaled(given: Inputs) -> Inputs:
    """Columns such as incomes and years are not scaled."""
    (numbers, kinds), target = given.batch
    numbers = numbers * torch.tensor([2e4, 10, 1, 300, 1]) + torch.tensor([5e4, 2000, 0, 4e3, 0])
    return replace(given, batch=((numbers, kinds), target))


@faults.plant("rtdl_revisiting_models/resnet", finds="validation_is_apart")
def validation_was_drawn_from_the_training_rows(given: Inputs) -> Inputs:
    """Half of the validation rows are training rows, as they were drawn with replacement."""
    rows, labels = given.batch
    half = len(rows) // 2
    new = rows[half:] + 0.5 * torch.randn_like(rows[half:])
    validation = torch.cat([rows[:half], new]), labels
    return replace(given, validation=validation)


@faults.plant(
    "rtdl_revisiting_models/mlp",
    finds=("parameters_are_sane", "gradient_reaches_every_parameter", "overfits_one_batch"),
)
def weights_start_far_too_small(given: Inputs) -> Inputs:
    """The weights of all layers are drawn anew with a spread of 1e-6."""
    for each in given.model.modules():
        if isinstance(each, nn.Linear):
            nn.init.normal_(each.weight, std=1e-6)
            nn.init.zeros_(each.bias)
    return given


@faults.plant("tab-transformer-pytorch/ft_transformer_with_streams", finds="output_fits_the_loss")
def sigmoid_before_a_loss_with_logits(given: Inputs) -> Inputs:
    """The model ends in a sigmoid, and the loss applies another."""
    return replace(given, model=followed(given.model, nn.Sigmoid()))


@faults.plant(
    "tab-transformer-pytorch/tab_transformer",
    finds=("output_fits_the_targets", "output_fits_the_loss"),
)
def tanh_before_targets_without_bounds(given: Inputs) -> Inputs:
    """The outputs end in a tanh, but the targets are prices of hundreds."""
    (kinds, numbers), target = given.batch
    model = followed(given.model, nn.Tanh())
    return replace(given, model=model, batch=((kinds, numbers), 100 * target + 300))


@faults.plant("tabm/tabm", finds=("output_fits_the_targets", "overfits_one_batch"))
def members_are_compared_with_all_targets(given: Inputs) -> Inputs:
    """The mean of the members, (N, 1), is compared with targets of (N,), each with each."""

    def loss(outputs: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(outputs.mean(1), target)

    inputs, target = given.batch
    return replace(given, batch=(inputs, target[:, 0]), loss=loss)


@faults.plant("pytorch-tabnet/tabnet", finds=("classes_are_balanced", "targets_are_sane"))
def rows_are_sorted_by_class(given: Inputs) -> Inputs:
    """The table is sorted by class and not shuffled, so the batch holds one class only."""
    rows, labels = given.batch
    return replace(given, batch=(rows, torch.zeros_like(labels)))


def followed(body: nn.Module, last: nn.Module) -> Net:
    """Return a model with another layer at its end, for several inputs."""
    return Net(lambda net, *inputs: net.last(net.body(*inputs)), body=body, last=last)
