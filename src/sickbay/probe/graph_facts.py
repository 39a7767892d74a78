"""What a search of the whole autograd graph shows about a model and its loss."""

from collections.abc import Collection, Sequence
from typing import Any

from torch import Tensor, nn

from sickbay.probe import linear_graph, loss_axes, loss_graph
from sickbay.probe.attention_masks import look_ahead
from sickbay.probe.averaged_errors import averages_errors
from sickbay.probe.initial_weights import unregistered
from sickbay.probe.other_models import are_passed_on
from sickbay.probe.stretched import is_stretched


def search(
    node: Any, source: Any, model: nn.Module, own: Collection[int], rows: Sequence[Tensor]
) -> dict[str, Any]:
    """Return what the graph shows; slow, so do it once.

    `node` is that of the loss and `source` that of the output, None if unknown. `own` has the ids
    of the parameters that are trained, and `rows` are the inputs that are rows of whole numbers.
    """
    known = source is not None
    return {
        "strays": loss_graph.count_strays(node, own) or unregistered(model, own, node),
        "stretched": known and is_stretched(node, source, own),
        # An encoder may look ahead; its tokens are not those of the decoder.
        "looks_ahead": len(rows) == 1 and look_ahead(source, rows[0].shape[1]),
        "passed_on": are_passed_on(node, source, own),
        "linear": known and linear_graph.has_linear_layers(source),
        "viewed_apart": known and loss_axes.is_viewed_apart(node, source),
        "squeezed": loss_axes.squeezed_before(node, source) if known else "",
        "over_samples": known and loss_axes.runs_over_samples(node, source),
        "averages_errors": known and averages_errors(node, source),
        "over_positions": known and loss_axes.runs_over_positions(node, source),
    }
