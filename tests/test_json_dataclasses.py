import json
from dataclasses import asdict
from typing import Any

import pytest

from sickbay.errors import UsageError
from sickbay.findings import Finding
from sickbay.json_dataclasses import dataclass_from_json
from sickbay.vitals import Setup

GIVEN: dict[str, Any] = {"problem": "dead", "step": 3, "evidence": {"now": "nan", "was": 2}}


def test_a_dataclass_survives_json() -> None:
    finding = dataclass_from_json(
        Finding, {**GIVEN, "layers": ["a"], "severity": "info", "unheard": {}}
    )
    assert (finding.layers, finding.severity, finding.consequences) == (("a",), "info", ())
    assert repr(finding.evidence) == "{'now': nan, 'was': 2.0}"
    setup = Setup(shapes={"a": (2, 3)}, epochs=None, output_shape=(4,), bare=True)
    assert Setup.of(json.loads(json.dumps(asdict(setup)))) == setup


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"problem": 3}, "problem must be a string, got 3."),
        ({"step": 3.0}, "step must be a whole number, got 3.0."),
        ({"step": True}, "step must be a whole number, got True."),
        ({"step": 10**30}, "step must be a whole number below"),
        (
            {"severity": "loud"},
            "There is no severity 'loud'. Possible: 'critical'",
        ),
        ({"layers": "ab"}, "layers must be a list, got 'ab'."),
        ({"layers": [None]}, "layers must be a string, got None."),
        ({"evidence": []}, r"evidence must be a JSON object, got \[\]."),
        ({"evidence": {"a": "1"}}, "evidence must be a number, got '1'."),
        ({"evidence": {"a": 10**400}}, "evidence must be a number, got 1000"),
    ],
)
def test_a_field_of_another_type_is_refused(change: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        dataclass_from_json(Finding, {**GIVEN, **change})


def test_a_missing_field_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^step is missing\.$"):
        dataclass_from_json(Finding, {"problem": "dead"})
    with pytest.raises(UsageError, match="Finding must be a JSON object, got None"):
        dataclass_from_json(Finding, None)
