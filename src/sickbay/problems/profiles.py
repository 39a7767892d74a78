"""Named lists of problems with their thresholds."""

from collections.abc import Mapping, Sequence
from inspect import isabstract
from math import inf

from sickbay import problems as listed
from sickbay.arguments import bad_argument, check_choice
from sickbay.problems import (
    AbnormalData,
    AbnormalGradient,
    AmplifiedGradient,
    BadTargets,
    DeadUnits,
    DoubleActivation,
    DyingRelu,
    ExplodingGradient,
    FrozenByAccident,
    GradientCollapse,
    GradientSpike,
    ImproperLoss,
    ImproperOutput,
    LargeGradient,
    LearningRateTooHigh,
    LearningRateTooLow,
    LossExplosion,
    LossSpike,
    LowActivation,
    MissingZeroGrad,
    NeverLearnt,
    NoMoreGain,
    NonFinite,
    NoRecentGain,
    OscillatingLoss,
    OutOfReach,
    Overfitting,
    PassiveLoss,
    Plateau,
    Problem,
    ReducedGradient,
    SaturatedActivation,
    ShapeBroadcast,
    SlowConvergence,
    SmallGradient,
    UnchangedWeights,
    UnexpectedLoss,
    UnnormalisedInput,
    UnstableGradient,
    VanishingGradient,
    WrongMode,
)

# In order of priority: what is listed first is said first.
PROFILES: Mapping[str, tuple[Problem, ...]] = {
    "default": (
        BadTargets(),
        UnnormalisedInput(),
        ShapeBroadcast(),
        DoubleActivation(),
        ImproperOutput(),
        ImproperLoss(),
        MissingZeroGrad(),
        WrongMode(),
        FrozenByAccident(),
        ExplodingGradient(),
        LearningRateTooHigh(),
        NonFinite(),
        DeadUnits(),
        SaturatedActivation(),
        VanishingGradient(),
        UnchangedWeights(),
        DyingRelu(share=0.9),
        LearningRateTooLow(),
        LossSpike(),
        GradientSpike(),
        GradientCollapse(),
        Overfitting(),
    ),
    # As published: one reading is enough, of however few samples, accuracy is needed, NaN is an
    # exploding gradient.
    "autotrainer": (
        AbnormalData(),
        ImproperOutput(strict=1),
        ImproperLoss(strict=1),
        VanishingGradient(
            checks=1, samples=1, loss_drop=0, ratio=1e-3, norm=1e-4, floor=0, spread=0
        ),
        ExplodingGradient(checks=1, samples=1, loss_drop=0, relative=inf, ratio=70, nonfinite=1),
        DyingRelu(checks=1, samples=1, loss_drop=0),
        OscillatingLoss(),
        SlowConvergence(),
    ),
    "bttackler": (
        AbnormalGradient(),
        AmplifiedGradient(),
        ReducedGradient(),
        PassiveLoss(),
        LowActivation(),
        UnexpectedLoss(),
        NoMoreGain(),
    ),
    # To end trials of a search; chosen by what `python -m benchmarks.tuning run --part calibration`
    # shows.
    "tuning": (
        NonFinite(),
        ExplodingGradient(),
        DeadUnits(),
        UnchangedWeights(),
        NeverLearnt(),
        OutOfReach(),
        NoRecentGain(),
    ),
    "training_doctor": (
        LargeGradient(),
        SmallGradient(),
        UnstableGradient(),
        Plateau(),
        LossExplosion(),
        Overfitting(rise=0),
    ),
}

EVERY: Mapping[str, type[Problem]] = {
    kind.name(): kind
    for kind in vars(listed).values()
    if isinstance(kind, type) and issubclass(kind, Problem) and not isabstract(kind)
}


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
    """Return the problems of a profile, or the given ones: names, or objects with own thresholds.

    >>> [problem.name() for problem in choose(problems=["non_finite", DyingRelu(share=0.9)])]
    ['non_finite', 'dying_relu']
    """
    tuned = {each.name(): each for each in PROFILES[check_choice("profile", profile, PROFILES)]}
    if problems is None:
        return PROFILES[profile]
    if isinstance(problems, str) or not isinstance(problems, Sequence):
        raise bad_argument("problems", "a list of names or Problem objects", problems)
    return tuple(
        each
        if isinstance(each, Problem)
        else tuned.get(name := check_choice("problem", each, EVERY)) or EVERY[name]()
        for each in problems
    )
