"""The remedies for each problem, in the order of the papers."""

from collections.abc import Mapping, Sequence

from sickbay import remedies as r
from sickbay.arguments import bad_argument, short_repr
from sickbay.errors import UsageError, unknown_name
from sickbay.plugins import classes_from_packages
from sickbay.problems.by_name import current_name
from sickbay.remedies.base import Remedy
from sickbay.remedies.published.autotrainer import SOLUTIONS

SELU, RELU = r.ReplaceActivation(to="selu"), r.ReplaceActivation(to="relu")
LEAKY, ELU, TANH = (r.ReplaceActivation(to=name) for name in ("leaky_relu", "elu", "tanh"))
CLIP, HALVED = r.ClipNorm(), r.HalveLearningRate()
NORM, USUAL = r.InsertNormalisation(), r.UsualLearningRate()
DOUBLED = r.ScaleLearningRate(factor=2.0)
FASTER, SLOWER = r.ScaleLearningRate(factor=10.0), r.ScaleLearningRate(factor=0.1)
MUCH_FASTER, MUCH_SLOWER = r.ScaleLearningRate(factor=1e3), r.ScaleLearningRate(factor=0.01)
ADAM, MOMENTUM = r.ChangeOptimizer(to="adam"), r.ChangeOptimizer(to="sgd_momentum")
SGD, NADAM = r.ChangeOptimizer(to="sgd"), r.ChangeOptimizer(to="nadam")
ADAMAX, RMSPROP = r.ChangeOptimizer(to="adamax"), r.ChangeOptimizer(to="rmsprop")
HE, LECUN, GLOROT = (
    r.InitialiseAgain(scheme=name) for name in ("he_uniform", "lecun_normal", "glorot_uniform")
)
DRAWN = tuple(
    r.InitialiseAgain(scheme=name) for name in ("he_normal", "lecun_uniform", "glorot_normal")
)
UNEVEN = (
    ADAM, MOMENTUM, USUAL, SLOWER, MUCH_SLOWER, NADAM, HE, LECUN, GLOROT, *DRAWN, r.EnlargeBatch(),
)  # fmt: skip
SLOW = (
    ADAM, NADAM, ADAMAX, RMSPROP, SGD, MOMENTUM, USUAL, FASTER, MUCH_FASTER, HE, LECUN, GLOROT,
    *DRAWN,
)  # fmt: skip
JUMPS = (HALVED, CLIP, SLOWER, USUAL, r.RollBack(), r.WarmUp(), ADAM)

SCALED, SOUND = r.ScaleTargets(), r.SoundDefaults()
UNFROZEN, MEAN = r.UnfreezeParameters(), r.UseMeanLoss()
INSERTED, LOOSER = r.InsertActivations(), r.LoosenClipping()
WIDER, MUCH_WIDER = r.WidenLayers(to=64), r.WidenLayers(to=256)
LONGER, MUCH_LONGER = r.TrainLonger(factor=3), r.TrainLonger(factor=10)
UNDROPPED, LESS_DROPPED = r.LowerDropout(to=0.0), r.LowerDropout(to=0.1)
UNDECAYED, UNLIKE = r.RemoveWeightDecay(), r.DrawConstantWeights()
SILENT = (UNLIKE, LEAKY, ELU, NORM, HE, LECUN, GLOROT, *DRAWN, SLOWER)
REGISTERED, UNSCALED = r.RegisterModules(), r.UndoOutputScale()
UNPADDED = r.IgnorePadding()
STUCK = (
    UNPADDED, UNSCALED, UNLIKE, SCALED, UNFROZEN, MEAN, INSERTED, LOOSER, UNDROPPED, UNDECAYED,
    SOUND, USUAL, ADAM, FASTER, SLOWER, r.ProcessData(), HE, NORM, WIDER, LONGER,
)  # fmt: skip
UNDERFIT = (
    UNPADDED, UNSCALED, UNLIKE, SCALED, INSERTED, UNFROZEN, SOUND, LONGER, UNDROPPED, UNDECAYED,
    WIDER, ADAM, USUAL, FASTER, r.ProcessData(), LESS_DROPPED, MUCH_WIDER, RELU, NORM, SLOWER,
    MUCH_LONGER,
)  # fmt: skip
LARGER_BATCH = r.Together(first=r.SetBatchSize(to=32), second=USUAL)

