"""The pruner for trials with a diagnosis."""

from optuna.pruners import BasePruner
from optuna.study import Study
from optuna.trial import FrozenTrial

from sickbay.arguments import bad_argument
from sickbay.tuning.optuna.study_notes import DIAGNOSIS, is_against


class DiagnosisPruner(BasePruner):
    """Prunes trials whose attributes hold a diagnosis, and otherwise asks another pruner.

    `watch` ends trials with any pruner. Use this one so that nothing else ends them (Optuna's
    default is the median pruner), or to act on diagnoses written by other programs.

    >>> import optuna
    >>> study = optuna.create_study(pruner=DiagnosisPruner())
    >>> trial = study.ask()
    >>> trial.should_prune()
    False
    >>> trial.set_user_attr("sickbay:diagnosis", {"problem": "non_finite", "benign": False})
    >>> trial.should_prune()
    True
    """

    def __init__(self, base: BasePruner | None = None) -> None:
        if base is not None and not isinstance(base, BasePruner):
            raise bad_argument("base", "a pruner of Optuna or None", base)
        self._base = base

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        if is_against(trial.user_attrs.get(DIAGNOSIS)):
            return True
        return self._base is not None and self._base.prune(study, trial)
