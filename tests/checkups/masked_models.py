"""Models with attention that take a mask."""

from typing import Any

from torch import Tensor, nn

from tests.checkups.attention_models import TOKENS, WIDTH, tokens

PADDED = tokens()[0].clamp(min=1)
PADDED[2, 5:] = 0
RIGHT = PADDED.ne(0)


class Masked(nn.Module):
    """Attention with a mask, by torch's convention; `change` may spoil it."""

    def __init__(self, change: Any = None, pooled: bool = False) -> None:
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.change, self.pooled = change or (lambda mask: mask), pooled

    def forward(self, x: Tensor, key_padding_mask: Tensor | None = None) -> Any:
        x = self.tokens(x)
        mask = None if key_padding_mask is None else self.change(key_padding_mask)
        out = self.attention(x, x, x, key_padding_mask=mask)[0]
        return out.mean(1) if self.pooled else out


class Plain(Masked):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        return super().forward(x, mask)


class Valid(Masked):
    def forward(self, x: Tensor, valid_mask: Tensor | None = None) -> Any:
        return super().forward(x, None if valid_mask is None else ~valid_mask.bool())
