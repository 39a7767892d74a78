"""Forecasters of pytorch-forecasting, made from a data set as its tutorials make them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from torch import Tensor

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library

library = Library("pytorch-forecasting", "pytorch_forecasting", "lightning", "skbase")
SERIES, LENGTH, PAST, FUTURE = 6, 40, 16, 4


@cache
def sales() -> Any:
    """Return a table of a few series with a weekly rhythm."""
    import pandas

    rows = []
    for series in range(SERIES):
        level, start = np.random.uniform(1, 3), np.random.randint(7)
        for day in range(LENGTH):
            value = level + np.sin((day + start) * 2 * np.pi / 7) + 0.1 * np.random.randn()
            rows.append({"shop": str(series), "day": day, "sold": value, "price": value % 1})
    return pandas.DataFrame(rows)


def dataset(**settings: Any) -> Any:
    """Return windows of the sales."""
    from pytorch_forecasting import TimeSeriesDataSet

    return TimeSeriesDataSet(
        sales(), time_idx="day", target="sold", group_ids=["shop"],
        max_encoder_length=PAST, min_encoder_length=PAST, max_prediction_length=FUTURE,
        time_varying_unknown_reals=["sold"], **settings,
    )  # fmt: skip


def forecasts(name: str, data: Any, loss: Any, **settings: Any) -> Inputs:
    """Return a forecaster with a batch of its data set."""
    from pytorch_forecasting import models

    kind = getattr(models, name)
    model = kind.from_dataset(data, loss=loss, log_interval=-1, **settings)
    inputs, (targets, _) = next(iter(data.to_dataloader(train=True, batch_size=8)))

    def loss_of_output(output: Any, actual: Tensor) -> Tensor:
        result: Tensor = loss(output["prediction"], actual)
        return result

    return Inputs(model, ({"x": inputs}, targets), loss_of_output)


def with_covariates(**settings: Any) -> Any:
    """Return windows with a series known in advance, and the shop as a category."""
    return dataset(
        static_categoricals=["shop"], time_varying_known_reals=["day", "price"],
        add_relative_time_idx=True, **settings,
    )  # fmt: skip


@library.architecture
def temporal_fusion_transformer() -> Inputs:
    from pytorch_forecasting.metrics import QuantileLoss

    return forecasts(
        "TemporalFusionTransformer", with_covariates(), QuantileLoss([0.1, 0.5, 0.9]),
        hidden_size=8, attention_head_size=2, dropout=0.1, hidden_continuous_size=4,
    )  # fmt: skip


@library.architecture
def n_beats() -> Inputs:
    from pytorch_forecasting.metrics import SMAPE

    return forecasts("NBeats", dataset(), SMAPE(), widths=[16, 32], backcast_loss_ratio=0.0)


@library.architecture
def n_hits() -> Inputs:
    from pytorch_forecasting.metrics import QuantileLoss

    data = dataset(static_categoricals=["shop"], time_varying_known_reals=["price"])
    return forecasts("NHiTS", data, QuantileLoss([0.1, 0.5, 0.9]), hidden_size=16)


@library.architecture
def recurrent_network() -> Inputs:
    from pytorch_forecasting.metrics import MAE

    return forecasts("RecurrentNetwork", with_covariates(), MAE(), hidden_size=16, rnn_layers=2)


@library.architecture
def decoder_mlp() -> Inputs:
    from pytorch_forecasting.metrics import RMSE

    return forecasts("DecoderMLP", with_covariates(), RMSE(), hidden_size=16, n_hidden_layers=2)


@library.architecture
def tide() -> Inputs:
    from pytorch_forecasting.metrics import MAE

    return forecasts(
        "TiDEModel", dataset(time_varying_known_reals=["price"]), MAE(), hidden_size=16,
        num_encoder_layers=1, num_decoder_layers=1, decoder_output_dim=4, temporal_width_future=4,
    )  # fmt: skip


@library.architecture
def deep_ar() -> Inputs:
    from pytorch_forecasting.metrics import NormalDistributionLoss

    return forecasts(
        "DeepAR", with_covariates(), NormalDistributionLoss(), hidden_size=16, rnn_layers=2
    )


@library.architecture
def time_xer() -> Inputs:
    from pytorch_forecasting.metrics import MAE

    return forecasts(
        "TimeXer", dataset(time_varying_known_reals=["day", "price"]), MAE(), context_length=PAST,
        prediction_length=FUTURE, hidden_size=16, n_heads=2, e_layers=1, d_ff=32, patch_length=4,
    )  # fmt: skip


@library.architecture
def x_lstm() -> Inputs:
    from pytorch_forecasting.metrics import MAE

    data = dataset()
    return forecasts(
        "xLSTMTime", data, MAE(), input_size=1, hidden_size=16, output_size=1, xlstm_type="slstm"
    )


@library.architecture
def series_transformed_first() -> Inputs:
    from pytorch_forecasting.data import GroupNormalizer
    from pytorch_forecasting.metrics import QuantileLoss

    data = with_covariates(
        target_normalizer=GroupNormalizer(groups=["shop"], transformation="softplus")
    )
    return forecasts(
        "TemporalFusionTransformer", data, QuantileLoss([0.1, 0.5, 0.9]), hidden_size=8,
        attention_head_size=1, dropout=0.0, hidden_continuous_size=4,
    )  # fmt: skip
