"""A late meter that runs on the CPU."""

from typing import Any

import pytest

SHORT = 32  # values sampled from each tensor here; the interpreter is slow


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the module of the late meter, with a short sample."""
    triton: Any = pytest.importorskip("triton")
    from sickbay.probe.gpu import late_meter, memory_pass, merge_kernel

    monkeypatch.setattr(merge_kernel, "SAMPLE_", triton.language.constexpr(SHORT))
    monkeypatch.setattr(merge_kernel, "KEPT_", triton.language.constexpr(SHORT))
    monkeypatch.setattr(memory_pass, "SAMPLE", SHORT)
    monkeypatch.setattr(memory_pass, "KEPT", SHORT)
    memory_pass.jitter.cache_clear()
    return late_meter
