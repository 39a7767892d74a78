"""What both ways of looking for a cure share: the attempts so far, and the best of them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf

from sickbay.errors import SickbayError
from sickbay.findings import Finding
from sickbay.printable import error_message
from sickbay.recipe import Recipe
from sickbay.remedies import Remedy
from sickbay.remedies import odds as counted
from sickbay.repairs.crew import Crew
from sickbay.repairs.data import Data
from sickbay.repairs.journal import Journal
from sickbay.repairs.outcome import Attempt, Outcome
from sickbay.repairs.report import Report
from sickbay.repairs.scoring import key
from sickbay.repairs.trainee import Job, Remembered, Trainee, Weights
from sickbay.repairs.training import Terms


@dataclass(eq=False)
class Node:
    """An attempt and what is needed to go on from it."""

    attempt: Attempt
    recipe: Recipe
    trainee: Trainee
    remedy: Remedy | None = None
    reports: list[Report] = field(default_factory=lambda: [Report()])

    @property
    def report(self) -> Report:
        """Where it stands."""
        return self.reports[-1]

    @property
    def over(self) -> bool:
        """Whether it has ended for good."""
        return bool(self.attempt.result)

    def weights(self) -> tuple[Weights, Weights]:
        """Return the best weights, and the last healthy ones."""
        return self.trainee.weights()

    def let_go(self) -> None:
        """Give up what is large: the weights, and the recipe with its model."""
        if isinstance(self.trainee, Remembered) and "recipe" in vars(self):
            self.trainee.let_go()
            del self.recipe  # so that nobody goes on from it


class Search:
    """Starts attempts and keeps their book."""

    def __init__(
        self,
        recipe: Recipe,
        data: Data | None,
        terms: Terms,
        crew: Crew,
        journal: Journal,
        choices: Mapping[str, Sequence[Remedy]],
        budget: float,
    ) -> None:
        self.original, self.data, self.terms = recipe, data, terms
        self.crew, self.journal, self.choices = crew, journal, choices
        self.budget = budget
        self.nodes: list[Node] = []
        self._counts: list[tuple[str, Remedy, bool]] = []

    @property
    def spent(self) -> float:
        """Epochs that all attempts have taken."""
        return sum(node.report.epochs for node in self.nodes)

    @property
    def best(self) -> Node:
        """The attempt with the best score, the first of equals."""
        return max(self.nodes, key=lambda node: node.report.score)

    def affords(self, epochs: int = 1) -> bool:
        """Tell whether so many more are within the budget."""
        return self.spent + epochs <= self.budget

    def start(
        self,
        recipe: Recipe,
        parent: Node | None = None,
        finding: Finding | None = None,
        remedy: Remedy | None = None,
        weights: Weights | None = None,
    ) -> Node:
        """Begin an attempt."""
        number = len(self.nodes)
        attempt = Attempt(number)
        if parent is not None and finding is not None and remedy is not None:
            attempt = Attempt(
                number, parent.attempt.number, finding.problem, remedy.key, remedy.words
            )
        node = Node(attempt, recipe, self._trainee(attempt, recipe, weights), remedy)
        self.nodes.append(node)
        self._show(attempt, node.report)
        return node

    def _trainee(self, attempt: Attempt, recipe: Recipe, weights: Weights | None) -> Trainee:
        """Return an attempt as an earlier run has left it, or else a new one."""
        whole = self.terms.epochs + recipe.cooldown
        if (kept := self.journal.kept(attempt, recipe.model, whole)) is not None:
            return Remembered(*kept)
        job = Job(recipe, self.data, self.terms, weights, self.journal.folder(attempt))
        return self.crew.start(job, partial(self._tick, attempt))

    def advance(self, nodes: Sequence[Node], epochs: int) -> None:
        """Train some attempts on, and take down how they stand."""
        self._tidy()
        left = (self.budget - self.spent) / max(1, len(nodes))
        asked = min(epochs, max(1, int(left)))
        reports = self.crew.advance([node.trainee for node in nodes], asked)
        for node, report in zip(nodes, reports, strict=True):
            self.take(node, report)

    def take(self, node: Node, report: Report) -> None:
        """Take down how an attempt stands."""
        node.reports.append(report)
        self._show(node.attempt, report)

    def _tick(self, attempt: Attempt, report: Report) -> None:
        """Note that an attempt has had another epoch."""
        self._show(attempt, report)
        self._keep(self.nodes[attempt.number])

    def _keep(self, node: Node, *, now: bool = False) -> None:
        """Keep the best weights of an attempt that may be interrupted."""
        self.journal.keep_under_way(node.attempt, node.weights()[0], now=now)

    def _show(self, attempt: Attempt, report: Report) -> None:
        """Note how far an attempt is, and show how far all are."""
        attempt.epochs, attempt.score = report.epochs, report.score
        attempts = [node.attempt for node in self.nodes]
        done = sum(each.epochs for each in attempts)
        best = max((each.score for each in attempts), default=-inf)
        self.journal.bar.show(attempt.words, done, min(self.budget, done + self._to_come), best)

    @property
    def _to_come(self) -> float:
        """Epochs that the attempt that is the furthest still has to go, if it is not stopped."""
        whole = self.terms.epochs
        under_way = [node for node in self.nodes if not node.over]
        left = [whole + node.recipe.cooldown - node.attempt.epochs for node in under_way]
        return min(left, default=float(whole))

    def begin(self) -> Node:
        """Train the recipe as it was given; raise what that raises."""
        node = self.start(self.original)
        self.advance([node], self.whole(node))
        if node.report.failed:
            text = f"The model as given could not be trained: {node.report.failed}"
            raise SickbayError(text) from node.report.error
        return node

    def whole(self, node: Node) -> int:
        """Return the epochs of an attempt, those that it cools down in among them."""
        return self.terms.epochs + node.recipe.cooldown

    def is_whole(self, node: Node) -> bool:
        """Tell whether an attempt had all its epochs, or needed no more."""
        report = node.report
        told = bool(report.scores)  # a loop of one's own may tell of no epochs
        return self.terms.met(report.score) or not told or report.epochs >= self.terms.epochs

    def ill(self, node: Node) -> str:
        """Return what is wrong with an attempt."""
        found = node.report.finding
        return f"failed: {node.report.failed}" if found is None else found.problem

    def to_the_end(self) -> None:
        """Train the original recipe whatever is found, as far as the budget goes."""
        if not self.affords():
            return
        node = self.start(self.original)
        node.trainee.advance(min(self.whole(node), int(self.budget - self.spent)), heed=False)
        self.take(node, node.trainee.report())
        self.finish(node, "taken to its end")

    def finish(self, node: Node, result: str) -> None:
        """End an attempt, for good."""
        node.attempt.result = result
        best, healthy = node.weights()
        node.reports = [replace(each, error=None) for each in node.reports]  # it holds the batch
        if not (again := isinstance(node.trainee, Remembered)):
            self.journal.keep(node.attempt, node.reports[1:], best, healthy)
        self.journal.end(node.attempt, again=again)
        node.trainee.close()
        node.trainee = Remembered(node.reports[1:], best, healthy)  # the live one is let go
        self._tidy(node)

    def _tidy(self, *ended: Node) -> None:
        """Let go of attempts that are over, are not the best, and will not be gone on from.

        The one that has just ended may be the next to go on from, as may the parents of others.
        """
        over = [node for node in self.nodes if node.over]
        parents = {node.attempt.parent for node in self.nodes if not node.over or node in ended}
        best = max(over, key=lambda node: node.report.score, default=None)
        for node in over:
            if node is not best and node not in ended and node.attempt.number not in parents:
                node.let_go()

    def prescribe(self, node: Node, finding: Finding) -> list[tuple[Remedy, Recipe]]:
        """Return the remedies for what was found, as recipes; say why others cannot be had."""
        known = replace(node.recipe, setup=node.report.setup)
        if not known.example:
            known = replace(known, example=node.report.example)
        made: list[tuple[Remedy, Recipe]] = []
        for remedy in self.choices.get(finding.problem, ()):
            if not remedy.between_runs:
                continue
            try:
                recipe = remedy.prescribe(finding, known)
            except Exception as reason:  # declined, or an optimizer that cannot be made anew
                self.journal.declined(remedy, error_message(reason))
                continue
            if recipe is not None and self._can_carry_out(known, recipe):
                made.append((remedy, recipe))
        return made

    def _can_carry_out(self, before: Recipe, after: Recipe) -> bool:
        """Tell whether a change can be made: a DataLoader's batches may be as they are."""
        fixed = self.data is not None and self.data.fixed_batches
        return not fixed or before.batch_size == after.batch_size

    def cured(self, node: Node, solved: bool) -> Outcome:
        """Return what came of it: an attempt that ended well."""
        return self._outcome(node, solved and (self.terms.target is None or self._met(node)))

    def failed(self) -> Outcome:
        """Return what is left where nothing has helped: the best model seen, or the one given."""
        start = key(self.nodes[0].report.start)
        if start > self.best.report.score:
            given = copy.deepcopy(self.original.model)
            told = self._outcome(self.best, solved=False)
            return replace(told, model=given, recipe=self.original, score=start, history=())
        return self._outcome(self.best, self._met(self.best))

    def _met(self, node: Node) -> bool:
        return self.terms.met(node.report.score)

    def _outcome(self, best: Node, solved: bool) -> Outcome:
        model = copy.deepcopy(best.recipe.model)
        model.load_state_dict(best.weights()[0])
        recipe, usual = best.recipe, self.original.cooldown
        if recipe.cooldown != usual and best.report.epochs <= self.terms.epochs:
            recipe = replace(recipe, cooldown=usual)  # it did not come to that
        return Outcome(
            model=model,
            recipe=recipe,
            original=self.original,
            solved=solved,
            score=best.report.score,
            before=self._before(),
            findings=[each for node in self.nodes for each in node.report.findings],
            attempts=[node.attempt for node in self.nodes],
            history=best.report.scores,
            chart=self.journal.path,
        )

    def _before(self) -> float:
        """Return the score of the plain training; of the untrained model if it ended at once."""
        report = self.nodes[0].report
        return report.score if report.scores or not report.start else key(report.start)

    def __enter__(self) -> Search:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for node in self.nodes:
            if kind is not None and not node.over:
                self._keep(node, now=True)
        self.close()

    def close(self) -> None:
        """Stop everything that is still in training."""
        for node in self.nodes:
            node.trainee.close()

    def note(self) -> None:
        """Add what remedies have done to the odds of this user."""
        for problem, remedy, worked in self._counts:
            counted.note(problem, remedy, worked)

    def count(self, node: Node, worked: bool) -> None:
        """Count what a remedy has done, for the odds; they change when all is over."""
        if node.remedy is not None:
            self._counts.append((node.attempt.problem, node.remedy, worked))
