"""Why a test that fails on a published, sound model is right.

Each is a fact about the model that its authors or a competent person would grant.
"""

from __future__ import annotations

# By test: a reason, and the architectures that it holds for.
REASONS: dict[str, dict[str, tuple[str, ...]]] = {
    "every_parameter_is_used": {
        "The head for contacts is only run by `predict_contacts`.": ("transformers/esm_masked",),
        "The last block has no skip connection, but an attention for it.": (
            "segmentation-models-pytorch/unet_with_attention",
        ),
        "Only the first block needs its backcast, but each has one.": ("neuralforecast/stemgnn",),
        "Its blocks have layer norms that `forward` never calls.": ("neuralforecast/timemixer",),
        "They scale what is drawn from the model, not what it is trained on.": (
            "diffusers/prior_transformer",
        ),
        "They are for missing categories, and none is missing.": (
            "tab-transformer-pytorch/tab_transformer",
        ),
        "The last stage has one window, so that no attention runs between windows.": (
            "vit-pytorch/separable_vit",
        ),
    },
    "gradient_reaches_every_parameter": {
        "Its convolution makes states of characters, and the classifier reads the pooled ones.": (
            "transformers/canine",
        ),
        "The classifier reads the class token, for which positions are masked.": (
            "transformers/funnel",
        ),
        "The classifier reads the class token, which has no relative positions.": (
            "torchvision/multiscale_video_transformer",
        ),
        "The last attention squeezes 16 channels into a single ReLU, which is dead here.": (
            "segmentation-models-pytorch/unet_with_attention",
        ),
        "The decoder reads three stages, but the encoder runs all.": (
            "segmentation-models-pytorch/pspnet",
        ),
        "The decoder ends with a layer norm of one value, which is constant.": (
            "neuralforecast/tide",
        ),
        "The last layer moves the points, and nothing reads where to.": (
            "egnn-pytorch/egnn",
            "egnn-pytorch/network",
        ),
        "The classifier reads the class token, and relative positions act on the others alone.": (
            "torchvision/multiscale_video_transformer",
        ),
    },
    "normalisation_normalises": {
        "The decoder ends with a layer norm of one value, which is constant.": (
            "neuralforecast/tide",
        ),
    },
    "modes_differ": {
        "The decoder ends with a layer norm of one value, so dropout before it has no effect.": (
            "neuralforecast/tide",
        ),
    },
    "evaluation_is_deterministic": {
        "Its attention draws random keys in evaluation too.": ("neuralforecast/informer",),
    },
    "samples_stay_apart": {
        "Its instance norm takes the samples for places.": ("pytorch-forecasting/x_lstm",),
        "Its graph is the mean of the attention of all samples.": ("neuralforecast/stemgnn",),
    },
    "respects_masks": {
        "Its convolution over the values does not know the mask.": ("transformers/nystromformer",),
    },
    "shapes_follow_the_batch": {
        "Its instance norm takes the samples for places, and one place is too few.": (
            "pytorch-forecasting/x_lstm",
        ),
        "For a single token with a cache, it returns a position for each sample of the batch.": (
            "transformers/rwkv",
        ),
    },
    "survives_edge_inputs": {
        "Its layer norms divide a blank image by nearly nothing, until the gradient overflows.": (
            "timm/pvt",
        ),
    },
    "sees_no_future": {
        "Its keys are scaled by the largest of all positions before a constant is added.": (
            "performer-pytorch/language_model",
        ),
    },
    "survives_lower_precision": {
        "It writes values in single precision into a tensor in half precision.": (
            "pytorch-forecasting/recurrent_network",
        ),
        "It mixes numbers in half and in single precision, which `lerp` does not take.": (
            "vit-pytorch/normalized_vit",
        ),
    },
    "output_fits_the_loss": {
        "Its last convolution is followed by a ReLU, so that it returns no logits.": (
            "monai/highresnet",
        ),
    },
}


def why_right(architecture: str, test: str) -> str:
    """Return why a test is right to fail on an architecture, "" if it is not."""
    reasons = REASONS.get(test, {})
    return next((why for why, names in reasons.items() if architecture in names), "")
