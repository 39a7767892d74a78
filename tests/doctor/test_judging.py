"""When a problem is checked, and how a doctor reports causes."""

import torch

import sickbay
from sickbay.doctor.causes import Causes
from sickbay.history import History
from sickbay.probe.guard import Guard
from sickbay.problems import Problem
from sickbay.vitals import Table, Vitals
from tests.doctor.loops import learn, watch
from tests.doctor.test_causes import Cut, Fever, Flu, Log, Scripted, patience
from tests.models import features, mlp

__all__ = ["patience"]  # a fixture for all tests here


class OfWeights(Scripted):
    reads = ("weight",)


class OfSteps(Scripted):
    reads = ("step",)


class OfEpochs(Scripted):
    reads = ("epoch", "gradient")


def test_a_problem_is_asked_when_something_it_reads_is_new() -> None:
    asked = [OfWeights("." * 9), OfSteps("." * 9), OfEpochs("." * 9), Scripted("." * 9)]
    causes, made = Causes(asked, Guard(Log().report)), History(loss=[1.0])

    def judged() -> list[int]:
        before = [problem.asked for problem in asked]
        causes.judge(made)
        return [problem.asked - count for problem, count in zip(asked, before, strict=True)]

    assert judged() == [0, 1, 1, 1]  # the first epoch is new too
    assert judged() == [0, 0, 0, 0]
    made.append(Vitals(step=1, scalars={"loss": 1.0}))
    assert judged() == [0, 1, 0, 1]
    made.append(Vitals(step=2, tables=[Table.of("weight", 2, {})]))
    assert judged() == [1, 1, 0, 1]
    made.append(Vitals(step=3, tables=[Table.of("gradient", 3, {})]))
    assert judged() == [0, 1, 1, 1]
    made.end_epoch()
    assert judged() == [0, 0, 1, 1]


def test_absence_counts_only_when_asked() -> None:
    causes, made = Causes([OfWeights("x" + "." * 9)], Guard(Log().report)), History()
    gone = []
    for step in range(12):
        tables = [Table.of("weight", step, {})] if step % 2 == 0 else []
        made.append(Vitals(step=step, tables=tables))
        gone += [step] * len(causes.judge(made).gone)
    assert gone == [10]


def trained(*problems: Problem, steps: int) -> sickbay.Doctor:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    doctor = watch(model, optimizer, problems=problems)
    for _ in range(steps):
        learn(model, optimizer, features())
        doctor.step(1.0)
    return doctor


def test_through_a_doctor_several_causes_are_one_event() -> None:
    doctor = trained(Flu("xxx"), Cut("xxx"), Fever("..x"), steps=3)
    assert [finding.problem for finding in doctor.findings] == ["flu", "cut"]
    assert [(event.kind, event.step, event.text) for event in doctor.events] == [
        ("finding", 0, "step 0  flu  seen"),
        ("finding", 0, "step 0  cut  seen"),
        ("combined", 0, "2 at once: flu, cut"),
        ("consequence", 2, "step 2  fever  seen  (a consequence of flu)"),
    ]


def test_through_a_doctor_one_cause_is_no_combination() -> None:
    doctor = trained(Flu("x"), Fever("x"), steps=1)
    (finding,) = doctor.findings
    assert finding.consequences == ("fever",)
    assert [(event.kind, event.text) for event in doctor.events] == [
        ("finding", "step 0  flu  seen  (explains fever)")
    ]


def test_problems_found_in_one_window_are_one_event_even_if_one_is_gone() -> None:
    gap = "." * 30
    doctor = trained(Flu("x" + gap), Cut(gap + "x"), steps=31)
    assert [(event.kind, event.step) for event in doctor.events] == [
        ("finding", 0),
        ("gone", 5),
        ("finding", 30),
        ("combined", 30),
    ]
    assert doctor.events[-1].text == "2 at once: flu, cut"


def test_problems_further_apart_than_a_window_are_not() -> None:
    gap = "." * 50
    doctor = trained(Flu("x" + gap), Cut("." + gap[1:] + "x"), steps=51)
    assert [event.kind for event in doctor.events] == ["finding", "gone", "finding"]


def test_a_problem_that_lasts_is_still_there_after_the_window() -> None:
    doctor = trained(Flu("x" * 60), Cut("." * 59 + "x"), steps=60)
    assert [(event.kind, event.step) for event in doctor.events] == [
        ("finding", 0),
        ("finding", 59),
        ("combined", 59),
    ]
