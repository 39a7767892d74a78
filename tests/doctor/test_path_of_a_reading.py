"""The files that a reading passes are those that the design lists."""

import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

import sickbay

SOURCE = Path(sickbay.__file__).parent
DESIGN = (Path(__file__).parents[2] / "docs" / "design.md").read_text(encoding="utf-8")


def listed() -> set[str]:
    """Return the files in the table of the design."""
    _, _, after = DESIGN.partition("| what for | files |")
    table, _, _ = after.partition("\n\n")
    return set(re.findall(r"`([a-z_/]+\.py)`", table))


def passed() -> set[str]:
    """Return the files that run between backward and the end of `doctor.step`."""
    torch.manual_seed(0)
    layers = [layer for _ in range(8) for layer in (nn.Linear(8, 8), nn.Sigmoid())]
    model = nn.Sequential(*layers, nn.Linear(8, 2))  # its gradients vanish
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = sickbay.watch(
        model, optimizer, problems=["vanishing_gradient"], every={"gradient": 1}, activations=False
    )
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and SOURCE in (path := Path(frame.f_code.co_filename)).parents:
            found.add(path.relative_to(SOURCE).as_posix())

    x, y = torch.randn(64, 8), torch.randint(2, (64,))
    for step in range(2):  # the first step also learns about the model; the third would report
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        before = sys.getprofile()
        sys.setprofile(note if step == 1 else before)
        try:
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            doctor.step(loss)
        finally:
            sys.setprofile(before)
    assert doctor.findings == []
    doctor.close()
    return found


def test_the_design_lists_every_file_that_a_reading_passes() -> None:
    assert passed() == listed()
    assert f"runs code in {len(listed())} files" in DESIGN
