from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass
from sickbay.checkups.statements.sequences.observe_attention import observed_attention


@dataclass(frozen=True, kw_only=True)
class AttentionRowsSumToOne(Statement):
    """In evaluation mode, the attention weights of each query sum to one.

    Why it matters:
        Otherwise the output does not average the values: it grows with the length, or mixes rows.

    How it is tested:
        A forward pass is observed for products of scores with values. The weights must sum to one
        over the dimension that the product sums over. torch's own attention must not drop weights
        in evaluation.
    """

    order = 3
    remedy = "mask the scores, apply softmax over the keys (dim=-1), drop weights only in training"

    def examine(self, setup: ModelSetup) -> Result:
        _ = setup.first_pass
        attention = setup.once(observed_attention)
        if not attention.seen:
            raise Inapplicable("the model has no attention")
        if attention.dropped:
            message = f"{attention.dropped} calls drop weights in evaluation: dropout_p is above 0"
            return self.fails(message, calls=attention.dropped)
        wrong = [each for each in attention.own if each.fault]
        if wrong:
            worst = max(each.total for each in wrong)
            message = f"weights of shape {wrong[0].shape}: {wrong[0].fault}"
            return self.fails(message, places=len(wrong), sum=worst)
        count = len(attention.own) + attention.built_in
        return self.holds(f"the weights of all {count} attentions sum to one", attentions=count)
