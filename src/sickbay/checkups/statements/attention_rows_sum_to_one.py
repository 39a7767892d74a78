from dataclasses import dataclass

from sickbay.checkups.base import Inapplicable, Statement
from sickbay.checkups.case import Case
from sickbay.checkups.report import Result


@dataclass(frozen=True, kw_only=True)
class AttentionRowsSumToOne(Statement):
    """In evaluation the attention weights of each query sum to one.

    Why it matters:
        What is no average of the values grows with the length, or mixes what should not be mixed.

    How it is tested:
        A forward pass is watched for products of scores with values. The weights must sum to one
        over the dimension that the product sums over. torch's own attention must not be told to
        drop weights in evaluation.
    """

    remedy = "mask the scores, take softmax over the keys (dim=-1), drop weights in training only"

    def examine(self, case: Case) -> Result:
        _ = case.seen
        seen = case.attention
        if not seen.seen:
            raise Inapplicable("no attention was seen")
        if seen.dropped:
            message = f"{seen.dropped} calls drop weights in evaluation: dropout_p is above 0"
            return self.fails(message, calls=seen.dropped)
        wrong = [each for each in seen.own if each.fault]
        if wrong:
            worst = max(each.total for each in wrong)
            shape = f"weights of shape {wrong[0].shape}"
            return self.fails(f"{shape}: {wrong[0].fault}", places=len(wrong), sum=worst)
        count = len(seen.own) + seen.built_in
        return self.holds(f"the weights of all {count} attentions sum to one", attentions=count)
