"""Mistakes in image classifiers of timm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup.case import Inputs
from benchmarks.models.planted import FaultList

faults = FaultList()


def parts(given: Inputs) -> tuple[Any, Tensor, Tensor]:
    """Return the model, the images and the labels."""
    images, labels = given.batch
    return given.model, images, labels


@faults.plant("timm/mobilenetv3", finds=("output_fits_the_loss", "overfits_one_batch"))
def softmax_in_the_head(given: Inputs) -> Inputs:
    """The new classifier ends with a softmax, and the loss is the cross entropy."""
    model, _, _ = parts(given)
    model.classifier = nn.Sequential(
        nn.Linear(model.classifier.in_features, 10), nn.Softmax(dim=-1)
    )
    return given


@faults.plant("timm/convnext", finds=("targets_are_sane", "runs_on_the_batch"))
def classes_counted_from_one(given: Inputs) -> Inputs:
    """The model has eight classes, and their labels are 1 to 8."""
    model, images, labels = parts(given)
    model.reset_classifier(8)
    return replace(given, batch=(images, labels % 8 + 1))


@faults.plant("timm/vit", finds="uses_positions")
def zeros_for_positions(given: Inputs) -> Inputs:
    """The position embedding of another image size was replaced by frozen zeros."""
    model, _, _ = parts(given)
    model.pos_embed = nn.Parameter(torch.zeros_like(model.pos_embed), requires_grad=False)
    return given


@faults.plant(
    "timm/deit_distilled", finds=("every_parameter_is_used", "gradient_reaches_every_parameter")
)
def second_head_without_a_loss(given: Inputs) -> Inputs:
    """The loss leaves out the head for distillation, whose output counts in evaluation."""
    model, _, _ = parts(given)
    model.set_distilled_training(True)

    def loss(outputs: Any, labels: Tensor) -> Tensor:
        logits = outputs[0] if isinstance(outputs, tuple) else outputs
        return F.cross_entropy(logits, labels)

    return replace(given, loss=loss)


class FixedNorms(nn.Module):
    """Keeps batch norm layers in evaluation mode, as when weights are fine-tuned."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body
        self.train()

    def train(self, mode: bool = True) -> FixedNorms:
        super().train(mode)
        for module in self.body.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()
        return self

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.body(images)
        return logits


@faults.plant("timm/resnet_bottleneck", finds=("modes_differ", "normalisation_normalises"))
def batch_norm_fixed_from_the_start(given: Inputs) -> Inputs:
    """Batch norm stays in evaluation mode, though the statistics were never estimated."""
    return replace(given, model=FixedNorms(given.model))


class OverHeads(nn.Module):
    """Attention whose softmax is taken over the heads."""

    def __init__(self, given: Any) -> None:
        super().__init__()
        self.heads, self.scale = given.num_heads, given.scale
        self.qkv, self.proj = given.qkv, given.proj

    def forward(self, x: Tensor, **_: Any) -> Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(x).reshape(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        query, key, value = qkv.unbind(0)
        weights = (query @ key.transpose(-2, -1) * self.scale).softmax(dim=1)
        mixed: Tensor = self.proj((weights @ value).transpose(1, 2).reshape(batch, length, width))
        return mixed


@faults.plant("timm/vit_average_pooled", finds="attention_rows_sum_to_one")
def softmax_over_the_heads(given: Inputs) -> Inputs:
    """Attention is rewritten, with a softmax over the heads in place of the keys."""
    model, _, _ = parts(given)
    for block in model.blocks:
        block.attn = OverHeads(block.attn)
    return given


class PooledByAttention(nn.Module):
    """Pools tokens with a layer that wants them as (length, batch, width)."""

    def __init__(self, body: Any) -> None:
        super().__init__()
        body.reset_classifier(0)
        self.body = body
        self.query = nn.Parameter(0.02 * torch.randn(1, 1, body.num_features))
        self.attention = nn.MultiheadAttention(body.num_features, 4)
        self.head = nn.Linear(body.num_features, 10)

    def forward(self, images: Tensor) -> Tensor:
        tokens = self.body.forward_features(images)
        batch, length, width = tokens.shape
        tokens = tokens.reshape(length, batch, width)
        pooled, _ = self.attention(self.query.expand(1, batch, width), tokens, tokens)
        logits: Tensor = self.head(pooled[0])
        return logits


@faults.plant("timm/xcit", finds="samples_stay_apart")
def reshaped_before_attention_pooling(given: Inputs) -> Inputs:
    """Tokens are reshaped to put their positions first, where they should be transposed."""
    return replace(given, model=PooledByAttention(given.model))


class DropsAlways(nn.Module):
    """Drops features by a function, which does not know the mode of the model."""

    def __init__(self, body: Any) -> None:
        super().__init__()
        self.head = nn.Linear(body.num_features, 10)
        body.reset_classifier(0)
        self.body = body

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.head(F.dropout(self.body(images), 0.3))
        return logits


@faults.plant("timm/efficientnet_b0", finds=("evaluation_is_deterministic", "modes_differ"))
def functional_dropout_in_evaluation(given: Inputs) -> Inputs:
    """The function for dropout is called without the mode, so that it drops in evaluation too."""
    return replace(given, model=DropsAlways(given.model))


@faults.plant("timm/nfnet", finds="optimizer_holds_every_parameter")
def head_replaced_after_the_optimizer(given: Inputs) -> Inputs:
    """The classifier is reset after the optimizer was made, which holds the old one."""
    model, _, _ = parts(given)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.reset_classifier(10)
    return replace(given, optimizer=optimizer)


@faults.plant("timm/swin", finds=("parameters_are_sane", "starts_at_chance"))
def normal_weights_without_a_scale(given: Inputs) -> Inputs:
    """All linear layers are initialised again, with a standard deviation of 1."""
    for module in given.model.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight)
    return given


@faults.plant("timm/hiera", finds="inputs_are_sane")
def images_from_0_to_255(given: Inputs) -> Inputs:
    """Images are read as bytes, and never normalised."""
    _, images, labels = parts(given)
    lowest, highest = images.min(), images.max()
    return replace(given, batch=((images - lowest) / (highest - lowest) * 255, labels))


@faults.plant(
    "timm/starnet", finds=("runs_on_the_batch", "targets_are_sane", "output_fits_the_targets")
)
def one_hot_integers(given: Inputs) -> Inputs:
    """Labels are one-hot vectors of integers, which the cross entropy does not take."""
    _, images, labels = parts(given)
    return replace(given, batch=(images, F.one_hot(labels, 10)))


class FrozenFeatures(nn.Module):
    """Computes features without gradients, as if they had been trained before."""

    def __init__(self, body: Any) -> None:
        super().__init__()
        self.head = nn.Linear(body.num_features, 10)
        body.reset_classifier(0)
        self.body = body

    def forward(self, images: Tensor) -> Tensor:
        with torch.no_grad():
            features = self.body(images)
        logits: Tensor = self.head(features)
        return logits


@faults.plant("timm/fastvit", finds=("gradient_reaches_every_parameter", "every_parameter_is_used"))
def features_without_gradients(given: Inputs) -> Inputs:
    """The random body runs under `no_grad`, while its parameters are said to be trained."""
    return replace(given, model=FrozenFeatures(given.model))


@faults.plant("timm/resmlp", finds="parameters_are_sane")
def the_same_number_in_all_weights(given: Inputs) -> Inputs:
    """All weights are set to 0.01, so that the units of a layer never come to differ."""
    for module in given.model.modules():
        if isinstance(module, nn.Linear | nn.Conv2d):
            nn.init.constant_(module.weight, 0.01)
    return given
