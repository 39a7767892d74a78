"""Forecasters of neuralforecast, called with a batch of windows as its own training does."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library

library = Library("neuralforecast", "neuralforecast", "ray")
HORIZON, PAST, WINDOWS, SERIES = 6, 24, 16, 4


class Windows(nn.Module):
    """Passes windows as the dict that the models of the library take."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, past: Tensor) -> Any:
        batch = {"insample_y": past, "insample_mask": torch.ones_like(past)}
        none = {"futr_exog": None, "hist_exog": None, "stat_exog": None}
        return self.network({**batch, **none})


def made(name: str, *, series: int = 1, **settings: Any) -> Inputs:
    """Return a forecaster of waves, with several series at once for those that need them."""
    from importlib import import_module

    kind = getattr(import_module("neuralforecast.models"), name)
    several = {"n_series": series} if series > 1 else {}
    network = kind(h=HORIZON, input_size=PAST, max_steps=1, **several, **settings)
    steps = torch.arange(PAST + HORIZON)[None, :, None]
    waves = torch.sin(steps * 0.5 + 6 * torch.rand(WINDOWS, 1, series))
    waves = waves + 0.1 * torch.randn_like(waves)
    return Inputs(Windows(network), (waves[:, :PAST], waves[:, PAST:]), nn.L1Loss())


@library.architecture
def nlinear() -> Inputs:
    return made("NLinear")


@library.architecture
def dlinear() -> Inputs:
    return made("DLinear", moving_avg_window=5)


@library.architecture
def mlp() -> Inputs:
    return made("MLP", num_layers=2, hidden_size=32)


@library.architecture
def nbeats() -> Inputs:
    return made("NBEATS", mlp_units=3 * [[32, 32]])


@library.architecture
def nhits() -> Inputs:
    return made("NHITS", mlp_units=3 * [[32, 32]])


@library.architecture
def tide() -> Inputs:
    return made("TiDE", hidden_size=32, decoder_output_dim=8, temporal_decoder_dim=16)


@library.architecture
def tft() -> Inputs:
    return made("TFT", hidden_size=16, n_head=2)


@library.architecture
def patchtst() -> Inputs:
    return made("PatchTST", hidden_size=16, n_heads=2, linear_hidden_size=32, patch_len=8, stride=4)


@library.architecture
def vanilla_transformer() -> Inputs:
    return made("VanillaTransformer", hidden_size=16, n_head=2, conv_hidden_size=16)


@library.architecture
def informer() -> Inputs:
    return made("Informer", hidden_size=16, n_head=2, conv_hidden_size=16)


@library.architecture
def autoformer() -> Inputs:
    return made("Autoformer", hidden_size=16, n_head=2, conv_hidden_size=16)


@library.architecture
def times_net() -> Inputs:
    return made("TimesNet", hidden_size=8, conv_hidden_size=8, top_k=2, num_kernels=2)


@library.architecture
def lstm() -> Inputs:
    return made("LSTM", encoder_hidden_size=16, decoder_hidden_size=16)


@library.architecture
def tcn() -> Inputs:
    return made("TCN", encoder_hidden_size=16, decoder_hidden_size=16)


@library.architecture
def bitcn() -> Inputs:
    return made("BiTCN", hidden_size=8)


@library.architecture
def kan() -> Inputs:
    return made("KAN", hidden_size=16)


@library.architecture
def itransformer() -> Inputs:
    return made("iTransformer", series=SERIES, hidden_size=16, n_heads=2, d_ff=32)


@library.architecture
def tsmixer() -> Inputs:
    return made("TSMixer", series=SERIES, ff_dim=16)


@library.architecture
def softs() -> Inputs:
    return made("SOFTS", series=SERIES, hidden_size=16, d_core=16, d_ff=32)


@library.architecture
def stemgnn() -> Inputs:
    return made("StemGNN", series=SERIES, multi_layer=2)


@library.architecture
def timemixer() -> Inputs:
    return made("TimeMixer", series=SERIES, d_model=8, d_ff=16)
