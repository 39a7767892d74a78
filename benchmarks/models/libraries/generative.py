"""Generative models: diffusion of diffusers, flows of nflows, and networks of other packages."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library

diffusion = Library("diffusers", "diffusers")
denoising = Library("denoising-diffusion-pytorch", "denoising_diffusion_pytorch")
flows = Library("nflows", "nflows")
zuko_flows = Library("zuko", "zuko")
quantizers = Library("vector-quantize-pytorch", "vector_quantize_pytorch")
libraries = (diffusion, denoising, flows, zuko_flows, quantizers)
SAMPLES = 8


def noisy(channels: int = 3, side: int = 16) -> tuple[Tensor, Tensor, Tensor]:
    """Return images with noise, the times, and the noise."""
    images = data.pictures(SAMPLES, channels, side) * 2 - 1
    times, noise = torch.randint(1000, (SAMPLES,)), torch.randn_like(images)
    kept = (1 - times / 1000).view(-1, 1, 1, 1)
    return kept.sqrt() * images + (1 - kept).sqrt() * noise, times, noise


def noise_loss(output: Any, noise: Tensor) -> Tensor:
    """Return the loss of the training script."""
    return F.mse_loss(output.sample, noise)


@diffusion.architecture
def unet() -> Inputs:
    from diffusers import UNet2DModel

    model = UNet2DModel(
        sample_size=16, block_out_channels=(8, 16), layers_per_block=1, norm_num_groups=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"), attention_head_dim=8,
    )  # fmt: skip
    images, times, noise = noisy()
    return Inputs(model, ({"sample": images, "timestep": times}, noise), noise_loss)


@diffusion.architecture
def unet_with_text() -> Inputs:
    from diffusers import UNet2DConditionModel

    model = UNet2DConditionModel(
        sample_size=16, block_out_channels=(8, 16), layers_per_block=1, norm_num_groups=4,
        cross_attention_dim=16, attention_head_dim=4, in_channels=4, out_channels=4,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    )  # fmt: skip
    images, times, noise = noisy(4)
    text = torch.randn(SAMPLES, 7, 16)
    batch = {"sample": images, "timestep": times, "encoder_hidden_states": text}
    return Inputs(model, (batch, noise), noise_loss)


@diffusion.architecture
def diffusion_transformer() -> Inputs:
    from diffusers import DiTTransformer2DModel

    model = DiTTransformer2DModel(
        num_attention_heads=2, attention_head_dim=8, in_channels=4, out_channels=4, num_layers=2,
        sample_size=8, patch_size=2, num_embeds_ada_norm=1000, norm_num_groups=4,
    )  # fmt: skip
    images, times, noise = noisy(4, 8)
    labels = torch.arange(SAMPLES) % 4
    batch = {"hidden_states": images, "timestep": times, "class_labels": labels}
    return Inputs(model, (batch, noise), noise_loss)


@diffusion.architecture
def autoencoder_kl() -> Inputs:
    from diffusers import AutoencoderKL

    model = AutoencoderKL(
        block_out_channels=(8, 16), down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2, norm_num_groups=4, sample_size=16,
    )  # fmt: skip
    images = data.pictures(SAMPLES, 3, 16) * 2 - 1
    return Inputs(model, (images, images), noise_loss)


@diffusion.architecture
def vq_model() -> Inputs:
    from diffusers import VQModel

    model = VQModel(
        block_out_channels=(8, 16), down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2, norm_num_groups=4, num_vq_embeddings=32,
    )  # fmt: skip
    images = data.pictures(SAMPLES, 3, 16) * 2 - 1

    def loss(output: Any, images: Tensor) -> Tensor:
        return F.mse_loss(output.sample, images) + output.commit_loss.mean()

    return Inputs(model, (images, images), loss)


@diffusion.architecture
def unet_1d() -> Inputs:
    from diffusers import UNet1DModel

    model = UNet1DModel(
        sample_size=32, in_channels=2, out_channels=2, extra_in_channels=64,
        block_out_channels=(32, 32, 32),
    )  # fmt: skip
    waves, noise = data.series(SAMPLES, 64, 2)[0].transpose(1, 2), torch.randn(SAMPLES, 2, 64)
    batch = {"sample": 0.7 * waves + 0.7 * noise, "timestep": torch.randint(1000, (SAMPLES,))}
    return Inputs(model, (batch, noise), noise_loss)


@denoising.architecture
def gaussian_diffusion() -> Inputs:
    """It takes images and returns its loss."""
    from denoising_diffusion_pytorch import GaussianDiffusion, Unet

    model = GaussianDiffusion(Unet(dim=8, dim_mults=(1, 2), flash_attn=False), image_size=16)
    return Inputs(model, data.pictures(SAMPLES, 3, 16))


@denoising.architecture
def gaussian_diffusion_1d() -> Inputs:
    """It takes sequences and returns its loss."""
    from denoising_diffusion_pytorch import GaussianDiffusion1D, Unet1D

    model = GaussianDiffusion1D(
        Unet1D(dim=8, dim_mults=(1, 2), channels=4), seq_length=16, timesteps=100
    )
    return Inputs(model, torch.rand(SAMPLES, 4, 16))


class Density(nn.Module):
    """A flow that returns the log probability of its inputs, for which fewer bits are better."""

    def __init__(self, flow: nn.Module) -> None:
        super().__init__()
        self.flow = flow

    def forward(self, x: Tensor) -> Any:
        flow: Any = self.flow
        return flow.log_prob(x) if hasattr(flow, "log_prob") else flow().log_prob(x)


def likelihood(flow: nn.Module) -> Inputs:
    """Return a flow with points on two moons, and the usual loss."""
    angle = 3.14 * torch.rand(64)
    side = (torch.arange(64) % 2) * 2.0 - 1
    points = torch.stack([side * angle.cos() + (side > 0), side * angle.sin()], 1)
    points = points + 0.1 * torch.randn(64, 2)
    return Inputs(Density(flow), points, lambda scores, _: -scores.mean())


@flows.architecture
def masked_autoregressive_flow() -> Inputs:
    from nflows.flows import MaskedAutoregressiveFlow

    return likelihood(MaskedAutoregressiveFlow(2, 16, 2, 1))


@flows.architecture
def real_nvp() -> Inputs:
    from nflows.flows import SimpleRealNVP

    return likelihood(SimpleRealNVP(2, 16, 2, 1, use_volume_preserving=False))


@zuko_flows.architecture
def neural_spline_flow() -> Inputs:
    import zuko

    return likelihood(zuko.flows.NSF(2, transforms=2, hidden_features=(16, 16)))


@quantizers.architecture
def quantized_autoencoder() -> Inputs:
    """The autoencoder of the package's example, with its commitment loss."""
    from vector_quantize_pytorch import VectorQuantize

    class Autoencoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(
                nn.Conv2d(1, 8, 4, 2, 1), nn.GELU(), nn.Conv2d(8, 16, 4, 2, 1)
            )
            self.codes = VectorQuantize(dim=16, codebook_size=32, accept_image_fmap=True)
            self.decoder = nn.Sequential(
                nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.GELU(), nn.ConvTranspose2d(8, 1, 4, 2, 1)
            )

        def forward(self, x: Tensor) -> Any:
            codes, _, commitment = self.codes(self.encoder(x))
            return self.decoder(codes), commitment

    def loss(outputs: tuple[Tensor, Tensor], images: Tensor) -> Tensor:
        return F.l1_loss(outputs[0], images) + outputs[1].sum()

    images = data.pictures(SAMPLES, 1, 16)
    return Inputs(Autoencoder(), (images, images), loss)
