"""Language models of reformer-pytorch, as in its README."""

from __future__ import annotations

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import flat_cross_entropy, tokens

library = Library("reformer-pytorch", "reformer_pytorch", "colt5_attention")


@library.architecture
def language_model() -> Inputs:
    from reformer_pytorch import ReformerLM

    text = tokens(4, 33, 100)
    model = ReformerLM(
        num_tokens=100, dim=32, depth=1, max_seq_len=32, heads=2, bucket_size=8, n_hashes=2,
        causal=True, lsh_dropout=0.1,
    )  # fmt: skip
    return Inputs(model, (text[:, :-1], text[:, 1:]), flat_cross_entropy)


@library.architecture
def full_attention() -> Inputs:
    from reformer_pytorch import ReformerLM

    text = tokens(8, 17, 100)
    model = ReformerLM(
        num_tokens=100, dim=32, depth=2, max_seq_len=16, heads=4, causal=True, use_full_attn=True
    )
    return Inputs(model, (text[:, :-1], text[:, 1:]), flat_cross_entropy)