_LISTED: Mapping[str, Sequence[Remedy]] = {
    "improper_initialisation": (UNLIKE, HE, LECUN, GLOROT, SOUND, *DRAWN, NORM, LEAKY),
    "vanishing_gradient": (SELU, RELU, NORM, HE, LECUN, GLOROT, ADAM),
    "reduced_gradient": (SELU, RELU, NORM),
    "low_activation": (SELU, RELU, NORM),
    "saturated_activation": (RELU, SELU, NORM, GLOROT, LECUN),
    "exploding_gradient": (
        SELU, RELU, TANH, NORM, r.ClipValues(), LECUN, GLOROT, HE, r.Together(),
        r.Together(first=NORM, second=LECUN), SLOWER, CLIP, r.WarmUp(), r.ProcessData(),
        SCALED, MEAN, SOUND,
    ),
    "amplified_gradient": (SELU, RELU, TANH, NORM, r.ClipValues()),
    "abnormal_gradient": (NORM, SELU, LECUN),
    "dying_relu": SILENT,
    "dead_units": SILENT,
    "oscillating_accuracy": UNEVEN,
    "learning_rate_too_high": (*UNEVEN, HALVED, CLIP, r.WarmUp(), SCALED, MEAN, SOUND),
    "slow_convergence": SLOW,
    "learning_rate_too_low": (*SLOW, SCALED, SOUND),
    "improper_output": (UNSCALED, r.ChangeOutput(), r.ChangeLoss()),
    "double_activation": (r.ChangeOutput(),),
    "improper_loss": (
        r.TurnClassWeights(), UNPADDED, r.ChangeLoss(), r.ChangeOutput(), MEAN, r.NegateLoss(),
    ),
    "shape_broadcast": (r.ChangeLoss(),),
    "abnormal_data": (r.ProcessData(), NORM, r.SkipBadBatches(), SLOWER),
    "unnormalised_input": (r.ProcessData(), NORM, SLOWER, SOUND),
    "non_finite": (
        r.KeepOutputsPositive(), r.ProcessData(), r.SkipBadBatches(), SLOWER, LECUN, USUAL, CLIP,
        r.Together(), r.RollBack(), NORM, SCALED, MEAN, SOUND,
    ),
    "loss_spike": JUMPS,
    "gradient_spike": (CLIP, r.ClipValues(), HALVED, r.WarmUp()),
    "large_gradient": (HALVED, CLIP, r.ClipValues()),
    "small_gradient": (DOUBLED, NORM, HE, LECUN, GLOROT),
    "loss_explosion": JUMPS,
    "unstable_gradient": (CLIP, NORM, r.EnlargeBatch(), HALVED),
    "overfitting": (
        r.AddDropout(share=0.1), r.AddWeightDecay(amount=0.01), r.AddDropout(share=0.3), SOUND,
    ),
    "plateau": (HALVED, r.LowerOnPlateau(), FASTER, ADAM),
    "no_more_gain": (HALVED, r.LowerOnPlateau()),
    "unexpected_loss": (USUAL, SLOWER, ADAM),
    "passive_loss": (USUAL, FASTER, ADAM),
    "frozen_by_accident": (REGISTERED, r.HoldAllParameters(), UNFROZEN),
    "unchanged_weights": (UNLIKE, REGISTERED, r.HoldAllParameters(), UNFROZEN),
    "layer_imbalance": (r.HoldAllParameters(), ADAM),
    "constant_prediction": STUCK,
    "not_learning": STUCK,
    "underfitting": UNDERFIT,
    "still_falling": (UNPADDED, LONGER, ADAM, USUAL, FASTER, MUCH_LONGER, MUCH_FASTER, SOUND),
    "unscaled_targets": (SCALED, SOUND, ADAM, SLOWER),
    "excessive_dropout": (UNDROPPED, LESS_DROPPED, SOUND),
    "excessive_weight_decay": (UNDECAYED, SOUND),
    "excessive_clipping": (LOOSER, SOUND),
    "no_hidden_activation": (INSERTED,),
    "network_too_small": (WIDER, MUCH_WIDER, r.WidenBottleneck()),
    "batch_too_small": (r.EnlargeBatch(), LARGER_BATCH, SLOWER, SOUND),
    "wrong_mode": (r.TrainMode(),),
    "missing_zero_grad": (r.ClearGradients(),),
    "bad_targets": (r.MendTargets(), r.ChangeLoss(), r.SkipBadBatches()),
}  # fmt: skip


