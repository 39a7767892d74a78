"""Why a test that fails on a published, sound model is right.

Each is a fact about the model that its authors or a competent person would grant. It excuses only
a message that says so: another failure of the same test counts as false.
"""

from __future__ import annotations

from benchmarks.models.reasons_of_parameters import UNREACHED, UNUSED
from benchmarks.models.reasons_of_parameters import Reason as Reason

REASONS: dict[str, tuple[Reason, ...]] = {  # by test
    "every_parameter_is_used": UNUSED,
    "gradient_reaches_every_parameter": UNREACHED,
    "normalisation_normalises": (
        Reason(
            "The decoder ends with a layer norm of one value, which is constant.",
            ("neuralforecast/tide",),
            "network.temporal_decoder.norm normalises over a single value",
        ),
    ),
    "modes_differ": (
        Reason(
            "The decoder ends with a layer norm of one value, so dropout before it has no effect.",
            ("neuralforecast/tide",),
            "both modes give the same output",
        ),
    ),
    "evaluation_is_deterministic": (
        Reason(
            "Its attention draws random keys in evaluation too.",
            ("neuralforecast/informer",),
            "randint in network.encoder.attn_layers.0.attention.",
        ),
        Reason(
            "Its attention draws random hashes in evaluation too.",
            ("reformer-pytorch/language_model",),
            "randn in reformer.layers.blocks.0.f.net.fn.lsh_attn",
        ),
    ),
    "samples_stay_apart": (
        Reason(
            "Its instance norm takes the samples for places.",
            ("pytorch-forecasting/x_lstm",),
            "of the other outputs",
        ),
        Reason(
            "Its graph is the mean of the attention of all samples.",
            ("neuralforecast/stemgnn",),
            "of the other outputs",
        ),
    ),
    "respects_masks": (
        Reason(
            "Its convolution over the values does not know the mask.",
            ("transformers/nystromformer",),
            "positions that attention_mask drops changed",
        ),
        Reason(
            "Its convolutions over the positions do not know the mask.",
            ("transformers/convbert_masked",),
            "positions that attention_mask drops changed",
        ),
        Reason(
            "The classifier reads the last position, because it expects padding on the left.",
            ("transformers/xlnet",),
            "positions that attention_mask drops changed 1 outputs",
        ),
    ),
    "shapes_follow_the_batch": (
        Reason(
            "Its instance norm takes the samples for places, and one place is too few.",
            ("pytorch-forecasting/x_lstm",),
            "a batch of 1 raises ValueError: Expected more than 1 spatial element",
        ),
        Reason(
            "For a single token with a cache, it returns a position for each sample of the batch.",
            ("transformers/rwkv",),
            "a length of 1 gives an output of shape (2, 2, 100)",
        ),
    ),
    "survives_edge_inputs": (
        Reason(
            "Its layer norms divide a blank image by nearly nothing, until the gradient overflows.",
            ("timm/pvt",),
            "all zero give a gradient of patch_embed.proj.weight that is NaN or Inf",
        ),
    ),
    "sees_no_future": (
        Reason(
            "Its keys are scaled by the largest of all positions before a constant is added.",
            ("performer-pytorch/language_model",),
            "changing later positions changed",
        ),
        Reason(
            "It sorts all positions by their hashes, so later ones decide which share a chunk.",
            ("reformer-pytorch/language_model",),
            "changing later positions changed",
        ),
    ),
    "attention_rows_sum_to_one": (
        Reason(
            "Its softmax runs over all pairs of places at once.",
            ("segmentation-models-pytorch/manet",),
            "the softmax runs over all dimensions from 1 on",
        ),
    ),
    "uses_positions": (
        Reason(
            "It expects positions as a part of its inputs.",
            ("perceiver-pytorch/perceiver_io",),
            "reordered inputs gave the same outputs",
        ),
    ),
    "survives_lower_precision": (
        Reason(
            "It writes values in single precision into a tensor in half precision.",
            ("pytorch-forecasting/recurrent_network",),
            "Index put requires the source and destination dtypes match",
        ),
        Reason(
            "It mixes numbers in half and in single precision, which `lerp` does not take.",
            ("vit-pytorch/normalized_vit",),
            "expected dtype float for `end` but got dtype c10::BFloat16",
        ),
    ),
    "output_fits_the_loss": (
        Reason(
            "Its last convolution is followed by a ReLU, so that it returns no logits.",
            ("monai/highresnet",),
            "relu before cross_entropy",
        ),
        Reason(
            "Its classification head ends in tanh, unless it is told otherwise.",
            ("monai/vit",),
            "tanh before cross_entropy",
        ),
    ),
}


def why_right(architecture: str, test: str, message: str) -> str:
    """Return why a test is right to fail on an architecture with a message, "" if it is not."""
    fitting = (
        each.why
        for each in REASONS.get(test, ())
        if architecture in each.architectures and each.said in message
    )
    return next(fitting, "")
