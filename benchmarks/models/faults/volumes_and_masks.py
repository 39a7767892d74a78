"""Faults in classifiers of scans, and in networks that label pixels or voxels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup.case import Inputs, Net
from benchmarks.models.planted import FaultList

faults = FaultList()


@faults.plant("monai/unet", finds="output_fits_the_loss")
def softmax_before_a_loss_that_has_one(given: Inputs) -> Inputs:
    """The network ends in a softmax, and the loss with softmax=True applies another."""
    return replace(given, model=nn.Sequential(given.model, nn.Softmax(dim=1)))


@faults.plant("monai/attention_unet", finds=("output_fits_the_loss", "starts_at_chance"))
def dice_of_logits(given: Inputs) -> Inputs:
    """The Dice loss is made without softmax=True, so it gets logits in place of probabilities."""
    from monai.losses import DiceLoss

    return replace(given, loss=DiceLoss(to_onehot_y=True))


@faults.plant("monai/densenet", finds=("modes_differ", "normalisation_normalises"))
def batch_norm_stays_in_evaluation_mode(given: Inputs) -> Inputs:
    """Batch norm is kept in evaluation mode, though its statistics were never learned."""

    class Frozen(nn.Module):
        def __init__(self, body: nn.Module) -> None:
            super().__init__()
            self.body = body

        def train(self, mode: bool = True) -> Frozen:
            super().train(mode)
            for each in self.body.modules():
                if isinstance(each, nn.BatchNorm3d):
                    each.eval()
            return self

        def forward(self, scans: Tensor) -> Any:
            return self.body(scans)

    return replace(given, model=Frozen(given.model).train())


@faults.plant("monai/vit", finds="uses_positions")
def position_embedding_is_left_out(given: Inputs) -> Inputs:
    """The positions of the patches stay zero and are not trained."""
    model: Any = given.model
    patches = model.patch_embedding
    places = torch.zeros_like(patches.position_embeddings)
    patches.position_embeddings = nn.Parameter(places, requires_grad=False)
    return given


@faults.plant("monai/regressor", finds=("output_fits_the_targets", "overfits_one_batch"))
def targets_have_one_dimension_less(given: Inputs) -> Inputs:
    """Targets of (N,) are compared with outputs of (N, 1), each with each."""
    scans, targets = given.batch
    return replace(given, batch=(scans, targets[:, 0]))


@faults.plant("monai/highresnet", finds="inputs_are_sane")
def empty_scan_was_divided_by_its_range(given: Inputs) -> Inputs:
    """One scan was empty, and its normalisation divided zero by zero."""
    scans, labels = given.batch
    scans[1] = 0
    ranges = scans.amax((1, 2, 3, 4), keepdim=True) - scans.amin((1, 2, 3, 4), keepdim=True)
    return replace(given, batch=(scans / ranges, labels))


@faults.plant("monai/variational_autoencoder", finds="evaluation_is_deterministic")
def samples_the_code_in_evaluation(given: Inputs) -> Inputs:
    """The latent code is also drawn at random in evaluation, where its mean is wanted."""

    def draw(mean: Tensor, spread: Tensor) -> Tensor:
        return mean + torch.exp(0.5 * spread) * torch.randn_like(mean)

    model: Any = given.model
    model.reparameterize = draw
    return given


@faults.plant("monai/autoencoder", finds=("output_fits_the_loss", "overfits_one_batch"))
def relu_before_standardised_scans(given: Inputs) -> Inputs:
    """Scans are standardised, and a ReLU at the end cannot reproduce what is below zero."""
    scans = given.batch[0]
    scans = (scans - scans.mean()) / scans.std()
    return replace(given, model=nn.Sequential(given.model, nn.ReLU()), batch=(scans, scans))


@faults.plant("segmentation-models-pytorch/unet_binary", finds="targets_are_sane")
def mask_of_255(given: Inputs) -> Inputs:
    """The mask was read from an image, so it holds 0 and 255 in place of 0 and 1."""
    images, masks = given.batch
    return replace(given, batch=(images, 255 * masks))


@faults.plant(
    "segmentation-models-pytorch/unet_binary",
    finds=(
        "output_fits_the_loss", "output_fits_the_targets", "overfits_one_batch",
        "starts_at_chance", "gradient_reaches_every_parameter",
    ),
)  # fmt: skip
def cross_entropy_of_one_channel(given: Inputs) -> Inputs:
    """The cross entropy of one channel is always 0, as its softmax is always 1."""
    return replace(given, loss=nn.CrossEntropyLoss())


@faults.plant(
    "segmentation-models-pytorch/pan",
    finds=("gradient_reaches_every_parameter", "every_parameter_is_used", "overfits_one_batch"),
)
def threshold_before_the_loss(given: Inputs) -> Inputs:
    """Predictions are cut to 0 and 1 before the loss, and requires_grad hides the error."""

    def loss(logits: Tensor, masks: Tensor) -> Tensor:
        predictions = (logits.sigmoid() > 0.5).float().requires_grad_()
        return F.binary_cross_entropy(predictions, masks)

    return replace(given, loss=loss)


@faults.plant(
    "segmentation-models-pytorch/manet",
    finds=("overfits_one_batch", "output_fits_the_loss", "starts_at_chance"),
)
def dice_score_as_loss(given: Inputs) -> Inputs:
    """The Dice score is minimised, in place of one minus the score."""
    dice: Any = given.loss
    return replace(given, loss=lambda logits, labels: 1 - dice(logits, labels))


@faults.plant(
    "segmentation-models-pytorch/deeplabv3", finds=("runs_on_the_batch", "normalisation_normalises")
)
def batch_of_one_image(given: Inputs) -> Inputs:
    """The batch has one image, so batch norm after the pooling of whole images gets one value."""
    images, labels = given.batch
    return replace(given, batch=(images[:1], labels[:1]))


@faults.plant(
    "segmentation-models-pytorch/upernet",
    finds=("targets_are_sane", "runs_on_the_batch", "output_fits_the_targets"),
)
def background_is_not_counted_as_a_class(given: Inputs) -> Inputs:
    """The head has an output for each kind of object, but none for the background."""
    model: Any = given.model
    last = model.segmentation_head[0]
    model.segmentation_head[0] = nn.Conv2d(
        last.in_channels, last.out_channels - 1, last.kernel_size, padding=last.padding
    )
    return given


@faults.plant(
    "segmentation-models-pytorch/linknet",
    finds=("evaluation_is_deterministic", "modes_differ"),
)
def noise_is_added_in_evaluation(given: Inputs) -> Inputs:
    """The noise that should augment training images is part of the model in both modes."""
    return replace(
        given,
        model=Net(
            lambda net, images: net.body(images + 0.3 * torch.randn_like(images)), body=given.model
        ),
    )
