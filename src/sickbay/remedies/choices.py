"""Which remedies there are for each problem, in the order of the papers where they name one."""

from collections.abc import Mapping, Sequence

from sickbay.arguments import SHOWN, bad_argument, short_repr
from sickbay.errors import UsageError, unknown_name
from sickbay.remedies import (
    AddDropout,
    AddWeightDecay,
    ChangeLoss,
    ChangeOptimizer,
    ChangeOutput,
    ClearGradients,
    ClipNorm,
    ClipValues,
    EnlargeBatch,
    HalveLearningRate,
    HoldAllParameters,
    InitialiseAgain,
    InsertNormalisation,
    LowerOnPlateau,
    MendTargets,
    ProcessData,
    Remedy,
    ReplaceActivation,
    RollBack,
    ScaleLearningRate,
    SkipBadBatches,
    Together,
    TrainMode,
    UsualLearningRate,
    WarmUp,
)

SELU, RELU = ReplaceActivation(to="selu"), ReplaceActivation(to="relu")
LEAKY, ELU, TANH = (ReplaceActivation(to=name) for name in ("leaky_relu", "elu", "tanh"))
NORM, USUAL = InsertNormalisation(), UsualLearningRate()
FASTER, SLOWER = ScaleLearningRate(factor=10.0), ScaleLearningRate(factor=0.1)
MUCH_FASTER, MUCH_SLOWER = ScaleLearningRate(factor=1e3), ScaleLearningRate(factor=0.01)
ADAM, MOMENTUM = ChangeOptimizer(to="adam"), ChangeOptimizer(to="sgd_momentum")
SGD, NADAM = ChangeOptimizer(to="sgd"), ChangeOptimizer(to="nadam")
ADAMAX, RMSPROP = ChangeOptimizer(to="adamax"), ChangeOptimizer(to="rmsprop")
HE, LECUN, GLOROT = (
    InitialiseAgain(scheme=name) for name in ("he_uniform", "lecun_normal", "glorot_uniform")
)
DRAWN = tuple(
    InitialiseAgain(scheme=name) for name in ("he_normal", "lecun_uniform", "glorot_normal")
)
UNEVEN = (
    ADAM, MOMENTUM, USUAL, SLOWER, MUCH_SLOWER, NADAM, HE, LECUN, GLOROT, *DRAWN, EnlargeBatch(),
)  # fmt: skip
SLUGGISH = (
    ADAM, NADAM, ADAMAX, RMSPROP, SGD, MOMENTUM, USUAL, FASTER, MUCH_FASTER, HE, LECUN, GLOROT,
    *DRAWN,
)  # fmt: skip
SILENT = (LEAKY, ELU, NORM, HE, LECUN, GLOROT, *DRAWN, SLOWER)
JUMPS = (HalveLearningRate(), ClipNorm(), SLOWER, USUAL, RollBack(), WarmUp(), ADAM)

