import pytest

from sickbay.probe.guard import Guard


class Part:
    def __init__(self) -> None:
        self.calls = 0

    def work(self, number: int, *, plus: int = 0) -> int:
        self.calls += 1
        return number + plus

    def fail(self) -> int:
        self.calls += 1
        raise ValueError("no")


def guard() -> tuple[Guard, list[tuple[str, str]]]:
    reports: list[tuple[str, str]] = []
    return Guard(lambda part, error: reports.append((part, repr(error)))), reports


def test_what_works_returns_its_result() -> None:
    made, reports = guard()
    assert made.run("probe", Part().work, 1, plus=2) == 3
    assert reports == []
    assert made.off == set()


def test_what_fails_is_reported_once_and_off_for_good() -> None:
    made, reports = guard()
    part = Part()
    assert [made.run("probe", part.fail) for _ in range(3)] == [None, None, None]
    assert made.run("probe", part.work, 1) is None
    assert part.calls == 1
    assert reports == [("probe", "ValueError('no')")]
    assert made.off == {"probe"}


def test_the_other_parts_go_on() -> None:
    made, reports = guard()
    part = Part()
    made.run("probe", part.fail)
    assert made.run("chart", part.work, 1) == 1
    made.run("printing", part.fail)
    assert [name for name, _ in reports] == ["probe", "printing"]
    assert made.run("chart", part.work, 1) == 1


def test_a_result_of_none_is_no_failure() -> None:
    made, _ = guard()
    results: list[int] = []
    assert made.run("probe", results.append, 1) is None
    made.run("probe", results.append, 2)
    assert results == [1, 2]


def test_a_report_that_fails_does_not_reach_the_loop() -> None:
    def report(part: str, error: Exception) -> None:
        raise OSError(part) from error

    made = Guard(report)
    assert made.run("probe", Part().fail) is None
    assert made.run("chart", Part().fail) is None
    assert made.run("printing", Part().work, 1) == 1
    assert {"probe", "chart"} <= made.off


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_goes_through(kind: type[BaseException]) -> None:
    def stop() -> None:
        raise kind

    made, reports = guard()
    with pytest.raises(kind):
        made.run("probe", stop)
    assert (made.off, reports) == (set(), [])


def test_failing_inside_another_part_switches_off_the_inner_one_only() -> None:
    made, reports = guard()
    part = Part()

    def outer() -> int | None:
        made.run("chart", part.fail)
        return 5

    assert made.run("doctor", outer) == 5
    assert made.off == {"chart"}
    assert [name for name, _ in reports] == ["chart"]
