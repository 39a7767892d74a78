"""Padding that counts, labels shifted twice or never, layers frozen or shared by mistake."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.checkup import data
from benchmarks.checkup.base_models import WIDTH, Decoder, mlp
from benchmarks.checkup.case import CaseList, Inputs, Net
from benchmarks.checkup.data import LENGTH, VOCABULARY

cases = CaseList("reporting")
FROZEN, SHIFTED = "frozen_embeddings_were_trained", "labels_are_shifted_once"
SEPARATE = "listed_layers_are_separate"
LOSS, MEANS = "loss_leaves_out_padding", "means_leave_out_padding"
CE, BCE = nn.CrossEntropyLoss(), nn.BCEWithLogitsLoss()


def words() -> nn.Embedding:
    return nn.Embedding(VOCABULARY, WIDTH, padding_idx=0)


def loaded(*tensors: Tensor) -> DataLoader[tuple[Tensor, ...]]:
    return DataLoader(TensorDataset(*tensors), batch_size=32)


@cases.fault(FROZEN, "cnn of texts, vectors are loaded under another name")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head(net.conv(net.tokens(x).transpose(1, 2)).relu().amax(-1)),
        tokens=nn.Embedding(VOCABULARY, 24),
        conv=nn.Conv1d(24, WIDTH, 3, padding=1),
        head=nn.Linear(WIDTH, 3),
    )
    vectors = 0.4 * torch.randn(VOCABULARY, 24)
    model.load_state_dict({"embedding.weight": vectors}, strict=False)
    model.get_submodule("tokens").requires_grad_(False)
    return Inputs(model, loaded(*data.text()), CE)


@cases.fault(FROZEN, "mlp, columns of kinds, all that is called so is frozen")
def _() -> Inputs:
    class Rows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kinds = nn.ModuleList(nn.Embedding(count, 8) for count in (12, 31))
            self.body = mlp(24, 1)

        def forward(self, numbers: Tensor, codes: Tensor) -> Any:
            found = [each(codes[:, place]) for place, each in enumerate(self.kinds)]
            return self.body(torch.cat([numbers, *found], 1))

    model = Rows()
    for name, each in model.named_parameters():
        if "kinds" in name:
            each.requires_grad = False
    numbers, labels = data.answers(64)
    codes = torch.stack([torch.randint(12, (64,)), torch.randint(31, (64,))], 1)
    return Inputs(model, ({"numbers": numbers, "codes": codes}, labels), BCE)


@cases.fault(SHIFTED, "causal convolutions, NLL of tokens two places ahead")
def _() -> Inputs:
    def run(net: Any, tokens: Tensor) -> Any:
        x = net.tokens(tokens).transpose(1, 2)
        x = x + net.one(F.pad(x, (2, 0))).relu()
        x = x + net.two(F.pad(x, (4, 0))).relu()
        return net.head(x.transpose(1, 2)).log_softmax(-1)

    def judged(outputs: Tensor, targets: Tensor) -> Tensor:
        return F.nll_loss(outputs[:, :-1].transpose(1, 2), targets[:, 1:])

    model = Net(
        run,
        tokens=nn.Embedding(VOCABULARY, WIDTH),
        one=nn.Conv1d(WIDTH, WIDTH, 3),
        two=nn.Conv1d(WIDTH, WIDTH, 3, dilation=2),
        head=nn.Linear(WIDTH, VOCABULARY),
    )
    return Inputs(model, loaded(*data.language(32)), judged)


class Translates(nn.Module):
    """Torch's transformer, with a loss of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(64, WIDTH)
        self.body = nn.Transformer(WIDTH, 4, 1, 1, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def embedded(self, tokens: Tensor) -> Any:
        return self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))

    def forward(self, source: Tensor, target: Tensor, labels: Tensor | None = None) -> Any:
        future = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        x = self.body(self.embedded(source), self.embedded(target), tgt_mask=future)
        logits = self.head(x)
        if labels is None:
            return {"logits": logits}
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=0.1)
        return {"loss": loss, "logits": logits}


@cases.fault(SHIFTED, "torch's transformer, no start token before the translation")
def _() -> Inputs:
    source, target = data.text()[0], data.text(length=9)[0]
    return Inputs(Translates(), {"source": source, "target": target, "labels": target.clone()})


