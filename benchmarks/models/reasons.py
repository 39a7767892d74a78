"""Why a test that fails on a published, sound model is right.

Each is a fact about the model that its authors or a competent person would grant. It excuses only
a message that says so: another failure of the same test counts as false.
"""

from __future__ import annotations

from typing import NamedTuple


class Reason(NamedTuple):
    """Why a failure is right, the architectures it holds for, and a part of the message."""

    why: str
    architectures: tuple[str, ...]
    said: str


REASONS: dict[str, tuple[Reason, ...]] = {  # by test
    "every_parameter_is_used": (
        Reason(
            "The head for contacts is only run by `predict_contacts`.",
            ("transformers/esm_masked",),
            "contact_head.regression.weight and 1 more of",
        ),
        Reason(
            "The last block has no skip connection, but an attention for it.",
            ("segmentation-models-pytorch/unet_with_attention",),
            "decoder.blocks.4.attention1.",
        ),
        Reason(
            "Only the first block needs its backcast, but each has one.",
            ("neuralforecast/stemgnn",),
            "network.stock_block.1.backcast_short_cut.weight and 1 more of",
        ),
        Reason(
            "Its blocks have layer norms that `forward` never calls.",
            ("neuralforecast/timemixer",),
            "layer_norm.weight and 23 more of",
        ),
        Reason(
            "They scale what is drawn from the model, not what it is trained on.",
            ("diffusers/prior_transformer",),
            "clip_mean and 1 more of",
        ),
        Reason(
            "They are for missing categories, and none is missing.",
            ("tab-transformer-pytorch/tab_transformer",),
            "special_token_embed.weight is not used",
        ),
        Reason(
            "The last stage has one window, so that no attention runs between windows.",
            ("vit-pytorch/separable_vit",),
            "layers.1.2.layers.0.0.window_tokens_to_qk.0.weight and 3 more of",
        ),
    ),
    "gradient_reaches_every_parameter": (
        Reason(
            "Its convolution makes states of characters, and the classifier reads the pooled ones.",
            ("transformers/canine",),
            "canine.projection.conv.weight and 19 more of",
        ),
        Reason(
            "The classifier reads the class token, for which positions are masked.",
            ("transformers/funnel",),
            "attention.r_r_bias and 3 more of",
        ),
        Reason(
            "The classifier reads the class token, and relative positions act on the others alone.",
            ("torchvision/multiscale_video_transformer",),
            "blocks.1.attn.rel_pos_h and 3 more of",
        ),
        Reason(
            "The last attention squeezes 16 channels into a single ReLU, which is dead here.",
            ("segmentation-models-pytorch/unet_with_attention",),
            "decoder.blocks.4.attention2.attention.cSE.1.weight and 2 more of",
        ),
        Reason(
            "The decoder reads three stages, but the encoder runs all.",
            ("segmentation-models-pytorch/pspnet",),
            "encoder.model.blocks.2.0.conv_pw.weight and 74 more of",
        ),
        Reason(
            "The decoder ends with a layer norm of one value, which is constant.",
            ("neuralforecast/tide",),
            "network.dense_encoder.0.norm.weight and 21 more of",
        ),
        Reason(
            "The last layer moves the points, and nothing reads where to.",
            ("egnn-pytorch/egnn", "egnn-pytorch/network"),
            "coors_mlp.0.weight and 3 more of",
        ),
    ),
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
