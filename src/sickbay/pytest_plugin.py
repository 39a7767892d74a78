"""The pytest fixture `checkup`. It imports torch only in a test that uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, get_args

import pytest

import sickbay
from sickbay.arguments import check_choice

if TYPE_CHECKING:
    from sickbay.checkups import Report

FailOn = Literal["warning", "critical"]


@pytest.fixture
def checkup() -> Callable[..., Report]:
    """Return `sickbay.checkup`, which fails the test if the model fails the checkup.

    It takes the same arguments, and `fail_on`: the lowest severity that fails the test, "critical"
    by default. The report is printed, so pytest shows it beside other output of the test.
    """

    def examine(*arguments: Any, fail_on: FailOn = "critical", **options: Any) -> Report:
        check_choice("fail_on", fail_on, get_args(FailOn))
        report: Report = sickbay.checkup(*arguments, **{"progress": False, **options})
        if report.fails(fail_on):
            pytest.fail(str(report), pytrace=False)
        print(report)
        return report

    return examine
