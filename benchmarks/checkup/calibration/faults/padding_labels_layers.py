"""Padding that counts, labels shifted twice or never, layers frozen or shared by mistake."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.checkup import data
from benchmarks.checkup.base_models import WIDTH, Attention, Block, Decoder, mlp
from benchmarks.checkup.calibration.sound.sequences import Translator
from benchmarks.checkup.case import CaseList, Inputs, Net
from benchmarks.checkup.data import LENGTH, VOCABULARY

cases = CaseList()
FROZEN, SHIFTED = "frozen_embeddings_were_trained", "labels_are_shifted_once"
SEPARATE = "listed_layers_are_separate"
LOSS, MEANS = "loss_leaves_out_padding", "means_leave_out_padding"
CE, MSE, BCE = nn.CrossEntropyLoss(), nn.MSELoss(), nn.BCEWithLogitsLoss()


def words() -> nn.Embedding:
    return nn.Embedding(VOCABULARY, WIDTH, padding_idx=0)


@cases.fault(FROZEN, "gru, word vectors are frozen and were never loaded")
def _() -> Inputs:
    class Reads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(VOCABULARY, WIDTH)
            self.tokens.weight.requires_grad = False
            self.rnn, self.head = nn.GRU(WIDTH, WIDTH, batch_first=True), nn.Linear(WIDTH, 3)

        def forward(self, tokens: Tensor) -> Any:
            return self.head(self.rnn(self.tokens(tokens))[1][-1])

    return Inputs(Reads(), data.text(), CE)


@cases.fault(FROZEN, "gpt, tokens are frozen as for fine-tuning")
def _() -> Inputs:
    model = Decoder()
    model.tokens.requires_grad_(False)
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=3e-4)
    return Inputs(model, data.language(), data.next_token, optimizer)


@cases.fault(FROZEN, "ratings, from_pretrained of random vectors freezes them")
def _() -> Inputs:
    class Ratings(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            start: Any = nn.Embedding.from_pretrained
            self.users, self.films = start(torch.randn(30, 16)), start(torch.randn(50, 16))
            self.body = mlp(32, 1)

        def forward(self, users: Tensor, films: Tensor) -> Any:
            return self.body(torch.cat([self.users(users), self.films(films)], 1))

    users, films = torch.randint(30, (64,)), torch.randint(50, (64,))
    ratings = torch.randn(30)[users] + torch.randn(50)[films]
    return Inputs(Ratings(), (users, films, ratings[:, None]), MSE)


@cases.fault(SHIFTED, "gpt, shifted in the data and again in the loss")
def _() -> Inputs:
    def judged(outputs: Tensor, targets: Tensor) -> Tensor:
        return data.next_token(outputs[:, :-1], targets[:, 1:])

    return Inputs(Decoder(), data.language(), judged)


@cases.fault(SHIFTED, "lstm, shifted in the data and again in the model")
def _() -> Inputs:
    class Language(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(VOCABULARY, WIDTH)
            self.rnn = nn.LSTM(WIDTH, WIDTH, batch_first=True)
            self.head = nn.Linear(WIDTH, VOCABULARY)

        def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> Any:
            logits = self.head(self.rnn(self.tokens(input_ids))[0])
            if labels is None:
                return {"logits": logits}
            return {"loss": data.next_token(logits[:, :-1], labels[:, 1:]), "logits": logits}

    tokens, following = data.language()
    return Inputs(Language(), {"input_ids": tokens, "labels": following})


@cases.fault(SHIFTED, "seq2seq, the decoder gets the labels themselves")
def _() -> Inputs:
    source, _ = data.text()
    target = data.text(length=8)[0]
    return Inputs(Translator(), (source, target, target), data.next_token)


@cases.fault(SEPARATE, "gpt, a block times four")
def _() -> Inputs:
    model = Decoder()
    model.blocks = nn.ModuleList([Block(Attention(causal=True))] * 4)
    return Inputs(model, data.language(), data.next_token)


@cases.fault(SEPARATE, "cnn, a convolution and its ReLU times three")
def _() -> Inputs:
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(),
        *[nn.Conv2d(8, 8, 3, padding=1), nn.ReLU()] * 3,
        nn.Flatten(), nn.Linear(8 * 144, 4),
    )  # fmt: skip
    return Inputs(model, data.images(), CE)


@cases.fault(SEPARATE, "mlp, a layer made before the loop that appends it")
def _() -> Inputs:
    class Deep(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(8, 32), nn.Linear(32, 1)
            self.hidden = nn.ModuleList()
            layer = nn.Linear(32, 32)
            for _ in range(3):
                self.hidden.append(layer)

        def forward(self, x: Tensor) -> Any:
            x = self.first(x).relu()
            for each in self.hidden:
                x = each(x).relu()
            return self.last(x)

    return Inputs(Deep(), data.curve(), MSE)


@cases.fault(LOSS, "gpt, padded texts without ignore_index")
def _() -> Inputs:
    model = Decoder()
    model.tokens = words()
    tokens = data.padded(length=LENGTH + 1)[0]
    return Inputs(model, (tokens[:, :-1], tokens[:, 1:]), data.next_token)


@cases.fault(LOSS, "lstm both ways, padding has a label of its own")
def _() -> Inputs:
    def judged(outputs: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(outputs.transpose(1, 2), labels)

    model = Net(
        lambda net, x: net.head(net.rnn(net.tokens(x))[0]),
        tokens=words(),
        rnn=nn.LSTM(WIDTH, 16, batch_first=True, bidirectional=True),
        head=nn.Linear(32, 5),
    )
    tokens, mask, _ = data.padded()
    return Inputs(model, (tokens, (1 + tokens % 4) * mask), judged)


class Likely(Translator):
    """Returns log-probabilities. The token after the vocabulary is padding."""

    def __init__(self) -> None:
        super().__init__()
        self.target = nn.Embedding(VOCABULARY + 1, WIDTH, padding_idx=VOCABULARY)
        self.head = nn.Linear(2 * WIDTH, VOCABULARY + 1)

    def forward(self, source: Tensor, target: Tensor) -> Any:
        return super().forward(source, target).log_softmax(-1)


@cases.fault(LOSS, "seq2seq, NLL over padded translations")
def _() -> Inputs:
    tokens, mask, _ = data.padded(length=9)
    tokens = tokens.masked_fill(~mask, VOCABULARY)
    return Inputs(
        Likely(),
        (data.text()[0], tokens[:, :-1], tokens[:, 1:]),
        lambda outputs, targets: F.nll_loss(outputs.flatten(0, 1), targets.flatten()),
    )


@cases.fault(MEANS, "bag of words, the mean of padded texts")
def _() -> Inputs:
    model = Net(lambda net, x: net.body(net.tokens(x).mean(1)), tokens=words(), body=mlp(WIDTH, 3))
    tokens, _, labels = data.padded()
    return Inputs(model, (tokens, labels), CE)


@cases.fault(MEANS, "lstm over packed texts, the mean once they are padded again")
def _() -> Inputs:
    def run(net: Any, tokens: Tensor, lengths: Tensor) -> Any:
        packed = pack_padded_sequence(
            net.tokens(tokens), lengths, batch_first=True, enforce_sorted=False
        )
        states = pad_packed_sequence(net.rnn(packed)[0], batch_first=True)[0]
        return net.head(torch.mean(states, dim=1))

    model = Net(
        run,
        tokens=words(),
        rnn=nn.LSTM(WIDTH, 16, batch_first=True, bidirectional=True),
        head=nn.Linear(32, 1),
    )
    tokens, mask, labels = data.padded()
    return Inputs(model, (tokens, mask.sum(1), (labels[:, None] > 0).float()), BCE)


@cases.fault(MEANS, "torch's encoder, attention is masked and the mean is not")
def _() -> Inputs:
    class Scores(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = words(), nn.Embedding(64, WIDTH)
            layer = nn.TransformerEncoderLayer(WIDTH, 4, 64, dropout=0.1, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = nn.Linear(WIDTH, 1)

        def forward(self, tokens: Tensor) -> Any:
            x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
            x = self.encoder(x, src_key_padding_mask=tokens == 0)
            return self.head(x.mean(dim=1))

    tokens, _, labels = data.padded()
    return Inputs(Scores(), (tokens, labels[:, None] - 1.0), MSE)
