from dataclasses import replace

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold

WHERE = {1.0: ", a place later, and the model sees them", -1.0: ", a place earlier"}


@dataclass(frozen=True, kw_only=True)
class TargetLeak(Problem):
    """The model is asked for what stands in its inputs.

    Why it matters:
        Copying the input is enough for a loss of 0, and the model learns nothing else.

    How it is judged:
        In each of the last `checks` readings, at least `share` of the targets are equal to the
        input at the same place, or at the place before, or at the next one if the model sees it; or
        at least `share` of the columns of the targets are columns of the inputs. Copies of columns
        and of what stands a place before are warned about, as such a task may be meant so. Where a
        model sees its whole input at each place, as an autoencoder does, it is only told.

    Example:
        >>> print(TargetLeak().check(History(leak=3 * [1.0])).message)
        100 % of the targets stand in the inputs (limit 95 %)

    Reference:
        Karpathy (2022), nanoGPT, on targets that are the inputs shifted by one.
    """

    severity = "critical"
    advice = "take the targets out of the inputs; for tokens, shift them: x[:, :-1] and x[:, 1:]"
    reads = ("batch",)

    share: float = threshold(0.95, "Share of equal tokens that is too large.", above=0, most=1)
    checks: int = threshold(3, "Readings in a row that must show it.", least=1)

    def check(self, history: History) -> Finding | None:
        shares = history.recent("leak", self.checks)
        if len(shares) < self.checks or not all(share >= self.share for share in shares):
            return None
        ahead = history.latest("leak_ahead")
        message = f"{100 * min(shares):.3g} % of the targets stand in the inputs"
        message += f"{WHERE.get(ahead, '')} (limit {100 * self.share:g} %)"
        finding = self.found(history, message, share=min(shares))
        if history.latest("leak_is_whole") == 1:
            return replace(finding, severity="info")
        return finding if ahead in (0, 1) else replace(finding, severity="warning")
