from dataclasses import replace

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.problem_groups import JUMPS, NO_PROGRESS, RATES, UNITS
from sickbay.problems.shared.training_score import gains_less


@dataclass(frozen=True, kw_only=True)
class ExcessiveDropout(Problem):
    """Dropout removes so much that little can be learnt from the rest.

    Why it matters:
        What is left of a layer differs from step to step, so the layers after it see mostly noise.

    How it is judged:
        A layer drops at least `certain` of its inputs. Or it drops at least `share`, and from step
        `after` on the model gains less than `gain` over a constant answer on its training batches.
        From `mild` on, it is an `info`, told at the end of a run with so little gain.

    Example:
        >>> from sickbay.vitals import Setup
        >>> history = History(Setup(dropout={"3": 0.95}), loss=[1.0])
        >>> print(ExcessiveDropout().check(history))
        step 0  excessive dropout  3  95 % of the values are dropped (limit 90 %)

    Reference:
        Srivastava et al. (2014), Dropout, section 7.3: the effect of the dropout rate.
    """

    advice = "drop 10 to 50 %, and nothing before the output"
    reads = ("batch", "activation", "end")
    explains = (*UNITS, *JUMPS, *RATES, *NO_PROGRESS)

    certain: float = threshold(0.9, "Share that is too much in any case.", above=0, most=1)
    share: float = threshold(0.7, "Share that is too much if the model learns poorly.", above=0)
    mild: float = threshold(0.55, "Share that is told at the end if so.", above=0)
    gain: float = threshold(0.9, "Gain of a model that learns well.", above=0)
    after: int = threshold(40, "Steps that are not judged.", least=0)

    def stands_alone(self, finding: Finding) -> bool:
        return finding.severity == "info"

    def check(self, history: History) -> Finding | None:
        dropout = history.setup.dropout
        most = max(dropout.values(), default=0.0)
        mild = history.ended and most < self.share
        limit = self.certain if most >= self.certain else self.mild if mild else self.share
        poor = limit == self.certain or gains_less(history, self.gain, self.after)
        if most < limit or not poor:
            return None
        layers = tuple(name for name, share in dropout.items() if share >= limit)
        message = f"{100 * most:.3g} % of the values are dropped (limit {100 * limit:g} %)"
        found = self.found(history, message, layers=layers, share=most)
        return replace(found, severity="info") if mild else found
