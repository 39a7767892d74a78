from xml.etree.ElementTree import Element, fromstring

import pytest

from sickbay.findings import Severity
from sickbay.reports.checkup_report import Report, Result

REPORT = Report(
    [
        Result(test="runs_on_the_batch", outcome="passed", message="it runs", seconds=0.5),
        Result(test="modes_differ", outcome="failed", message="no <b>", severity="warning"),
        Result(
            test="sees_no_future",
            outcome="failed",
            message="3 places\x1b",
            layers=("a", "b"),
            remedy="mask it",
            seconds=0.25,
        ),
        Result(test="uses_positions", outcome="skipped", message="no attention"),
    ],
    model="Net",
    file="nets.py",
    line=7,
)


def parsed(fail_on: Severity | None) -> tuple[Element, dict[str, Element]]:
    """Return the suite, and its cases by name."""
    suite = fromstring(REPORT.as_junit(fail_on))[0]
    return suite, {case.attrib["name"]: case for case in suite}


@pytest.mark.parametrize(
    ("fail_on", "failures"),
    [
        pytest.param("critical", ["sees no future"], id="critical"),
        pytest.param("warning", ["modes differ", "sees no future"], id="warning"),
        pytest.param(None, [], id="never"),
    ],
)
def test_what_fails(fail_on: Severity | None, failures: list[str]) -> None:
    suite, cases = parsed(fail_on)
    assert [name for name, case in cases.items() if case.find("failure") is not None] == failures
    counts = {name: suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "4", "failures": str(len(failures)), "errors": "0", "skipped": "1"}
    assert suite.attrib["time"] == "0.750"


def test_a_case_says_what_the_report_says() -> None:
    _, cases = parsed("critical")
    failure = cases["sees no future"].find("failure")
    assert failure is not None
    assert failure.attrib == {"message": "3 places\\x1b", "type": "critical"}
    assert failure.text == "in  a, b\ntry  mask it"
    assert cases["sees no future"].attrib["file"] == "nets.py"
    ignored = cases["modes differ"].find("system-out")
    assert ignored is not None
    assert (ignored.text or "").startswith("warning: no <b>")
    skipped = cases["uses positions"].find("skipped")
    assert skipped is not None
    assert skipped.attrib["message"] == "no attention"
