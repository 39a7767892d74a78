"""The strategy of the AutoTrainer paper: one solution at a time, from the initial weights."""

from sickbay.recipe import Recipe
from sickbay.remedies import Remedy
from sickbay.repairs.outcome import Outcome
from sickbay.repairs.run import Run
from sickbay.repairs.search import Search


def autotrainer(search: Search) -> Outcome:
    """Train. At a problem, apply its first solution and train again, until nothing is found.

    If the same problem returns, the solution has failed, and the next one is tried in its place.
    If another problem appears, the first one is solved, and the new one is treated from there.
    """
    run = search.begin()
    base, treated, waiting = run, "", list[tuple[Remedy, Recipe]]()
    while (finding := run.progress.finding) is not None and search.spent < search.budget:
        search.journal.show(finding)
        search.finish(run)
        if finding.problem != treated:
            base, treated = run, finding.problem
            waiting = search.prescribe(base, finding)
        following = next_run(search, base, waiting)
        if following is None:
            search.train_to_the_end()
            return search.failed()
        run = following
    if run.progress.healthy:
        search.finish(run, "healthy")
        return search.cured(run, solved=True)
    search.finish(run)
    return search.failed()


def next_run(search: Search, base: Run, waiting: list[tuple[Remedy, Recipe]]) -> Run | None:
    """Train with the next solution that does not fail. Return None if none is left."""
    while waiting:
        remedy, recipe = waiting.pop(0)
        run = search.start(recipe, base, base.progress.finding, remedy)
        search.advance([run], search.epochs_of(run))
        if not run.progress.failed:
            return run
        search.finish(run, f"failed: {run.progress.failed}")
    return None
