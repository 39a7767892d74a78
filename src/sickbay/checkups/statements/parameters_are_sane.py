from dataclasses import dataclass

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.case import Case
from sickbay.checkups.kernels import Kernel, kernels
from sickbay.checkups.report import Result
from sickbay.checkups.wording import several, verb
from sickbay.thresholds import threshold

OUT = 3.0  # twice the usual size against the number of units


@dataclass(frozen=True, kw_only=True)
class ParametersAreSane(Statement):
    """The weights start finite, different from each other and of a usual size.

    Why it matters:
        Units that start the same stay the same, and far too large or small weights hardly train.

    How it is tested:
        Weights that multiply their input are looked at: the root mean square times the root of the
        number of inputs is about 0.1 to 2 for usual starts. A layer may start at zero if it gets a
        gradient within the first steps, and the last one may be small.
    """

    remedy = "initialise with torch.nn.init.kaiming_normal_ or xavier_uniform_"

    largest: float = threshold(20.0, "Size of weights that is too much.", above=1)
    smallest: float = threshold(1e-3, "Size of weights that is too little.", above=0)

    def examine(self, case: Case) -> Result:
        named = dict(case.model.named_parameters())
        if not named:
            raise Inapplicable("the model has no parameters")
        wild = [name for name, each in named.items() if not each.isfinite().all()]
        if wild:
            return self.fails(
                f"{several(wild, len(named), 'holds', 'hold')} NaN or Inf", layers=wild
            )
        found = kernels(case)
        still = [each.name for each in found if not each.size and each.name not in case.reached]
        same = [each.name for each in found if each.constant]
        alike = [each.name for each in found[:-1] if each.symmetric]
        for names, what in (
            (still, verb(still, "stays at zero", "stay at zero")),
            (same, verb(same, "is one value throughout", "are one value throughout")),
            (alike, f"{verb(alike, 'has', 'have')} the same weights in every unit"),
        ):
            if names:
                return self.fails(f"{several(names, len(found))} {what}", layers=names)
        return self._sized(found)

    def _sized(self, found: list[Kernel]) -> Result:
        sizes = {each.name: each.size for each in found if each.size}
        judged = [each for each in found if not each.looked_up][:-1]
        small = [each.name for each in judged if 0 < each.size < self.smallest]
        large = [
            each.name for each in found if min(each.size / self.largest, each.outward / OUT) > 1
        ]
        for names, limit in ((large, self.largest), (small, self.smallest)):
            if names:
                size = sizes[names[0]]
                usual = f"(limit {limit:g}, usual 0.1 to 2)"
                message = (
                    f"{several(names, len(found), 'has', 'have')} a size of {size:.3g} {usual}"
                )
                return self.fails(message, layers=names, size=size)
        most, least = max(sizes.values(), default=0.0), min(sizes.values(), default=0.0)
        message = f"{len(found)} weights have sizes from {least:.2g} to {most:.2g}"
        return self.holds(message, largest=most, smallest=least)
