"""Named lists of problems with their thresholds."""

from collections.abc import Mapping, Sequence

from sickbay import problems as ours
from sickbay.arguments import bad_argument, check_choice
from sickbay.errors import UsageError
from sickbay.problems import Problem
from sickbay.problems.by_name import find
from sickbay.problems.published import autotrainer, bttackler, training_doctor

# In order of priority: the first problem explains the others.
PROFILES: Mapping[str, tuple[Problem, ...]] = {
    "default": (
        ours.BadTargets(),
        ours.TargetLeak(),
        ours.UnshuffledData(),
        ours.ConstantInput(),
        ours.UnnormalisedInput(),
        ours.UnscaledTargets(),
        ours.ShapeBroadcast(),
        ours.MixedSamples(),
        ours.DoubleActivation(),
        ours.ImproperOutput(),
        ours.ImproperLoss(),
        ours.MissingZeroGrad(),
        ours.WrongMode(),
        ours.FrozenByAccident(),
        ours.ImproperInitialisation(),
        ours.ExcessiveDropout(),
        ours.ExcessiveWeightDecay(),
        ours.ExcessiveClipping(),
        ours.NoHiddenActivation(),
        ours.BatchTooSmall(),
        ours.ExplodingGradient(),
        ours.LearningRateTooHigh(),
        ours.NonFinite(),
        ours.DeadUnits(),
        ours.SaturatedActivation(),
        ours.VanishingGradient(),
        ours.UnchangedWeights(),
        ours.DyingRelu(),
        ours.LearningRateTooLow(),
        ours.LossSpike(),
        ours.GradientSpike(),
        ours.GradientCollapse(),
        ours.NoisyLabels(),
        ours.Overfitting(),
        ours.NetworkTooSmall(),
        ours.NotLearning(),
        ours.Underfitting(),
        ours.StillFalling(),
    ),
    "autotrainer": (
        autotrainer.AbnormalData(),
        autotrainer.ImproperLoss(),  # first, because which output fits depends on it
        autotrainer.ImproperOutput(),
        autotrainer.VanishingGradient(),
        autotrainer.ExplodingGradient(),
        autotrainer.DyingRelu(),
        autotrainer.OscillatingAccuracy(),
        autotrainer.SlowConvergence(),
    ),
    "bttackler": bttackler.problems("code"),
    "bttackler_paper": bttackler.problems("paper"),
    # For ending trials of a search; chosen by `python -m benchmarks.tuning run --part calibration`.
    "tuning": (
        ours.NonFinite(),
        ours.ExplodingGradient(),
        ours.DeadUnits(),
        ours.UnchangedWeights(),
        ours.NeverLearnt(),
        ours.OutOfReach(),
        ours.NoRecentGain(),
    ),
    "training_doctor": (
        training_doctor.LargeGradient(),
        training_doctor.SmallGradient(),
        training_doctor.UnstableGradient(),
        training_doctor.Plateau(),
        training_doctor.LossExplosion(),
        training_doctor.Overfitting(),
    ),
}

# Validations from one report of the run's health to the next, as published.
REPORTS: Mapping[str, int] = {"training_doctor": 3}


def profiles_of(name: str) -> list[str]:
    """Return the profiles that look for a problem.

    >>> profiles_of("non_finite")
    ['default', 'tuning']
    """
    return [
        profile
        for profile, problems in PROFILES.items()
        if any(problem.name() == name for problem in problems)
    ]


def choose(
    profile: str = "default", problems: Sequence[str | Problem] | None = None
) -> tuple[Problem, ...]:
    """Return the problems of a profile, or those given by name or as objects.

    A name stands for the problem with the thresholds of the profile, if the profile has it. The
    name of a profile stands for all its problems.

    >>> [problem.name() for problem in choose(problems=["non_finite", ours.DyingRelu(share=0.9)])]
    ['non_finite', 'dying_relu']
    >>> len(choose(problems=["default", "plateau"])) == len(PROFILES["default"]) + 1
    True
    """
    tuned = {each.name(): each for each in PROFILES[check_choice("profile", profile, PROFILES)]}
    if problems is None:
        return PROFILES[profile]
    if isinstance(problems, str) or not isinstance(problems, Sequence):
        raise bad_argument("problems", "a list of names or Problem objects", problems)
    chosen: list[Problem] = []
    for each in problems:
        if isinstance(each, type):
            got = f"the class {each.__name__} in it"
            raise UsageError(f"problems must be a list of names or Problem objects, got {got}.")
        if isinstance(each, Problem):
            chosen.append(each)
        elif isinstance(each, str) and each in PROFILES:
            chosen += PROFILES[each]
        else:
            kind = find(each)
            chosen.append(tuned.get(kind.name()) or kind())
    return tuple({problem.name(): problem for problem in chosen}.values())