CHOICES: Mapping[str, Sequence[Remedy]] = {
    "vanishing_gradient": (SELU, RELU, NORM, HE, LECUN, GLOROT, ADAM),
    "reduced_gradient": (SELU, RELU, NORM),
    "low_activation": (SELU, RELU, NORM),
    "saturated_activation": (RELU, SELU, NORM, GLOROT, LECUN),
    "exploding_gradient": (
        SELU, RELU, TANH, NORM, ClipValues(), LECUN, GLOROT, HE, Together(),
        Together(first=NORM, second=LECUN), SLOWER, ClipNorm(), WarmUp(), ProcessData(),
    ),
    "amplified_gradient": (SELU, RELU, TANH, NORM, ClipValues()),
    "abnormal_gradient": (NORM, SELU, LECUN),
    "dying_relu": SILENT,
    "dead_units": SILENT,
    "oscillating_loss": UNEVEN,
    "learning_rate_too_high": (*UNEVEN, HalveLearningRate(), ClipNorm(), WarmUp()),
    "slow_convergence": SLUGGISH,
    "learning_rate_too_low": SLUGGISH,
    "improper_output": (ChangeOutput(), ChangeLoss()),
    "double_activation": (ChangeOutput(),),
    "improper_loss": (ChangeLoss(), ChangeOutput()),
    "shape_broadcast": (ChangeLoss(),),
    "abnormal_data": (ProcessData(), NORM, SkipBadBatches(), SLOWER),
    "unnormalised_input": (ProcessData(), NORM, SLOWER),
    "non_finite": (
        ProcessData(), SkipBadBatches(), SLOWER, LECUN, USUAL, ClipNorm(), Together(), RollBack(),
        NORM,
    ),
    "loss_spike": JUMPS,
    "gradient_spike": (ClipNorm(), ClipValues(), HalveLearningRate(), WarmUp()),
    "large_gradient": (ClipNorm(), ClipValues()),
    "loss_explosion": JUMPS,
    "unstable_gradient": (ClipNorm(), NORM, EnlargeBatch(), HalveLearningRate()),
    "overfitting": (AddDropout(share=0.1), AddWeightDecay(amount=0.01), AddDropout(share=0.3)),
    "plateau": (HalveLearningRate(), LowerOnPlateau(), FASTER, ADAM),
    "no_more_gain": (HalveLearningRate(), LowerOnPlateau()),
    "unexpected_loss": (USUAL, SLOWER, ADAM),
    "passive_loss": (USUAL, FASTER, ADAM),
    "frozen_by_accident": (HoldAllParameters(),),
    "unchanged_weights": (HoldAllParameters(),),
    "layer_imbalance": (HoldAllParameters(), ADAM),
    "wrong_mode": (TrainMode(),),
    "missing_zero_grad": (ClearGradients(),),
    "bad_targets": (MendTargets(), ChangeLoss(), SkipBadBatches()),
}  # fmt: skip

POSSIBLE = "a list of names or Remedy objects"
EVERY: Mapping[str, Remedy] = {
    remedy.key: remedy for remedies in CHOICES.values() for remedy in remedies
}


def choose(remedies: Sequence[str | Remedy] | None) -> Mapping[str, Sequence[Remedy]]:
    """Return the choices, or only some: remedies by name, by key, or as objects, in that order.

    >>> [each.key for each in choose(["clip_norm", SELU])["exploding_gradient"]]
    ['clip_norm limit=1.0', 'replace_activation to=selu']
    """
    if remedies is None:
        return CHOICES
    if isinstance(remedies, str) or not isinstance(remedies, Sequence):
        raise bad_argument("remedies", POSSIBLE, remedies)
    chosen: list[Remedy] = []
    for each in remedies:
        if not isinstance(each, str | Remedy):
            raise UsageError(f"remedies must be {POSSIBLE}, got {short_repr(each)} in it.")
        fitting = [r for r in EVERY.values() if each in (r.key, r.name())]
        if isinstance(each, Remedy):
            fitting = [each]
        if not fitting:
            raise unknown_name(
                "remedy", str(each)[:SHOWN], {remedy.name() for remedy in EVERY.values()}
            )
        chosen += fitting
    treated = [treats(each) for each in chosen]
    problems = dict.fromkeys([*CHOICES, *(name for names in treated for name in names)])
    pairs = list(zip(chosen, treated, strict=True))
    return {problem: [each for each, names in pairs if problem in names] for problem in problems}


def treats(remedy: Remedy) -> tuple[str, ...]:
    """Return the problems that a remedy is for: those it names, else those it is a choice for.

    >>> treats(WarmUp(steps=5))[:2]
    ('exploding_gradient', 'learning_rate_too_high')
    """
    listed = (
        problem
        for problem, remedies in CHOICES.items()
        if any(isinstance(remedy, type(each)) for each in remedies)
    )
    named = remedy.treats or tuple(listed)
    if not named:
        raise bad_argument(f"treats of {remedy.name()}", "the names of problems", named)
    return named
