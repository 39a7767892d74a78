"""Faults in forecasters, language models, and models of sounds and patches."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup.case import Inputs, Net
from benchmarks.models.batches import padding_mask, tokens
from benchmarks.models.planted import FaultList

faults = FaultList()


@faults.plant(
    "neuralforecast/lstm", finds=("evaluation_is_deterministic", "shapes_follow_the_batch")
)
def state_of_the_last_batch(given: Inputs) -> Inputs:
    """The LSTM starts from the state that the batch before left, though windows are unrelated."""

    class Carries(nn.Module):
        def __init__(self, layer: nn.Module) -> None:
            super().__init__()
            self.layer = layer
            self.state: tuple[Tensor, Tensor] | None = None

        def forward(self, x: Tensor, _: None = None) -> Any:
            output, (hidden, cell) = self.layer(x, self.state)
            self.state = hidden.detach(), cell.detach()
            return output, (hidden, cell)

    network: Any = given.model.network
    network.hist_encoder = Carries(network.hist_encoder)
    return given


@faults.plant("neuralforecast/tide", finds="shapes_follow_the_batch")
def batch_size_in_a_view(given: Inputs) -> Inputs:
    """The output is viewed with the batch size of the configuration."""
    return replace(
        given, model=Net(lambda net, past: net.body(past).view(16, -1, 1), body=given.model)
    )


@faults.plant("neuralforecast/patchtst", finds=("modes_differ", "evaluation_is_deterministic"))
def dropout_stays_on(given: Inputs) -> Inputs:
    """A dropout of one's own replaces that of the library, and ignores the mode."""

    class Drops(nn.Module):
        def __init__(self, rate: float) -> None:
            super().__init__()
            self.rate = rate

        def forward(self, x: Tensor) -> Tensor:
            kept = torch.rand_like(x) > self.rate
            return x * kept / (1 - self.rate)

    for parent in list(given.model.modules()):
        for name, child in parent.named_children():
            if isinstance(child, nn.Dropout):
                setattr(parent, name, Drops(child.p))
    return given


