import pickle

from sickbay.errors import Diagnosed
from sickbay.findings import Finding


def test_a_diagnosis_is_the_same_after_pickling() -> None:
    finding = Finding(problem="non_finite", step=7, message="loss is nan")
    error = pickle.loads(pickle.dumps(Diagnosed([finding])))
    assert (str(error), error.findings) == ("step 7  non finite  loss is nan", [finding])
