from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class TargetLeak(Problem):
    """The model is asked for what stands in its inputs.

    Why it matters:
        Copying the input is enough for a loss of 0, and the model learns nothing else.

    How it is judged:
        In each of the last `checks` readings, at least `share` of the target tokens are equal to
        the input token at the same position, or to the next one if attention sees it because it has
        no mask; or at least `share` of the columns of the targets are columns of the inputs.

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
        ahead = ", which attention without a mask can see" * history.setup.looks_ahead
        message = f"{100 * min(shares):.3g} % of the targets stand in the inputs{ahead}"
        message += f" (limit {100 * self.share:g} %)"
        return self.found(history, message, share=min(shares))
