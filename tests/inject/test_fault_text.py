import re
from typing import Any

import pytest
import torch
from torch.optim import SGD

from sickbay import UsageError, inject
from tests.inject.loops import Make, hooks_of, same, train
from tests.models import mlp


@pytest.mark.parametrize(
    "spec",
    [
        "scale_gradients*20@500+2000",
        "scale_gradients:2*1e-08@3,4+5",
        "nan_gradient@50",
        "nan_gradient:2=inf@1,2",
        "nan_weight:4=-inf@7+1",
        "nan_batch@0",
        "dead_layer:2@100",
        "raise_learning_rate*100@30",
        "scale_inputs*255@6",
        "freeze_layer:0@6",
        "shuffle_labels@3",
    ],
)
def test_a_fault_as_text_can_be_read_written_and_put_in(spec: str) -> None:
    fault = inject.parse(spec)
    assert str(fault) == spec
    assert inject.parse(str(fault)) == fault
    model = mlp()
    used = SGD(model.parameters(), lr=0.1)
    batches = [(torch.ones(2, 8), torch.arange(2))]
    with fault.into(model, used):
        assert (hooks_of(model, used) > 0) is (fault.name != "shuffle_labels")
    assert (fault.over(batches) is batches) is (fault.name != "shuffle_labels")


def test_a_fault_as_text_does_what_the_function_does() -> None:
    def by_text(spec: str) -> Make:
        return inject.parse(spec).into

    direct = train(
        lambda model, used: inject.scale_gradients(model, used, 20, at=[1, 2], every=4, layers="2")
    )
    assert same(train(by_text("scale_gradients:2*20@1,2+4")), direct)
    assert not same(train(by_text("scale_gradients:2*20@1,2")), direct)
    dead = train(lambda model, used: inject.dead_layer(model, used, layer="4", at=3))
    assert same(train(by_text("dead_layer:4@3")), dead)
    batches = inject.parse("shuffle_labels@1").over([(torch.ones(9), torch.arange(9))] * 2)
    assert [y.tolist() == list(range(9)) for _, y in batches] == [True, False]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("scale_gradient*20@500", "There is no fault 'scale_gradient'; did you mean"),
        ("", "There is no fault ''."),
        ("nan_gradient", "as in 'nan_gradient@500', got 'nan_gradient'."),
        ("nan_gradient@", "A fault must be NAME[:LAYER][*FACTOR][=VALUE]@STEP[,STEP...][+EVERY]"),
        ("nan_gradient@-3", "got 'nan_gradient@-3'."),
        ("nan_gradient@3 ", "got 'nan_gradient@3 '."),
        ("nan_gradient*2@3", "nan_gradient takes no *FACTOR, as in 'nan_gradient@500'"),
        ("scale_gradients@3", "scale_gradients needs *FACTOR, as in 'scale_gradients*20@500'"),
        ("scale_gradients*x@3", "FACTOR must be a number, got 'x' in 'scale_gradients*x@3'."),
        ("nan_weight=never@3", "VALUE must be a number, got 'never'"),
        ("dead_layer@3", "dead_layer needs :LAYER, as in 'dead_layer:encoder.0@500'"),
        ("dead_layer:2@3+4", "dead_layer takes no +EVERY"),
        ("freeze_layer:2@3,4", "freeze_layer lasts and takes one STEP"),
        (None, "A fault must be NAME[:LAYER]"),
        ("nan_gradient@" + "9" * 5000, "A fault must be NAME[:LAYER]"),
        ("scale_gradients*nan@3", "factor must be a finite number, got nan."),
        ("nan_weight=3@3", "value must be nan, inf or -inf, got 3.0."),
        ("shuffle_labels:2@3", "shuffle_labels takes no :LAYER"),
    ],
)  # fmt: skip
def test_invalid_text_says_what_is_possible(spec: Any, expected: str) -> None:
    with pytest.raises(UsageError, match=re.escape(expected)):
        inject.parse(spec)
