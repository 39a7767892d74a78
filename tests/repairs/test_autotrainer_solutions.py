"""AutoTrainer's solutions and their schedule, against cases written from the paper alone."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn, optim

import sickbay
from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies.base import Remedy
from sickbay.remedies.by_problem import choose
from sickbay.remedies.published.autotrainer import SOLUTIONS
from sickbay.repairs.data import Data
from sickbay.repairs.fit import with_data
from sickbay.repairs.journal import Journal
from sickbay.repairs.run import Progress, Run, Update
from sickbay.repairs.run_settings import RunSettings
from sickbay.repairs.search import Search
from sickbay.surgery import output_activation
from sickbay.vitals import Setup
from tests.problems.published.autotrainer_cases import CASES, Case, chosen
from tests.problems.published.test_autotrainer_cases import LOSSES, NAMES

KINDS = {
    "insert_normalisation": "S1", "replace_activation": "S2", "fit_output_to_task": "S2",
    "clip_values": "S3", "initialise_again": "S4", "set_batch_size": "S5",
    "set_learning_rate": "S6", "change_optimizer": "S7", "use_another_optimizer": "S7",
    "change_loss": "S8", "normalise_data": "S9",
}  # fmt: skip
OPTIMIZERS: dict[str, Callable[..., optim.Optimizer]] = {
    "sgd": optim.SGD, "adam": optim.Adam, "rmsprop": optim.RMSprop, "nadam": optim.NAdam,
    "adamax": optim.Adamax, "adagrad": optim.Adagrad, "adadelta": optim.Adadelta,
}  # fmt: skip
OUTPUTS = {"relu": nn.ReLU(), "sigmoid": nn.Sigmoid(), "softmax": nn.Softmax(-1)}
MODULES = {"bce_logits": nn.BCEWithLogitsLoss(), "cross_entropy": nn.CrossEntropyLoss()}


def solution(remedy: Remedy) -> str:
    return KINDS[remedy.name()]


def recipe_of(state: dict[str, Any]) -> Recipe:
    """Return a recipe in the state of a case."""
    width = 3 if state.get("task") in ("multiclass", "multilabel") else 1
    hidden: list[nn.Module] = []
    for _ in range(state.get("hidden_activations", 1)):
        hidden += [nn.Linear(4, 4), nn.Sigmoid()]
    output = state.get("output_activation", "linear")
    last = [OUTPUTS[output]] if output in OUTPUTS else []
    model = nn.Sequential(*hidden, nn.Linear(4, width), *last)
    settings = {"lr": state.get("learning_rate", 0.1)}
    if "momentum" in state:
        settings["momentum"] = state["momentum"]
    optimizer = OPTIMIZERS[state.get("optimizer", "sgd")](model.parameters(), **settings)
    loss = LOSSES.get(name := state.get("loss_function", "mse"), name).replace("cce", "")
    return Recipe(
        model,
        MODULES.get(loss, nn.MSELoss()),
        optimizer,
        batch_size=state.get("batch_size", 32),
        example=(torch.randn(8, 4),),
        setup=Setup(task=state.get("task", ""), loss=loss, output=output, output_shape=(8, width)),
    )


def apply(case: Case, before: Recipe) -> tuple[Remedy, Recipe] | None:
    """Return the first try of a solution that changes the state, and the new recipe."""
    problem = NAMES[case["problem"]]
    for remedy in SOLUTIONS[problem]:
        if solution(remedy) == case["solution"]:
            changed = remedy.prescribe(Finding(problem=problem, step=0), before)
            if changed is not None:
                return remedy, changed
    return None


def facts(remedy: Remedy, before: Recipe, after: Recipe) -> dict[str, Any]:
    """Return what a recipe has become, in the words of the cases."""
    settings: Any = vars(remedy)
    group = after.optimizer.param_groups[0]
    names = {kind: name for name, kind in OPTIMIZERS.items()}
    norms = sum(isinstance(each, nn.BatchNorm1d) for each in after.model.modules())
    loss = str(getattr(after.loss, "loss", after.loss)).partition("(")[0]
    told = {"CrossEntropyLoss": "cross_entropy_with_logits", "BCEWithLogitsLoss": "bce_with_logits"}
    loss = told.get(loss, "mse")
    if before.setup.output in ("sigmoid", "softmax"):
        # The activation goes into the loss, which is the same function.
        loss = {"cross_entropy_with_logits": "cce", "bce_with_logits": "bce"}.get(loss, loss)
    return {
        "batch_size": after.batch_size,
        "learning_rate": after.lr,
        "optimizer": names[type(after.optimizer)],
        "momentum_if_sgd": group.get("momentum", 0.9),
        "activation": settings.get("to"),
        "initializer": {"selu": "lecun_normal", "relu": "he_uniform"}.get(settings.get("to"))
        or settings.get("scheme"),
        "output_activation": output_activation(after.model, after.example),
        "loss_function": loss,
        "batch_norm_layers": norms,
    }


SOLVED = [case for case in chosen("solutions") if case["solution"] not in ("S3", "S9")]


@pytest.mark.parametrize("case", SOLVED, ids=lambda case: case["id"])
def test_a_solution_makes_the_published_change(case: Case) -> None:
    torch.manual_seed(0)
    state = dict(case["state"])
    if case["problem"] == "VG" and case["attempt"] == 2:
        remedy = [each for each in SOLUTIONS[NAMES["VG"]] if solution(each) == "S2"][1]
        before = recipe_of(state)
        made = remedy.prescribe(Finding(problem=NAMES["VG"], step=0), before)
        applied = None if made is None else (remedy, made)
    else:
        before = recipe_of(state)
        applied = apply(case, before)
    if case["change"] is None:
        assert applied is None
        return
    assert applied is not None
    now = facts(applied[0], before, applied[1])
    for name, right in case["change"].items():
        wanted = right if isinstance(right, list) else [right]
        if isinstance(now[name], float):
            assert any(now[name] == pytest.approx(each) for each in wanted), case["why"]
        else:
            assert now[name] in wanted, case["why"]


def test_gradients_are_clipped_by_value() -> None:
    (case,) = (case for case in chosen("solutions") if case["solution"] == "S3")
    applied = apply(case, recipe_of({}))
    assert applied is not None
    limit = applied[1].clip_value
    assert limit is not None
    clipped = torch.tensor(case["state"]["gradients"]).clamp(-limit, limit)
    assert clipped.tolist() == case["change"]["gradients"]


def test_data_is_cleaned_and_normalised() -> None:
    (case,) = (case for case in chosen("solutions") if case["solution"] == "S9")
    x = torch.tensor(case["state"]["inputs"])[:, None]
    model = nn.Sequential(nn.Linear(1, 1))
    recipe = Recipe(model, nn.MSELoss(), optim.SGD(model.parameters(), lr=0.1))
    data = Data.of((x, torch.zeros(5, 1)), (x, torch.zeros(5, 1)), batch_size=5)
    applied = apply(case, with_data(recipe, data))
    assert applied is not None
    changed = applied[1]
    assert changed.clean_data
    assert data.size == 5
    assert data.without_bad_samples().size == 5 - case["change"]["removed"]
    seen: list[torch.Tensor] = []
    changed.model.get_submodule("model").register_forward_pre_hook(
        lambda _, inputs: seen.append(inputs[0])
    )
    changed.model(x)
    assert float(seen[0].abs().max()) <= 10
    assert float(seen[0][:3].abs().max()) < 1.3  # mean 0 and deviation 1


@pytest.mark.parametrize("case", CASES["order"], ids=lambda case: case["problem"])
def test_the_solutions_are_the_papers_in_its_order_and_no_others(case: Case) -> None:
    listed = [solution(each) for each in SOLUTIONS[NAMES[case["problem"]]]]
    assert list(dict.fromkeys(listed)) == case["solutions"]
    assert set(SOLUTIONS) == set(NAMES.values())


class Scripted:
    """Trains nothing: each run finds the next problem of a script."""

    pausable = True

    def __init__(self, detected: list[str]) -> None:
        self._left = list(detected)
        self.parents: list[int | None] = []

    def start(self, run: Run, *_: object) -> None:
        self.parents.append(run.parent.number if run.parent else None)

    def advance(self, runs: list[Run], epochs: int, _stop: bool, on_epoch: Any) -> None:
        (run,) = runs
        found = [Finding(problem=NAMES[self._left.pop(0)], step=0)] if self._left else []
        scores = [{"val_accuracy": 0.1 * (run.number + 1)}]
        start = {"val_accuracy": 0.0}
        progress = Progress(
            epochs=epochs, score=0.1 * (run.number + 1), scores=scores, start=start,
            finding=found[0] if found else None, findings=found,
            setup=Setup(task="multiclass", loss="mse", output="linear", output_shape=(8, 3)),
        )  # fmt: skip
        on_epoch(run, Update(progress))

    def close(self, run: Run) -> None: ...


def repaired(
    case: Case, strategy: sickbay.AutoTrainer
) -> tuple[sickbay.Outcome, list[Remedy], Scripted]:
    torch.manual_seed(0)
    recipe = recipe_of({"task": "multiclass", "learning_rate": 0.3, "loss_function": "mse"})
    table = SOLUTIONS
    if "order" in case:
        given = [
            name
            for wanted in next(iter(case["order"].values()))
            for name, kind in KINDS.items()
            if kind == wanted
        ]
        table = choose(given, SOLUTIONS)
    settings = RunSettings(problems=(), treatable=(), epochs=3)
    executor: Any = Scripted(case["detected"])
    journal = Journal(None, False, dict, None, None)
    search = Search(recipe, settings, executor, journal, table, 1000.0)
    with search:
        outcome = strategy.run(search)
    applied = [run.remedy for run in search.runs if run.remedy is not None]
    return outcome, applied, executor


@pytest.mark.parametrize("case", CASES["schedule"], ids=lambda case: case["id"])
def test_the_schedule_of_the_paper(case: Case) -> None:
    outcome, applied, _ = repaired(case, sickbay.AutoTrainer(attempts=1))
    assert [solution(each) for each in applied] == case["applied"], case["why"]
    assert outcome.solved is (case["outcome"] != "failed")
    if case["outcome"] == "failed":  # the most accurate model seen, with the whole log
        assert outcome.score == max(each.score for each in outcome.attempts)
        assert len(outcome.attempts) == len(case["detected"])


def test_without_a_limit_a_solution_is_tried_in_every_published_way() -> None:
    case = {"detected": ["VG"] * 5}
    outcome, applied, _ = repaired(case, sickbay.AutoTrainer())
    assert [solution(each) for each in applied] == ["S2", "S2", "S1"]
    assert not outcome.solved


def test_a_new_problem_is_treated_where_the_old_one_was_solved() -> None:
    _, _, executor = repaired({"detected": ["EG", "SC", "SC"]}, sickbay.AutoTrainer(attempts=1))
    assert executor.parents == [None, 0, 1, 1]


def test_a_problem_that_returns_later_goes_on_with_its_other_solutions() -> None:
    case = {"detected": ["VG", "SC", "VG", "SC"]}
    outcome, applied, executor = repaired(case, sickbay.AutoTrainer(attempts=1))
    assert [solution(each) for each in applied] == ["S2", "S7", "S1", "S6"]
    assert executor.parents == [None, 0, 1, 2, 3]
    assert outcome.solved
