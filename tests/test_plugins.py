from importlib.metadata import EntryPoint

import pytest

from sickbay import plugins, problems
from sickbay.problems import NonFinite, Problem


def brought(monkeypatch: pytest.MonkeyPatch, value: str) -> dict[str, type[Problem]]:
    point = EntryPoint("mine", value, "sickbay.problems")
    monkeypatch.setattr(plugins, "_declared", {"sickbay.problems": (point,)}.get)
    return plugins.classes_from_packages("sickbay.problems", Problem)  # type: ignore[type-abstract]


def test_classes_are_found_in_their_folder() -> None:
    found = plugins.classes_in(problems, Problem)  # type: ignore[type-abstract]
    assert found["non_finite"] is NonFinite
    assert "problem" not in found
    assert list(found) == sorted(found)


def test_another_package_brings_one(monkeypatch: pytest.MonkeyPatch) -> None:
    value = "sickbay.problems.non_finite:NonFinite"
    assert brought(monkeypatch, value) == {"non_finite": NonFinite}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        pytest.param("no_such_package:Mine", "ModuleNotFoundError", id="missing"),
        pytest.param(
            "sickbay.problems.shared.base:Problem", "not a concrete subclass", id="abstract"
        ),
        pytest.param("sickbay.findings:Finding", "not a concrete subclass", id="another-kind"),
    ],
)
def test_what_cannot_be_used_is_skipped(
    monkeypatch: pytest.MonkeyPatch, value: str, why: str
) -> None:
    with pytest.warns(RuntimeWarning, match=why):
        assert brought(monkeypatch, value) == {}
