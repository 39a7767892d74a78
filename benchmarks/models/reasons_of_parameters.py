"""Why parameters without use or gradient are right in published, sound models; see `reasons`."""

from __future__ import annotations

from typing import NamedTuple


class Reason(NamedTuple):
    """Why a failure is right, the architectures it holds for, and a part of the message."""

    why: str
    architectures: tuple[str, ...]
    said: str


UNUSED = (
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
    Reason(
        "They take the output of one layer to the next, and it has only one.",
        ("torch-geometric/arma_conv",),
        "first.weight and 1 more of",
    ),
    Reason(
        "They are for cross attention, which its blocks do not have.",
        ("monai/unetr", "monai/vit"),
        "blocks.0.norm_cross_attn.weight and",
    ),
    Reason(
        "Its encoder has a norm of the input of its own, and only that one is called.",
        ("pytorch-tabnet/tabnet", "pytorch-tabnet/tabnet_with_categories"),
        "tabnet.initial_bn.weight and 1 more of",
    ),
    Reason(
        "It takes the place of patches that are masked, and none is masked.",
        ("transformers/dinov2",),
        "dinov2.embeddings.mask_token is not used",
    ),
    Reason(
        "They are for masked tokens and for two segments, and the batch has neither.",
        ("transformers/xlnet",),
        "transformer.mask_emb and 4 more of",
    ),
    Reason(
        "It takes the patches and blocks of its encoder, but not the class token and the head.",
        ("vit-pytorch/masked_autoencoder",),
        "encoder.cls_token and 2 more of",
    ),
)

UNREACHED = (
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
    Reason(
        "The last block throws away what the text attends to.",
        ("diffusers/stable_diffusion_3",),
        "transformer_blocks.1.attn.add_q_proj.weight and 1 more of",
    ),
    Reason(
        "Its forward pass rounds the code to bytes, through which no gradient gets.",
        ("diffusers/tiny_autoencoder",),
        "encoder.layers.0.weight and 16 more of",
    ),
    Reason(
        "It chooses among one future variable, and its contexts are zero without static ones.",
        ("neuralforecast/tft",),
        "history_vsn.joint_grn.lin_c.weight and 10 more of",
    ),
    Reason(
        "The second block squeezes its channels into a single ReLU, which is dead here.",
        ("segmentation-models-pytorch/manet",),
        "decoder.blocks.1.SE_hl.1.weight and 2 more of",
    ),
    Reason(
        "One place is left in the last stage, and its pooled value minus itself is 0.",
        ("timm/poolformer",),
        "stages.3.blocks.0.norm1.weight and 5 more of",
    ),
    Reason(
        "One place is left in the last stage, and its pooled value minus itself is 0.",
        ("transformers/poolformer",),
        "poolformer.encoder.block.3.0.layer_scale_1 and 2 more of",
    ),
    Reason(
        "The keys of the last stage are a single place, so every query gets the same.",
        ("vit-pytorch/cvt",),
        "layers.2.2.layers.0.0.to_q.net.0.weight and 3 more of",
    ),
    Reason(
        "The pooler is for other heads; this one reads the states.",
        ("transformers/fnet_masked", "transformers/layoutlm_tags"),
        ".pooler.dense.weight and 1 more of",
    ),
    Reason(
        "The pooler is for other heads; this one reads the states.",
        ("transformers/big_bird",),
        "bert.pooler.weight and 1 more of",
    ),
    Reason(
        "The classifier reads the global token, for which the last layer has other weights.",
        ("transformers/longformer",),
        "encoder.layer.1.attention.self.query.weight and 5 more of",
    ),
)
