"""Numbers among the inputs that stand for missing values."""

from sickbay.history import History
from sickbay.problems.shared.training_score import gains_less

FAR = 5  # times the range of the other values of a column
GAIN = 0.5  # over a constant answer, from which on the numbers do no harm to speak of


def code_fault(history: History, after: int) -> str:
    """Return what is wrong with inputs that hold a code for missing values, "" if nothing is.

    >>> found = {"code": -999.0, "code_distance": 20.0, "score": 0.1, "constant_score": 0.0}
    >>> code_fault(History(**{name: 100 * [value] for name, value in found.items()}), 50)
    'the inputs hold -999 again and again, 20 times as far from the rest of a column as it is wide'
    """
    far = history.latest("code_distance")
    if not far > FAR or not gains_less(history, GAIN, after):
        return ""
    code = f"{history.latest('code'):.4g} again and again"
    return f"the inputs hold {code}, {far:.2g} times as far from the rest of a column as it is wide"
