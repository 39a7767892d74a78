"""Small configurations of transformers, and models made of them."""

from __future__ import annotations

from typing import Any

VOCABULARY, LENGTH, SAMPLES, CLASSES = 100, 16, 8, 3
SMALL: dict[str, Any] = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64, "max_position_embeddings": 64,
}  # fmt: skip
GROUPED: dict[str, Any] = {**SMALL, "num_key_value_heads": 2}
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def made(model: str, **settings: Any) -> Any:
    """Return a model of a class, with random weights."""
    import transformers

    kind: Any = getattr(transformers, model)
    return kind(kind.config_class(**settings))
