"""Faults in models of texts, sounds and series: their masks, their labels and how they train."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.checkup.case import Inputs, Net
from benchmarks.models.batches import padding_mask, tokens
from benchmarks.models.planted import FaultList

faults = FaultList()


@faults.plant("transformers/bart", finds="labels_are_shifted_once")
def decoder_gets_the_labels(given: Inputs) -> Inputs:
    """The decoder gets the labels as they are, so each token is known when it is predicted."""
    return replace(given, batch=given.batch | {"decoder_input_ids": given.batch["labels"]})


@faults.plant("transformers/olmo", finds="sees_no_future")
def mask_of_all_pairs_replaces_the_causal_one(given: Inputs) -> Inputs:
    """The mask of the padding is passed for all pairs of tokens, which replaces the causal mask."""

    def run(body: Any, ids: Tensor, mask: Tensor, labels: Tensor | None) -> Any:
        pairs = mask[:, None, None].bool().expand(-1, 1, ids.shape[1], -1)
        return body(input_ids=ids, attention_mask=pairs, labels=labels)

    return replace(given, model=Texts(run, given.model))


@faults.plant("transformers/roberta", finds="respects_masks")
def zeros_and_ones_are_added_to_the_scores(given: Inputs) -> Inputs:
    """A mask of ones and zeros is added to the scores of the attention, in place of -inf."""

    def run(body: Any, ids: Tensor, mask: Tensor, labels: Tensor | None) -> Any:
        added = mask[:, None, None].float().expand(-1, 1, ids.shape[1], -1)
        return body(input_ids=ids, attention_mask=added, labels=labels)

    return replace(given, model=Texts(run, given.model))


@faults.plant("transformers/mt5", finds="loss_leaves_out_padding")
def labels_are_padded_like_inputs(given: Inputs) -> Inputs:
    """The labels are padded with the token for padding, in place of -100."""
    labels = given.batch["labels"]
    return replace(given, batch=given.batch | {"labels": labels * padding_mask(*labels.shape)})


@faults.plant("transformers/distilbert", finds="means_leave_out_padding")
def sentence_is_the_mean_of_all_states(given: Inputs) -> Inputs:
    """A sentence is the mean of the last states, those of the padding included."""

    def run(body: Any, ids: Tensor, mask: Tensor, _: Tensor | None) -> Any:
        states = body.distilbert(ids, attention_mask=mask).last_hidden_state
        return body.classifier(body.pre_classifier(states.mean(1)).relu())

    return with_a_loss_outside(given, run)


@faults.plant("transformers/gpt2_sentences", finds="respects_masks")
def last_state_is_padding(given: Inputs) -> Inputs:
    """The classifier reads the state of the last position, which is padding in shorter texts."""

    def run(body: Any, ids: Tensor, mask: Tensor, _: Tensor | None) -> Any:
        return body.score(body.transformer(ids, attention_mask=mask).last_hidden_state[:, -1])

    return with_a_loss_outside(given, run)


@faults.plant(
    "transformers/wav2vec2_ctc",
    finds=("targets_are_sane", "runs_on_the_batch", "overfits_one_batch"),
)
def more_characters_than_frames(given: Inputs) -> Inputs:
    """Texts have more characters than the sounds have frames, so that the CTC loss is infinite."""
    labels = torch.randint(1, 30, (len(given.batch["labels"]), 100))
    return replace(given, batch=given.batch | {"labels": labels})


@faults.plant("transformers/deberta_masked", finds="optimizer_holds_every_parameter")
def biases_are_in_no_group(given: Inputs) -> Inputs:
    """Biases are taken out of the group with weight decay, and put into no other."""
    decayed, rest = [], []
    for name, parameter in given.model.named_parameters():
        if name.endswith("LayerNorm.weight"):
            rest.append(parameter)
        elif not name.endswith("bias"):
            decayed.append(parameter)
    groups = [{"params": decayed, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}]
    return replace(given, optimizer=torch.optim.AdamW(groups, lr=1e-3))


@faults.plant("transformers/albert", finds="validation_is_apart")
def texts_appear_more_than_once(given: Inputs) -> Inputs:
    """Some texts are in the data more than once, and a random split puts them on both sides."""
    ids, mask = given.batch["input_ids"], given.batch["attention_mask"]
    order = torch.randperm(len(ids))
    new = tokens(*ids.shape) * mask
    new[:3] = ids[:3]
    texts = {"input_ids": new, "labels": given.batch["labels"], "attention_mask": mask}
    return replace(given, validation={name: values[order] for name, values in texts.items()})


@faults.plant("minGRU-pytorch/minimal_lstm", finds="frozen_embeddings_were_trained")
def vectors_were_not_found(given: Inputs) -> Inputs:
    """The file with word vectors was not found, and random ones are frozen in their place."""
    model: Any = given.model
    model.token_emb = nn.Embedding.from_pretrained(torch.randn(model.token_emb.weight.shape))
    return given


@faults.plant("x-transformers/memory_tokens", finds=("uses_positions", "overfits_one_batch"))
def hidden_tokens_without_positions(given: Inputs) -> Inputs:
    """The encoder has no positions, so that all hidden tokens of a text get the same guess."""
    from x_transformers import Encoder, TransformerWrapper

    layers = Encoder(dim=32, depth=2, heads=4, attn_dim_head=8, attn_num_mem_kv=4)
    model = TransformerWrapper(
        num_tokens=100, max_seq_len=16, attn_layers=layers, num_memory_tokens=4,
        use_abs_pos_emb=False,
    )  # fmt: skip
    return replace(given, model=model)


@faults.plant("x-transformers/continuous_series", finds="sees_no_future")
def standardised_with_the_future(given: Inputs) -> Inputs:
    """Each series is standardised by its mean and spread, which its future has a part in."""

    def run(net: Any, series: Tensor) -> Any:
        mean, spread = series.mean(1, keepdim=True), series.std(1, keepdim=True) + 1e-5
        return net.body((series - mean) / spread) * spread + mean

    return replace(given, model=Net(run, body=given.model))


class Texts(nn.Module):
    """A model of texts that is called in another way."""

    def __init__(self, run: Callable[..., Any], body: nn.Module) -> None:
        super().__init__()
        self.run, self.body = run, body

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor | None = None
    ) -> Any:
        return self.run(self.body, input_ids, attention_mask, labels)


def with_a_loss_outside(given: Inputs, run: Callable[..., Any]) -> Inputs:
    """Return a classifier of texts that returns logits, and the loss of them."""
    texts = {name: given.batch[name] for name in ("input_ids", "attention_mask")}
    batch = texts, given.batch["labels"]
    return replace(given, model=Texts(run, given.model), batch=batch, loss=nn.CrossEntropyLoss())
