"""Mistakes in models of torchvision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup.case import Inputs, Net
from benchmarks.models.planted import FaultList

faults = FaultList()
MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@faults.plant(
    "torchvision/mobilenet_v3",
    finds=("targets_are_sane", "runs_on_the_batch", "output_fits_the_targets"),
)
def one_class_too_few(given: Inputs) -> Inputs:
    """The classifier has seven outputs, and the batch has eight classes."""
    model: Any = given.model
    model.classifier[-1] = nn.Linear(model.classifier[-1].in_features, 7)
    return given


@faults.plant("torchvision/resnet18", finds=("runs_on_the_batch", "normalisation_normalises"))
def batch_of_one(given: Inputs) -> Inputs:
    """The batch has one image, whose last feature maps are one pixel for the batch norm."""
    images, labels = given.batch
    return replace(given, batch=(images[:1], labels[:1]))


@faults.plant("torchvision/squeezenet", finds="runs_on_the_batch")
def channels_last(given: Inputs) -> Inputs:
    """Images have their channels last, as image libraries read them."""
    images, labels = given.batch
    return replace(given, batch=(images.permute(0, 2, 3, 1).contiguous(), labels))


@faults.plant("torchvision/lraspp", finds=("targets_are_sane", "runs_on_the_batch"))
def borders_are_no_class(given: Inputs) -> Inputs:
    """Borders have the label 255, which the loss does not ignore."""
    images, labels = given.batch
    labels = labels.clone()
    labels[:, :2] = 255
    return replace(given, batch=(images, labels))


@faults.plant("torchvision/vision_transformer", finds="samples_stay_apart")
def attention_over_the_batch(given: Inputs) -> Inputs:
    """Attention is made without `batch_first`, and gets batches that have the samples first."""
    model: Any = given.model
    for block in model.encoder.layers:
        block.self_attention.batch_first = False
    return given


@faults.plant("torchvision/swin_transformer_v2", finds="listed_layers_are_separate")
def the_same_block_twice(given: Inputs) -> Inputs:
    """A stage is made by multiplying a list, so that its two blocks are one."""
    model: Any = given.model
    for stage in (1, 3):
        model.features[stage] = nn.Sequential(*[model.features[stage][0]] * 2)
    return given


def vgg_of_eight(model: Any, images: Tensor) -> Tensor:
    """Return the logits of eight images."""
    features = model.body.avgpool(model.body.features(images))
    logits: Tensor = model.body.classifier(features.view(8, -1))
    return logits


@faults.plant("torchvision/vgg", finds="shapes_follow_the_batch")
def batch_size_in_a_view(given: Inputs) -> Inputs:
    """The features are flattened by a view that holds the batch size as a number."""
    return replace(given, model=Net(vgg_of_eight, body=given.model))


@faults.plant("torchvision/shufflenet_v2", finds="validation_is_apart")
def validation_from_all_images(given: Inputs) -> Inputs:
    """The images for validation are drawn from all, and those for training are not left out."""
    images, labels = given.batch
    new = images + 0.5 * torch.randn_like(images)
    mixed = torch.cat([new[:3], images[5:]]), torch.cat([labels[:3], labels[5:]])
    return replace(given, validation=mixed)


def normalised_in_place(model: Any, images: Tensor) -> Tensor:
    """Return the logits of images from 0 to 1, which are normalised where they lie."""
    mean, spread = (torch.tensor(each).view(3, 1, 1) for each in (MEAN, SPREAD))
    logits: Tensor = model.body(images.sub_(mean).div_(spread))
    return logits


@faults.plant("torchvision/convnext", finds="evaluation_is_deterministic")
def images_changed_in_place(given: Inputs) -> Inputs:
    """The model normalises its images in place, so that each epoch sees others."""
    images, labels = given.batch
    model = Net(normalised_in_place, body=given.model)
    return replace(given, model=model, batch=(images.sigmoid(), labels))


@faults.plant("torchvision/mobilenet_v2", finds=("inputs_are_sane", "runs_on_the_batch"))
def blank_image_standardised(given: Inputs) -> Inputs:
    """Each image is divided by its standard deviation, which is 0 in a blank one."""
    images, labels = given.batch
    images[3] = 0.5
    middle, spread = (
        images.mean((1, 2, 3), keepdim=True), images.std((1, 2, 3), keepdim=True),
    )  # fmt: skip
    return replace(given, batch=((images - middle) / spread, labels))


@faults.plant(
    "torchvision/resnext", finds=("samples_stay_apart", "output_fits_the_loss", "starts_at_chance")
)
def log_softmax_over_the_batch(given: Inputs) -> Inputs:
    """The log softmax before the loss is taken over the samples in place of the classes."""
    model = nn.Sequential(given.model, nn.LogSoftmax(dim=0))
    return replace(given, model=model, loss=nn.NLLLoss())


class Nearest(nn.Module):
    """Classifies by squared distances to prototypes, which are expanded to a product."""

    def __init__(self, body: Any, width: int) -> None:
        super().__init__()
        body.head = nn.Identity()
        self.body = body
        self.prototypes = nn.Parameter(torch.rand(10, width))

    def forward(self, images: Tensor) -> Tensor:
        features = 100 + self.body(images).sigmoid()
        prototypes = 100 + self.prototypes
        products = features @ prototypes.T
        squares = features.square().sum(1, keepdim=True) + prototypes.square().sum(1)
        return 2 * products - squares


@faults.plant("torchvision/swin_transformer", finds="survives_lower_precision")
def squared_distances_of_large_values(given: Inputs) -> Inputs:
    """Small distances are differences of large products, which half precision cannot hold."""
    return replace(given, model=Nearest(given.model, 32))


@faults.plant("torchvision/googlenet", finds="every_parameter_is_used")
def auxiliary_classifiers_left_out(given: Inputs) -> Inputs:
    """The loss counts the main output only, and the auxiliary classifiers are never trained."""

    def loss(outputs: Any, labels: Tensor) -> Tensor:
        return F.cross_entropy(getattr(outputs, "logits", outputs), labels)

    return replace(given, loss=loss)


@faults.plant("torchvision/wide_resnet", finds="learning_rate_is_sane")
def learning_rate_of_another_optimizer(given: Inputs) -> Inputs:
    """Adam gets a learning rate of 1, in place of 0.001."""
    return replace(given, optimizer=torch.optim.Adam(given.model.parameters(), lr=1.0))
