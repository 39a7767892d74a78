"""Models of sequences from several small packages."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import classifies, flat_cross_entropy, padding_mask, tokens

x_transformers = Library("x-transformers", "x_transformers")
conformers = Library("conformer", "conformer")
perceivers = Library("perceiver-pytorch", "perceiver_pytorch")
mambas = Library("mambapy", "mambapy")
local = Library("local-attention", "local_attention")
linear = Library("linear-attention-transformer", "linear_attention_transformer")
g_mlps = Library("g-mlp-pytorch", "g_mlp_pytorch")
grus = Library("minGRU-pytorch", "minGRU_pytorch")
libraries = (x_transformers, conformers, perceivers, mambas, local, linear, g_mlps, grus)
VOCABULARY, LENGTH, SAMPLES = 100, 16, 8


def next_tokens() -> tuple[Tensor, Tensor]:
    """Return sequences, and the same one step later."""
    ids = tokens(SAMPLES, LENGTH + 1, VOCABULARY)
    return ids[:, :-1], ids[:, 1:]


def decoder(**settings: Any) -> nn.Module:
    """Return a causal model of x-transformers."""
    from x_transformers import Decoder, TransformerWrapper

    layers = Decoder(dim=32, depth=2, heads=4, attn_dim_head=8, **settings)
    made: nn.Module = TransformerWrapper(num_tokens=VOCABULARY, max_seq_len=32, attn_layers=layers)
    return made


@x_transformers.architecture
def gpt() -> Inputs:
    return Inputs(decoder(), next_tokens(), flat_cross_entropy)


@x_transformers.architecture
def gpt_with_rotary_positions() -> Inputs:
    model = decoder(rotary_pos_emb=True, ff_glu=True, use_rmsnorm=True, attn_kv_heads=2)
    return Inputs(model, next_tokens(), flat_cross_entropy)


@x_transformers.architecture
def gpt_with_alibi() -> Inputs:
    model = decoder(alibi_pos_bias=True, alibi_num_heads=2)
    return Inputs(model, next_tokens(), flat_cross_entropy)


@x_transformers.architecture
def gpt_with_classes_second() -> Inputs:
    def loss(logits: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(logits.transpose(1, 2), targets)

    return Inputs(decoder(attn_qk_norm=True), next_tokens(), loss)


@x_transformers.architecture
def autoregressive_wrapper() -> Inputs:
    """It takes whole sequences, shifts them itself and returns its loss."""
    from x_transformers import AutoregressiveWrapper

    return Inputs(AutoregressiveWrapper(decoder()), tokens(SAMPLES, LENGTH + 1, VOCABULARY))


@x_transformers.architecture
def encoder() -> Inputs:
    """It classifies padded sentences by the mean of what it keeps."""
    from x_transformers import Encoder, TransformerWrapper

    class Sentences(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layers = Encoder(dim=32, depth=2, heads=4, attn_dim_head=8)
            self.body = TransformerWrapper(
                num_tokens=VOCABULARY, max_seq_len=32, attn_layers=layers, return_only_embed=True
            )
            self.head = nn.Linear(32, 3)

        def forward(self, ids: Tensor, mask: Tensor) -> Any:
            kept = mask[..., None]
            states = self.body(ids, mask=mask)
            return self.head((states * kept).sum(1) / kept.sum(1))

    keep = padding_mask(SAMPLES, LENGTH).bool()
    batch = {"ids": tokens(SAMPLES, LENGTH, VOCABULARY) * keep, "mask": keep}
    return Inputs(Sentences(), (batch, torch.arange(SAMPLES) % 3), nn.CrossEntropyLoss())


@x_transformers.architecture
def encoder_and_decoder() -> Inputs:
    """It takes both sides and returns its loss."""
    from x_transformers import XTransformer

    model = XTransformer(
        dim=32, enc_num_tokens=VOCABULARY, enc_depth=1, enc_heads=4, enc_max_seq_len=32,
        dec_num_tokens=VOCABULARY, dec_depth=1, dec_heads=4, dec_max_seq_len=32,
    )  # fmt: skip
    source, target = tokens(SAMPLES, LENGTH, VOCABULARY), tokens(SAMPLES, 10, VOCABULARY)
    mask = torch.ones_like(source).bool()
    return Inputs(model, {"src": source, "tgt": target, "mask": mask})


@x_transformers.architecture
def image_transformer() -> Inputs:
    from x_transformers import Encoder, ViTransformerWrapper

    model = ViTransformerWrapper(
        image_size=32, patch_size=8, num_classes=10, attn_layers=Encoder(dim=32, depth=2, heads=4)
    )
    return classifies(model)


@x_transformers.architecture
def continuous_series() -> Inputs:
    from x_transformers import ContinuousTransformerWrapper, Decoder

    model = ContinuousTransformerWrapper(
        dim_in=4, dim_out=4, max_seq_len=32, attn_layers=Decoder(dim=32, depth=2, heads=4)
    )
    waves = data.series(SAMPLES, LENGTH + 1, 4)[0]
    return Inputs(model, (waves[:, :-1], waves[:, 1:]), nn.MSELoss())


@conformers.architecture
def conformer() -> Inputs:
    """Frames of sound, each with a class."""
    from conformer import Conformer

    body = Conformer(dim=32, depth=2, dim_head=8, heads=4, conv_kernel_size=7)
    model = nn.Sequential(nn.Linear(16, 32), body, nn.Linear(32, 5))
    frames, labels = torch.randn(SAMPLES, 24, 16), torch.randint(5, (SAMPLES, 24))
    frames[..., :5] += 3 * F.one_hot(labels, 5)
    return Inputs(model, (frames, labels), flat_cross_entropy)


@perceivers.architecture
def perceiver() -> Inputs:
    from perceiver_pytorch import Perceiver

    model = Perceiver(
        num_freq_bands=4, depth=2, max_freq=8.0, num_latents=8, latent_dim=32, latent_heads=4,
        cross_dim_head=8, latent_dim_head=8, num_classes=10,
    )  # fmt: skip
    images, labels = data.images(SAMPLES, 3, 16, 10)
    return Inputs(model, (images.movedim(1, -1), labels), nn.CrossEntropyLoss())


@mambas.architecture
def mamba() -> Inputs:
    from mambapy.mamba import Mamba, MambaConfig

    body = Mamba(MambaConfig(d_model=32, n_layers=2, d_state=8))
    model = nn.Sequential(nn.Embedding(VOCABULARY, 32), body, nn.Linear(32, VOCABULARY))
    return Inputs(model, next_tokens(), flat_cross_entropy)


@local.architecture
def local_transformer() -> Inputs:
    from local_attention import LocalTransformer

    model = LocalTransformer(
        num_tokens=VOCABULARY, dim=32, depth=2, causal=True, local_attn_window_size=8,
        max_seq_len=32, heads=4, dim_head=8,
    )  # fmt: skip
    return Inputs(model, next_tokens(), flat_cross_entropy)


@linear.architecture
def linear_attention() -> Inputs:
    from linear_attention_transformer import LinearAttentionTransformerLM

    model = LinearAttentionTransformerLM(
        num_tokens=VOCABULARY, dim=32, heads=4, depth=2, max_seq_len=LENGTH, causal=True,
        blindspot_size=1,
    )  # fmt: skip
    return Inputs(model, next_tokens(), flat_cross_entropy)


@g_mlps.architecture
def g_mlp() -> Inputs:
    from g_mlp_pytorch import gMLP

    model = gMLP(num_tokens=VOCABULARY, dim=32, depth=2, seq_len=LENGTH, causal=True)
    return Inputs(model, next_tokens(), flat_cross_entropy)


@grus.architecture
def min_gru() -> Inputs:
    from minGRU_pytorch.minLM import minLM

    model = minLM(num_tokens=VOCABULARY, dim=32, depth=2)
    return Inputs(model, next_tokens(), flat_cross_entropy)
