"""The four texts of the paper, as bytes, split into training and validation."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from torch import Tensor

SHAKESPEARE, ENWIK8 = "tinyshakespeare.txt", "enwik8_first4MB.txt.gz"
BOOKS = ("gutenberg_moby_dick.txt.gz", "gutenberg_war_and_peace.txt.gz")
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
# What a reader of Wikipedia does not see, in the order in which it is removed.
MARKUP = (
    (r"<(ref|math|gallery|timeline)[^>]*>.*?</\1>", " "),
    (r"<[^>]*>", " "),
    (r"&(?:lt|gt|quot|amp|nbsp);?", " "),
    (r"\{\{[^{}]*\}\}|\{\|.*?\|\}", " "),
    (r"\[\[(?:image|category|[a-z-]{2,12}):[^\]]*\]\]", " "),
    (r"\[\[[^\]|]*\|([^\]]*)\]\]", r"\1"),
    (r"\[?https?:[^\s\]]*", " "),
)


def cleaned(page: str) -> str:
    """Return a text of Wikipedia in lower-case letters and single spaces, digits spelled out.

    >>> cleaned("<text>It has [[town|towns]] in '''1962'''.{{cite|x}}</text>")
    'it has towns in one nine six two'
    """
    text = " ".join(re.findall(r"<text[^>]*>(.*?)</text>", page, re.DOTALL)).lower()
    text = re.sub("&lt;", "<", text)
    text = re.sub("&gt;", ">", text)
    for pattern, instead in MARKUP:
        text = re.sub(pattern, instead, text, flags=re.DOTALL)
    text = re.sub("[0-9]", lambda digit: f" {WORDS[int(digit[0])]} ", text)
    return re.sub(r"[^a-z]+", " ", text).strip()


def read(folder: Path, *names: str) -> str:
    """Return the texts of some files, one after the other."""
    return "".join(
        gzip.decompress(data).decode("utf-8", "replace") if name.endswith(".gz") else data.decode()
        for name in names
        for data in [(folder / name).read_bytes()]
    )


TEXTS: Mapping[str, Callable[[Path], str]] = {
    "shakespeare_char": lambda folder: read(folder, SHAKESPEARE),
    "enwik8": lambda folder: read(folder, ENWIK8),
    "text8": lambda folder: cleaned(read(folder, ENWIK8)),
    "gutenberg": lambda folder: read(folder, *BOOKS),
}


def load(name: str, folder: Path) -> tuple[Tensor, Tensor]:
    """Return the bytes of a text: the first nine tenths for training, the rest for validation."""
    data = torch.frombuffer(bytearray(TEXTS[name](folder).encode()), dtype=torch.uint8).long()
    cut = 9 * len(data) // 10
    return data[:cut], data[cut:]
