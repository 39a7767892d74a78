"""More networks of diffusers, with the losses of its training scripts."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library

library = Library("diffusers", "diffusers")
SAMPLES = 4
STEPS = 1000


def made(name: str, **settings: Any) -> nn.Module:
    import diffusers

    model: nn.Module = getattr(diffusers, name)(**settings)
    return model


def noised(clean: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return images with noise added, the steps of the noise, and the noise, as in DDPM."""
    times = torch.randint(STEPS, (len(clean),))
    kept = (1 - torch.linspace(1e-4, 0.02, STEPS)).cumprod(0)[times]
    kept = kept.view(-1, *[1] * (clean.dim() - 1))
    noise = torch.randn_like(clean)
    return kept.sqrt() * clean + (1 - kept).sqrt() * noise, times, noise


def noise_loss(output: Any, noise: Tensor) -> Tensor:
    return F.mse_loss(output.sample, noise)


def pictures(channels: int = 3, side: int = 16) -> Tensor:
    """Return images with values from -1 to 1."""
    return data.images(SAMPLES, channels, side, SAMPLES)[0].tanh()


@library.architecture
def unet_for_classes() -> Inputs:
    model = made(
        "UNet2DModel", sample_size=16, layers_per_block=1, block_out_channels=(16, 32),
        down_block_types=("DownBlock2D", "AttnDownBlock2D"), norm_num_groups=8,
        up_block_types=("AttnUpBlock2D", "UpBlock2D"), num_class_embeds=5,
    )  # fmt: skip
    noisy, times, noise = noised(pictures())
    named = {"sample": noisy, "timestep": times, "class_labels": torch.randint(5, (SAMPLES,))}
    return Inputs(model, (named, noise), noise_loss)


@library.architecture
def unet_of_videos() -> Inputs:
    model = made(
        "UNet3DConditionModel", sample_size=8, in_channels=4, out_channels=4,
        layers_per_block=1, block_out_channels=(16, 32), norm_num_groups=8,
        down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"),
        up_block_types=("UpBlock3D", "CrossAttnUpBlock3D"), cross_attention_dim=16,
        attention_head_dim=8,
    )  # fmt: skip
    clean = pictures(4, 8)[:, :, None].expand(-1, -1, 3, -1, -1).contiguous()
    noisy, times, noise = noised(clean)
    return Inputs(model, (noisy, times, torch.randn(SAMPLES, 7, 16), noise), noise_loss)


@library.architecture
def pixart_transformer() -> Inputs:
    model = made(
        "PixArtTransformer2DModel", num_attention_heads=4, attention_head_dim=8, in_channels=4,
        out_channels=4, num_layers=2, norm_num_groups=8, sample_size=8, patch_size=2,
        cross_attention_dim=32, caption_channels=16, use_additional_conditions=False,
    )  # fmt: skip
    noisy, times, noise = noised(pictures(4, 8))
    named = {"hidden_states": noisy, "timestep": times}
    named["encoder_hidden_states"] = torch.randn(SAMPLES, 7, 16)
    return Inputs(model, (named, noise), noise_loss)


@library.architecture
def stable_diffusion_3() -> Inputs:
    model = made(
        "SD3Transformer2DModel", sample_size=8, patch_size=2, in_channels=4, out_channels=4,
        num_layers=2, attention_head_dim=8, num_attention_heads=4, caption_projection_dim=32,
        joint_attention_dim=16, pooled_projection_dim=24, pos_embed_max_size=8,
    )  # fmt: skip
    clean, noise = pictures(4, 8), torch.randn(SAMPLES, 4, 8, 8)
    share = torch.rand(SAMPLES)
    mixed = torch.lerp(clean, noise, share.view(-1, 1, 1, 1))
    named = {"hidden_states": mixed, "timestep": share * STEPS}
    named["encoder_hidden_states"] = torch.randn(SAMPLES, 7, 16)
    named["pooled_projections"] = torch.randn(SAMPLES, 24)
    return Inputs(model, (named, noise - clean), noise_loss)


@library.architecture
def prior_transformer() -> Inputs:
    model = made(
        "PriorTransformer", num_attention_heads=4, attention_head_dim=8, num_layers=2,
        embedding_dim=16, num_embeddings=7, additional_embeddings=4,
    )  # fmt: skip

    def loss(output: Any, clean: Tensor) -> Tensor:
        return F.mse_loss(output.predicted_image_embedding, clean)

    clean = torch.randn(SAMPLES, 16)
    noisy, times, _ = noised(clean)
    named = {"hidden_states": noisy, "timestep": times}
    named["proj_embedding"] = clean + 0.1 * torch.randn(SAMPLES, 16)
    named["encoder_hidden_states"] = torch.randn(SAMPLES, 7, 16)
    return Inputs(model, (named, clean), loss)


def rebuilds(output: Any, images: Tensor) -> Tensor:
    return F.mse_loss(output.sample, images)


@library.architecture
def tiny_autoencoder() -> Inputs:
    model = made(
        "AutoencoderTiny", encoder_block_out_channels=(16, 16), num_encoder_blocks=(1, 1),
        decoder_block_out_channels=(16, 16), num_decoder_blocks=(1, 1),
    )  # fmt: skip
    images = pictures().add(1).div(2)
    return Inputs(model, (images, images), rebuilds)


@library.architecture
def control_net() -> Inputs:
    from diffusers import ControlNetModel, UNet2DConditionModel

    class Guided(nn.Module):
        """A network that a second one guides, as the training script calls them."""

        def __init__(self) -> None:
            super().__init__()
            sizes: dict[str, Any] = {"layers_per_block": 1, "block_out_channels": (16, 32)}
            sizes |= {"cross_attention_dim": 16, "attention_head_dim": 8, "norm_num_groups": 8}
            sizes["down_block_types"] = ("CrossAttnDownBlock2D", "DownBlock2D")
            ups = ("UpBlock2D", "CrossAttnUpBlock2D")
            self.unet = UNet2DConditionModel(sample_size=8, up_block_types=ups, **sizes)
            self.guide = ControlNetModel(conditioning_embedding_out_channels=(8, 16), **sizes)

        def forward(self, noisy: Tensor, times: Tensor, text: Tensor, hint: Tensor) -> Any:
            down, middle = self.guide(noisy, times, text, controlnet_cond=hint, return_dict=False)
            return self.unet(
                noisy, times, text, down_block_additional_residuals=down,
                mid_block_additional_residual=middle,
            )  # fmt: skip

    noisy, times, noise = noised(pictures(4, 8))
    hint = torch.rand(SAMPLES, 3, 16, 16)
    return Inputs(Guided(), (noisy, times, torch.randn(SAMPLES, 7, 16), hint, noise), noise_loss)
