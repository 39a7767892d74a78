"""What remedies make of the recipe of a run."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from sickbay.errors import Needless
from sickbay.findings import Finding
from sickbay.printable import error_message
from sickbay.recipe import Recipe
from sickbay.remedies import Remedy
from sickbay.repairs.run import Run


def prescribed(
    remedies: Iterable[Remedy], finding: Finding, run: Run, say: Callable[[str], None]
) -> Iterator[tuple[Remedy, Recipe]]:
    """Yield each remedy that has something to change, with the recipe it makes.

    A remedy that fails is reported with `say`.
    """
    recipe = replace(run.recipe, setup=run.progress.setup)
    if not recipe.example:
        recipe = replace(recipe, example=run.progress.example)
    for remedy in remedies:
        if not remedy.between_runs:
            continue
        try:
            changed = remedy.prescribe(finding, recipe)
        except Exception as reason:  # it declines, or cannot make the optimizer again
            if not isinstance(reason, Needless):
                say(f"cannot {remedy}: {error_message(reason)}")
            continue
        if changed is not None:
            yield remedy, changed