def _with_unlisted() -> dict[str, tuple[Remedy, ...]]:
    """Add the remedies that name their problems themselves, after those that are listed."""
    choices = {problem: tuple(listed) for problem, listed in _LISTED.items()}
    for kind in vars(r).values():
        if isinstance(kind, type) and issubclass(kind, Remedy):
            for problem in kind.treats:
                choices[problem] = (*choices.get(problem, ()), kind())
    return choices


CHOICES: Mapping[str, Sequence[Remedy]] = _with_unlisted()
GROUP = "sickbay.remedies"  # of entry points
POSSIBLE = "a list of names or Remedy objects"
EVERY: Mapping[str, Remedy] = {
    remedy.key: remedy
    for table in (CHOICES, SOLUTIONS)
    for remedies in table.values()
    for remedy in remedies
}


def choose(
    remedies: Sequence[str | Remedy] | None, table: Mapping[str, Sequence[Remedy]] = CHOICES
) -> Mapping[str, Sequence[Remedy]]:
    """Return the remedies for each problem: all, or only those given by name, key or as objects.

    In a table of its own, a strategy says which problem each of its remedies is for. Remedies that
    are not in it can be given as well.

    >>> [each.key for each in choose(["clip_norm", SELU])["exploding_gradient"]]
    ['clip_norm limit=1.0', 'replace_activation to=selu']
    >>> [each.key for each in choose(["replace_activation"], SOLUTIONS)["dying_relu"]]
    ['replace_activation to=leaky_relu', 'replace_activation to=elu']
    """
    if remedies is None:
        return table
    if isinstance(remedies, str) or not isinstance(remedies, Sequence):
        raise bad_argument("remedies", POSSIBLE, remedies)
    treated: list[tuple[Remedy, Sequence[str]]] = []
    for each in remedies:
        if isinstance(each, Remedy):
            treated.append((each, treats(each)))
        elif not isinstance(each, str):
            raise UsageError(f"remedies must be {POSSIBLE}, got {short_repr(each)} in it.")
        elif table is not CHOICES and (listed := _listed(each, table)):
            treated += listed
        else:
            treated += [(remedy, treats(remedy)) for remedy in find(each)]
    problems = dict.fromkeys([*CHOICES, *(name for _, names in treated for name in names)])
    return {problem: [each for each, names in treated if problem in names] for problem in problems}


def _listed(name: str, table: Mapping[str, Sequence[Remedy]]) -> list[tuple[Remedy, Sequence[str]]]:
    """Return the remedies of a table with a name or a key, each with its problem."""
    return [
        (remedy, (problem,))
        for problem, remedies in table.items()
        for remedy in remedies
        if name in (remedy.key, remedy.name())
    ]


def find(name: str) -> list[Remedy]:
    """Return the remedies with a name or a key; look into other packages only if there is none."""
    if found := [each for each in EVERY.values() if name in (each.key, each.name())]:
        return found
    known = installed()
    if name not in known:
        raise unknown_name("remedy", name, known)
    return [known[name]()]


def installed() -> dict[str, type[Remedy]]:
    """Return every kind of remedy by name, with those of other packages."""
    own = {each.name(): type(each) for each in EVERY.values()}
    return classes_from_packages(GROUP, Remedy) | own  # type: ignore[type-abstract]


def treats(remedy: Remedy) -> tuple[str, ...]:
    """Return the problems that a remedy is for: those it names, else those that list its kind.

    >>> treats(r.WarmUp(steps=5))[:2]
    ('exploding_gradient', 'learning_rate_too_high')
    """
    named = tuple(map(current_name, remedy.treats))
    for table in (CHOICES, SOLUTIONS):
        named = named or tuple(
            problem
            for problem, remedies in table.items()
            if any(isinstance(remedy, type(each)) for each in remedies)
        )
    if not named:
        raise bad_argument(f"treats of {remedy.name()}", "the names of problems", named)
    return named