@cases.fault(SEPARATE, "torch's layer, listed three times without a copy")
def _() -> Inputs:
    class Stack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(64, WIDTH)
            layer = nn.TransformerEncoderLayer(WIDTH, 4, 64, dropout=0.1, batch_first=True)
            self.layers = nn.ModuleList([layer for _ in range(3)])
            self.head = nn.Linear(WIDTH, 3)

        def forward(self, tokens: Tensor) -> Any:
            x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
            for layer in self.layers:
                x = layer(x)
            return self.head(x[:, 0])

    return Inputs(Stack(), data.text(), CE)


@cases.fault(SEPARATE, "gru cells, one for all levels, the next value")
def _() -> Inputs:
    class Levels(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.head = nn.Linear(4, WIDTH), nn.Linear(WIDTH, 4)
            self.cells = nn.ModuleList([nn.GRUCell(WIDTH, WIDTH)] * 3)

        def forward(self, x: Tensor) -> Any:
            states, made = [x.new_zeros(len(x), WIDTH)] * 3, []
            for step in self.first(x).unbind(1):
                for level, cell in enumerate(self.cells):
                    states[level] = step = cell(step, states[level])
                made.append(step)
            return self.head(torch.stack(made, 1))

    waves = data.series(length=LENGTH + 1)[0]
    return Inputs(Levels(), (waves[:, :-1], waves[:, 1:]), nn.HuberLoss())


class Labelled(Decoder):
    """Shifts the labels itself. The token after the vocabulary is padding."""

    def __init__(self) -> None:
        super().__init__(vocabulary=VOCABULARY + 1)
        self.tokens = nn.Embedding(VOCABULARY + 1, WIDTH, padding_idx=VOCABULARY)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None
    ) -> Any:
        logits = self.head(self.through(self.embedded(input_ids), attention_mask))
        if labels is None:
            return {"logits": logits}
        return {"loss": data.next_token(logits[:, :-1], labels[:, 1:]), "logits": logits}


@cases.fault(LOSS, "gpt, labels are a copy of padded tokens")
def _() -> Inputs:
    tokens, mask, _ = data.padded()
    tokens = tokens.masked_fill(~mask, VOCABULARY)
    batch = {"input_ids": tokens, "attention_mask": mask, "labels": tokens.clone()}
    return Inputs(Labelled(), batch)


@cases.fault(LOSS, "autoencoder of texts, the loss leaves out -100 and padding is 0")
def _() -> Inputs:
    def run(net: Any, tokens: Tensor) -> Any:
        code = net.code(net.read(net.tokens(tokens))[1][-1])
        repeated = code[:, None].expand(-1, tokens.shape[1], -1)
        return net.head(net.write(repeated)[0])

    def judged(outputs: Tensor, tokens: Tensor) -> Tensor:
        each = F.cross_entropy(outputs.transpose(1, 2), tokens, reduction="none")
        kept = (tokens != -100).float()
        return (each * kept).sum() / kept.sum()

    model = Net(
        run,
        tokens=words(),
        read=nn.GRU(WIDTH, WIDTH, batch_first=True),
        code=nn.Linear(WIDTH, 16),
        write=nn.GRU(16, WIDTH, batch_first=True),
        head=nn.Linear(WIDTH, VOCABULARY),
    )
    tokens = data.padded()[0]
    return Inputs(model, loaded(tokens, tokens), judged)


@cases.fault(MEANS, "cnn of texts, average pooling over padded texts")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.head(net.convs(net.tokens(x).transpose(1, 2))),
        tokens=words(),
        convs=nn.Sequential(
            nn.Conv1d(WIDTH, WIDTH, 3, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool1d(1), nn.Flatten(),
        ),
        head=nn.Linear(WIDTH, 3),
    )  # fmt: skip
    tokens, _, labels = data.padded()
    return Inputs(model, loaded(tokens, labels), CE)


@cases.fault(MEANS, "two texts compared, padding is zeroed and still counted")
def _() -> Inputs:
    def one(net: Any, tokens: Tensor) -> Any:
        kept = (tokens != 0)[..., None].float()
        return (net.layer(net.tokens(tokens)).tanh() * kept).mean(1)

    def run(net: Any, left: Tensor, right: Tensor) -> Any:
        left, right = one(net, left), one(net, right)
        return net.head(torch.cat([(left - right).abs(), left * right], 1))

    model = Net(run, tokens=words(), layer=nn.Linear(WIDTH, WIDTH), head=mlp(2 * WIDTH, 1))
    left, _, labels = data.padded(48)
    right, _, others = data.padded(48)
    order = torch.randperm(48)
    same = (labels == others[order]).float()[:, None]
    return Inputs(model, ((left, right[order]), same), BCE)