@faults.plant("neuralforecast/timemixer", finds="parameters_are_sane")
def weights_of_a_diverged_run(given: Inputs) -> Inputs:
    """The weights were loaded from a run that had diverged, so one layer holds NaN."""
    layers = [each for each in given.model.modules() if isinstance(each, nn.Linear)]
    nn.init.constant_(layers[len(layers) // 2].weight, float("nan"))
    return given


@faults.plant("x-transformers/gpt", finds="sees_no_future")
def encoder_in_place_of_a_decoder(given: Inputs) -> Inputs:
    """A language model is made of an encoder, which has no causal mask."""
    from x_transformers import Encoder, TransformerWrapper

    layers = Encoder(dim=32, depth=2, heads=4, attn_dim_head=8)
    model = TransformerWrapper(num_tokens=100, max_seq_len=32, attn_layers=layers)
    return replace(given, model=model)


@faults.plant("x-transformers/gpt_with_classes_second", finds="labels_are_shifted_once")
def labels_are_shifted_again(given: Inputs) -> Inputs:
    """The data is shifted already, and the loss shifts it once more."""

    def loss(logits: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(logits[:, :-1].transpose(1, 2), targets[:, 1:])

    return replace(given, loss=loss)


@faults.plant("x-transformers/gpt_with_rotary_positions", finds="labels_are_shifted_once")
def labels_are_the_inputs(given: Inputs) -> Inputs:
    """The labels are the tokens that the model gets, so it learns to copy."""
    ids = given.batch[0]
    return replace(given, batch=(ids, ids.clone()))


@faults.plant("x-transformers/encoder", finds="respects_masks")
def mask_is_not_passed_on(given: Inputs) -> Inputs:
    """The mask is used for the mean, but the attention does not get it."""

    def run(net: Any, ids: Tensor, mask: Tensor) -> Any:
        kept = mask[..., None]
        return net.head((net.body(ids) * kept).sum(1) / kept.sum(1))

    return replace(given, model=Sentences(run, given.model))


@faults.plant("x-transformers/encoder", finds="means_leave_out_padding")
def mean_counts_padding(given: Inputs) -> Inputs:
    """The mean over the sentence also counts the padding."""

    def run(net: Any, ids: Tensor, mask: Tensor) -> Any:
        return net.head(net.body(ids, mask=mask).mean(1))

    return replace(given, model=Sentences(run, given.model))


@faults.plant("x-transformers/encoder_and_decoder", finds="respects_masks")
def mask_is_inverted(given: Inputs) -> Inputs:
    """The mask is true for padding, as in PyTorch, but the library keeps what is true."""
    keep = padding_mask().bool()
    source = given.batch["src"] * keep
    return replace(given, batch={**given.batch, "src": source, "mask": ~keep})


@faults.plant("x-transformers/image_transformer", finds="attention_rows_sum_to_one")
def softmax_over_queries(given: Inputs) -> Inputs:
    """The softmax of the attention runs over the queries in place of the keys."""
    each: Any
    for each in given.model.modules():
        if hasattr(each, "attn_fn"):
            each.attn_fn = partial(F.softmax, dim=-2)
    return given


@faults.plant("x-transformers/autoregressive_wrapper", finds="loss_leaves_out_padding")
def wrapper_counts_padding(given: Inputs) -> Inputs:
    """Sequences are padded with zeros, which the wrapper only leaves out if they are -100."""
    return replace(given, batch=given.batch * padding_mask(8, 17))


@faults.plant("local-attention/local_transformer", finds="loss_leaves_out_padding")
def loss_counts_padding(given: Inputs) -> Inputs:
    """Sequences are padded with zeros, and the loss has no ignore_index."""
    ids = tokens(8, 17, 100) * padding_mask(8, 17)
    return replace(given, batch=(ids[:, :-1], ids[:, 1:]))


@faults.plant("conformer/conformer", finds="samples_stay_apart")
def attention_with_time_first(given: Inputs) -> Inputs:
    """Attention of PyTorch without batch_first gets (batch, time), so it looks across samples."""

    class Attends(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(32, 4)

        def forward(self, x: Tensor, mask: None = None) -> Any:
            del mask
            return self.attention(x, x, x)[0]

    model: Any = given.model
    for block in model[1].layers:
        block.attn.fn = Attends()
    return given


@faults.plant("mambapy/mamba", finds="frozen_embeddings_were_trained")
def random_embedding_is_frozen(given: Inputs) -> Inputs:
    """The embedding is frozen as if it were trained, but its weights are random."""
    model: Any = given.model
    model[0].weight.requires_grad_(False)
    return given


@faults.plant("minGRU-pytorch/min_gru", finds="listed_layers_are_separate")
def one_layer_twice(given: Inputs) -> Inputs:
    """The list of layers was made by multiplying a list, so it holds the same layer twice."""
    model: Any = given.model
    model.layers = nn.ModuleList([model.layers[0]] * 2)
    return given


@faults.plant(
    "linear-attention-transformer/linear_attention",
    finds=("runs_on_the_batch", "targets_are_sane", "output_fits_the_targets"),
)
def special_tokens_are_not_counted(given: Inputs) -> Inputs:
    """The tokenizer got special tokens, and the size of the vocabulary stayed as it was."""
    ids, following = given.batch
    ids, following = ids.clone(), following.clone()
    ids[:, 0], following[:, -1] = 100, 101
    return replace(given, batch=(ids, following))


class Sentences(nn.Module):
    """The parts of a classifier of sentences, with another forward pass."""

    def __init__(self, run: Any, parts: Any) -> None:
        super().__init__()
        self.run, self.body, self.head = run, parts.body, parts.head

    def forward(self, ids: Tensor, mask: Tensor) -> Any:
        return self.run(self, ids, mask)
