"""What every remedy is, and all that most of them import."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass as dataclass
from functools import wraps
from inspect import getdoc
from typing import Any, ClassVar, Literal, TypeAlias

from sickbay.arguments import bad_argument
from sickbay.findings import Finding as Finding
from sickbay.recipe import Recipe as Recipe
from sickbay.thresholds import Tunable, settings
from sickbay.thresholds import choice as choice
from sickbay.thresholds import threshold as threshold

Safety = Literal["live", "retrain", "advice"]


class Remedy(Tunable, ABC):
    """A change to a recipe that may cure a problem.

    Attributes:
        treats: The problems it is for, by name. Empty for remedies that `by_problem` lists, with
            their settings and in their order.
        safety: `live` if a running loop may apply it, `retrain` if only a new run may, `advice` if
            only a person can.
        keeps_weights: Whether the weights learnt so far are still useful afterwards.
        specific: Whether it changes only what the recipe shows to be wrong, so that it goes before
            others until its odds are known.
        continues: Whether it only goes on with the same training, so that it shows what it is worth
            at its end and not in a short run.
        between_runs: Whether a new run may start with it; some remedies only help a running one.
        code_template: The remedy as code, with its settings as `{names}`; other braces are doubled.
        words_template: The remedy in words, with its settings in the same way. By default the
            docstring's first line.
    """

    treats: ClassVar[tuple[str, ...]] = ()
    safety: ClassVar[Safety] = "retrain"
    keeps_weights: ClassVar[bool] = False
    specific: ClassVar[bool] = False
    continues: ClassVar[bool] = False
    between_runs: ClassVar[bool] = True
    code_template: ClassVar[str] = ""
    words_template: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Check the arguments of every `prescribe`, whoever has written it."""
        super().__init_subclass__(**kwargs)
        if "prescribe" in vars(cls):
            setattr(cls, "prescribe", _checked(cls.prescribe))  # noqa: B010 - for mypy

    @abstractmethod
    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:
        """Return the recipe with the remedy applied, or None if it does not apply.

        Pure: the recipe and its model stay as they are.
        """

    def applies(self, recipe: Recipe) -> bool:
        """Return whether the recipe leaves anything to do, without trying it out.

        A problem that no remedy applies to stops no run.
        """
        return True

    @property
    def code(self) -> str:
        """The remedy as code, if that does not depend on the recipe."""
        return self.code_template.format(**vars(self))

    @property
    def key(self) -> str:
        """Its name and settings, such as `replace_activation to=selu`."""
        chosen = [f"{each.name}={getattr(self, each.name)}" for each in settings(type(self))]
        return " ".join([self.name(), *chosen])

    @property
    def words(self) -> str:
        """What it does, in a few words."""
        if self.words_template:
            return self.words_template.format(**vars(self))
        first = (getdoc(type(self)) or "").partition("\n")[0].rstrip(".")
        return first[:1].lower() + first[1:]

    def __str__(self) -> str:
        return self.words


Prescribe: TypeAlias = Callable[[Remedy, Finding, Recipe], Recipe | None]


def _checked(prescribe: Prescribe) -> Prescribe:
    """Return a `prescribe` that raises `UsageError` for wrong arguments."""

    @wraps(prescribe)
    def checked(self: Remedy, finding: Finding, recipe: Recipe) -> Recipe | None:
        if not isinstance(finding, Finding):
            raise bad_argument("finding", "a sickbay.Finding", finding)
        if not isinstance(recipe, Recipe):
            raise bad_argument("recipe", "a sickbay.Recipe", recipe)
        return prescribe(self, finding, recipe)

    return checked
